#include "ui/conversation_model.h"

#include "engine/base/check.h"

namespace ui {

ConversationModel::ConversationModel(QObject* parent) : QAbstractListModel(parent) {}

int ConversationModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(m_rows.size());
}

QVariant ConversationModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    if (role == Qt::DisplayRole) return text(index.row());
    return {};
}

const MessageRow& ConversationModel::at(int row) const {
    return m_rows[size_t(row)].row;
}

int ConversationModel::rowOf(qint64 messageId) const {
    for (size_t i = 0; i < m_rows.size(); ++i)
        if (m_rows[i].row.message.id == messageId) return int(i);
    return -1;
}

void ConversationModel::convert(const Stored& stored) const {
    if (stored.converted) return;
    stored.text = QString::fromStdString(stored.row.message.text);
    stored.thinking = QString::fromStdString(stored.row.message.thinking);
    stored.converted = true;
}

const QString& ConversationModel::text(int row) const {
    const Stored& stored = m_rows[size_t(row)];
    convert(stored);
    return stored.text;
}

const QString& ConversationModel::thinking(int row) const {
    const Stored& stored = m_rows[size_t(row)];
    convert(stored);
    return stored.thinking;
}

QImage ConversationModel::picture(const QString& sha256) const {
    return m_pictures.value(sha256);
}

void ConversationModel::setRows(std::vector<MessageRow> rows) {
    beginResetModel();
    m_rows.clear();
    m_rows.reserve(rows.size());
    for (MessageRow& row : rows) m_rows.push_back({std::move(row), {}, {}, false});
    m_activity = {};
    m_error.reset();
    m_pictures.clear();
    endResetModel();
}

void ConversationModel::setConversation(const engine::Conversation& conversation) {
    std::vector<MessageRow> rows;
    for (const engine::Message* message : conversation.activePath()) {
        MessageRow row{*message, 1, 1};
        const auto versions = conversation.versions(message->id);
        row.versions = std::max(1, int(versions.size()));
        for (size_t i = 0; i < versions.size(); ++i)
            if (versions[i]->id == message->id) row.version = int(i) + 1;
        rows.push_back(std::move(row));
    }
    setRows(std::move(rows));
}

void ConversationModel::appendRow(MessageRow row) {
    const int at = rowCount();
    beginInsertRows({}, at, at);
    m_rows.push_back({std::move(row), {}, {}, false});
    endInsertRows();
}

void ConversationModel::replaceRow(int row, MessageRow value) {
    CHECK(row >= 0 && row < rowCount());
    m_rows[size_t(row)] = {std::move(value), {}, {}, false};
    emit dataChanged(index(row), index(row));
}

void ConversationModel::removeRowsFrom(int row) {
    if (row >= rowCount()) return;
    beginRemoveRows({}, row, rowCount() - 1);
    m_rows.erase(m_rows.begin() + row, m_rows.end());
    endRemoveRows();
}

void ConversationModel::appendDelta(const engine::TextDelta& delta) {
    if (m_rows.empty() || delta.text.empty() || delta.channel == engine::Channel::Tool) return;
    Stored& last = m_rows.back();
    convert(last);
    const QString more = QString::fromStdString(delta.text);
    if (delta.channel == engine::Channel::Thinking) {
        last.row.message.thinking += delta.text;
        last.thinking += more;
    } else {
        last.row.message.text += delta.text;
        last.text += more;
    }
    emit lastRowGrew();
}

void ConversationModel::setActivity(const Activity& activity) {
    if (activity == m_activity) return;
    m_activity = activity;
    emit activityChanged();
}

void ConversationModel::setErrorCard(std::optional<Notice> card) {
    if (card == m_error) return;
    m_error = std::move(card);
    emit activityChanged();
}

void ConversationModel::setPicture(const QString& sha256, const QImage& image) {
    m_pictures.insert(sha256, image);
    emit pictureArrived(sha256);
}

} // namespace ui

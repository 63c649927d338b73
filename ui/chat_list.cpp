#include "ui/chat_list.h"

#include "ui/theme.h"

#include <QLineEdit>
#include <QLocale>
#include <QPainter>

#include <algorithm>

namespace ui {

namespace {

QColor blend(const QColor& under, const QColor& over, double share) {
    return QColor::fromRgbF(float(under.redF() + (over.redF() - under.redF()) * share),
                            float(under.greenF() + (over.greenF() - under.greenF()) * share),
                            float(under.blueF() + (over.blueF() - under.blueF()) * share));
}

QString dayHeading(const QDate& day, const QDate& today) {
    const qint64 ago = day.daysTo(today);
    if (ago <= 0) return ChatListModel::tr("Today");
    if (ago == 1) return ChatListModel::tr("Yesterday");
    if (ago <= 7) return ChatListModel::tr("Last 7 days");
    if (ago <= 30) return ChatListModel::tr("Last 30 days");
    return QLocale().toString(day, "MMMM yyyy");
}

} // namespace

int ChatListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(m_rows.size());
}

QVariant ChatListModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const Row& row = m_rows[size_t(index.row())];
    switch (role) {
    case KindRole: return row.kind;
    case Qt::DisplayRole:
    case Qt::EditRole:
        return row.kind == Heading ? row.heading
               : row.kind == Chat  ? row.chat.title
                                   : row.hit.chatTitle;
    case Qt::ToolTipRole:
        return row.kind == Chat ? row.chat.title : row.kind == Hit ? row.hit.line : QVariant();
    case Qt::AccessibleTextRole: {
        if (row.kind == Heading) return tr("%1, heading").arg(row.heading);
        if (row.kind == Hit) return row.hit.chatTitle + ": " + row.hit.line;
        if (row.chat.running) return tr("%1, answering").arg(row.chat.title);
        if (row.chat.unread) return tr("%1, new answer").arg(row.chat.title);
        return row.chat.title;
    }
    case ChatRole: return row.kind == Chat ? row.chat.id : row.kind == Hit ? row.hit.chatId : 0;
    case MessageRole: return row.hit.messageId;
    case LineRole: return row.hit.line;
    case MarkStartRole: return row.hit.markStart;
    case MarkLengthRole: return row.hit.markLength;
    case RunningRole: return row.chat.running;
    case UnreadRole: return row.chat.unread;
    case PinnedRole: return row.chat.pinned;
    default: return {};
    }
}

bool ChatListModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !index.isValid()) return false;
    Row& row = m_rows[size_t(index.row())];
    const QString title = value.toString().simplified();
    if (row.kind != Chat || title.isEmpty() || title == row.chat.title) return false;
    row.chat.title = title;
    emit dataChanged(index, index);
    emit renamed(row.chat.id, title);
    return true;
}

Qt::ItemFlags ChatListModel::flags(const QModelIndex& index) const {
    if (!index.isValid() || m_rows[size_t(index.row())].kind == Heading) return Qt::NoItemFlags;
    Qt::ItemFlags flags = Qt::ItemIsEnabled | Qt::ItemIsSelectable;
    if (m_editable && m_rows[size_t(index.row())].kind == Chat) flags |= Qt::ItemIsEditable;
    return flags;
}

void ChatListModel::showChats(QList<ChatEntry> chats, const QDate& today) {
    std::stable_sort(chats.begin(), chats.end(), [](const ChatEntry& a, const ChatEntry& b) {
        return a.pinned != b.pinned ? a.pinned : a.changed > b.changed;
    });
    std::vector<Row> rows;
    QString heading;
    for (const ChatEntry& chat : std::as_const(chats)) {
        const QString mine = chat.pinned ? tr("Pinned") : dayHeading(chat.changed.date(), today);
        if (mine != heading) rows.push_back({Heading, mine, {}, {}});
        heading = mine;
        rows.push_back({Chat, {}, chat, {}});
    }
    m_editable = true;
    replace(std::move(rows));
}

void ChatListModel::showTrash(QList<ChatEntry> chats) {
    std::stable_sort(chats.begin(), chats.end(),
                     [](const ChatEntry& a, const ChatEntry& b) { return a.changed > b.changed; });
    std::vector<Row> rows;
    rows.push_back({Heading, chats.isEmpty() ? tr("The Trash is empty") : tr("Trash"), {}, {}});
    for (const ChatEntry& chat : std::as_const(chats)) rows.push_back({Chat, {}, chat, {}});
    m_editable = false;
    replace(std::move(rows));
}

void ChatListModel::showHits(const QList<SearchHit>& hits) {
    std::vector<Row> rows;
    rows.push_back({Heading,
                    hits.isEmpty()     ? tr("Nothing found")
                    : hits.size() == 1 ? tr("One result")
                                       : tr("%n results", nullptr, int(hits.size())),
                    {},
                    {}});
    for (const SearchHit& hit : hits) rows.push_back({Hit, {}, {}, hit});
    m_editable = false;
    replace(std::move(rows));
}

void ChatListModel::replace(std::vector<Row> rows) {
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

QModelIndex ChatListModel::indexOf(qint64 chatId) const {
    for (size_t i = 0; i < m_rows.size(); ++i)
        if (m_rows[i].kind == Chat && m_rows[i].chat.id == chatId) return index(int(i));
    return {};
}

void ChatDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
    const Colours& c = colours();
    const auto kind = index.data(ChatListModel::KindRole).toInt();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRect row = option.rect;
    const bool mirrored = option.direction == Qt::RightToLeft;
    const auto leading = Qt::AlignVCenter | Qt::AlignLeading;
    if (kind == ChatListModel::Heading) {
        QFont font = captionFont();
        font.setWeight(QFont::Medium);
        painter->setFont(font);
        painter->setPen(c.muted);
        painter->drawText(row.adjusted(10, 10, -10, 0), leading | Qt::TextSingleLine,
                          QFontMetrics(font).elidedText(index.data().toString(), Qt::ElideRight,
                                                        row.width() - 20));
        painter->restore();
        return;
    }
    const bool current = index.data(ChatListModel::ChatRole).toLongLong() == m_current;
    const bool focused = option.state & QStyle::State_HasFocus;
    const QRectF box = QRectF(row).adjusted(0.5, 1.5, -0.5, -1.5);
    painter->setPen(Qt::NoPen);
    if (current)
        painter->setBrush(blend(c.surface, c.accent, c.dark ? 0.22 : 0.10));
    else if (option.state & (QStyle::State_MouseOver | QStyle::State_Selected))
        painter->setBrush(blend(c.surface, c.text, 0.06));
    if (current || option.state & (QStyle::State_MouseOver | QStyle::State_Selected))
        painter->drawRoundedRect(box, 6, 6);
    if (focused) {
        painter->setBrush(Qt::NoBrush);
        painter->setPen(QPen(c.accent, 1.5));
        painter->drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
    }
    QRect inner = row.adjusted(10, 0, -10, 0);
    if (kind == ChatListModel::Chat) {
        const bool running = index.data(ChatListModel::RunningRole).toBool();
        if (running || index.data(ChatListModel::UnreadRole).toBool()) {
            const double x = mirrored ? inner.left() + 4 : inner.right() - 4;
            const QPointF centre(x, row.center().y() + 0.5);
            // Running is a ring, unread a dot: told apart without colour.
            painter->setPen(running ? QPen(c.accent, 2) : QPen(Qt::NoPen));
            painter->setBrush(running ? QBrush(Qt::NoBrush) : QBrush(c.accent));
            painter->drawEllipse(centre, running ? 3.5 : 4, running ? 3.5 : 4);
            inner.adjust(mirrored ? 18 : 0, 0, mirrored ? 0 : -18, 0);
        }
        painter->setFont(bodyFont());
        painter->setPen(c.text);
        painter->drawText(inner, leading | Qt::TextSingleLine,
                          QFontMetrics(bodyFont())
                              .elidedText(index.data().toString(), Qt::ElideRight, inner.width()));
    } else {
        const QFontMetrics title(bodyFont()), small(captionFont());
        const int y = row.top() + 7;
        painter->setFont(bodyFont());
        painter->setPen(c.text);
        painter->drawText(QRect(inner.left(), y, inner.width(), title.height()),
                          leading | Qt::TextSingleLine,
                          title.elidedText(index.data().toString(), Qt::ElideRight, inner.width()));
        // The line is shown from shortly before the found word, which stands in strong letters.
        const QString line = index.data(ChatListModel::LineRole).toString();
        int start =
            std::clamp(index.data(ChatListModel::MarkStartRole).toInt(), 0, int(line.size()));
        const int length = std::clamp(index.data(ChatListModel::MarkLengthRole).toInt(), 0,
                                      int(line.size()) - start);
        QString before = line.left(start);
        if (small.horizontalAdvance(before) > inner.width() / 3)
            before = small.elidedText(before, Qt::ElideLeft, inner.width() / 3);
        QFont bold = captionFont();
        bold.setWeight(QFont::Bold);
        int x = inner.left();
        const QRect lineRect(inner.left(), y + title.height(), inner.width(), small.height());
        painter->setClipRect(lineRect);
        const auto draw = [&](const QString& text, const QFont& font, const QColor& colour) {
            painter->setFont(font);
            painter->setPen(colour);
            painter->drawText(
                QRect(x, lineRect.top(), std::max(0, lineRect.right() - x), lineRect.height()),
                Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, text);
            x += QFontMetrics(font).horizontalAdvance(text);
        };
        draw(before, captionFont(), c.muted);
        draw(line.mid(start, length), bold, c.text);
        draw(small.elidedText(line.mid(start + length), Qt::ElideRight,
                              std::max(0, lineRect.right() - x)),
             captionFont(), c.muted);
    }
    painter->restore();
}

QSize ChatDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const {
    const int body = QFontMetrics(bodyFont()).height(),
              small = QFontMetrics(captionFont()).height();
    switch (index.data(ChatListModel::KindRole).toInt()) {
    case ChatListModel::Heading: return QSize(10, small + 20);
    case ChatListModel::Hit: return QSize(10, body + small + 14);
    default: return QSize(10, std::max(34, body + 14));
    }
}

QWidget* ChatDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem&,
                                    const QModelIndex&) const {
    auto* field = new QLineEdit(parent);
    field->setAccessibleName(tr("New name of the chat"));
    field->setMaxLength(200);
    m_editor = field;
    return field;
}

void ChatDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                                        const QModelIndex&) const {
    editor->setGeometry(option.rect.adjusted(0, 1, 0, -1));
}

} // namespace ui

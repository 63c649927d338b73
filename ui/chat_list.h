#pragma once
// The rows of the sidebar's list: headings by day, chats, or search results; and how they are
// painted.

#include "ui/sidebar.h"

#include <QAbstractListModel>
#include <QPointer>
#include <QStyledItemDelegate>

#include <vector>

namespace ui {

class ChatListModel : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role {
        KindRole = Qt::UserRole,
        ChatRole,
        MessageRole,
        LineRole,
        MarkStartRole,
        MarkLengthRole,
        RunningRole,
        UnreadRole,
        PinnedRole
    };
    enum Kind { Heading, Chat, Hit };

    using QAbstractListModel::QAbstractListModel;
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

    // `today` decides the headings.
    void showChats(QList<ChatEntry> chats, const QDate& today);
    void showTrash(QList<ChatEntry> chats);
    void showHits(const QList<SearchHit>& hits);
    QModelIndex indexOf(qint64 chatId) const;

signals:
    void renamed(qint64 chatId, const QString& title);

private:
    struct Row {
        Kind kind;
        QString heading;
        ChatEntry chat;
        SearchHit hit;
    };
    void replace(std::vector<Row> rows);
    std::vector<Row> m_rows;
    bool m_editable = true;
};

class ChatDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem&,
                          const QModelIndex&) const override;
    void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                              const QModelIndex& index) const override;
    void setCurrent(qint64 chatId) { m_current = chatId; }
    bool editing() const { return !m_editor.isNull(); }

private:
    qint64 m_current = 0;
    mutable QPointer<QWidget> m_editor; // the field of the name being changed
};

} // namespace ui

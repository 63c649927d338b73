#pragma once
// Chats by day with pinned ones on top, the search over all chats, and the Trash.

#include <QDateTime>
#include <QList>
#include <QString>
#include <QWidget>

class QLabel;
class QLineEdit;
class QListView;
class QPushButton;
class QStackedWidget;

namespace ui {

struct ChatEntry {
    qint64 id = 0;
    QString title;
    QDateTime changed; // local time
    bool pinned = false;
    bool running = false; // its answer is being written
    bool unread = false;  // an answer ended while another chat was open
    bool operator==(const ChatEntry&) const = default;
};

struct SearchHit {
    qint64 chatId = 0;
    qint64 messageId = 0; // 0: the title
    QString chatTitle;
    QString line;      // one line around the hit
    int markStart = 0; // of the word in `line`
    int markLength = 0;
    bool operator==(const SearchHit&) const = default;
};

class ChatListModel;

class Sidebar : public QWidget {
    Q_OBJECT
public:
    explicit Sidebar(QWidget* parent = nullptr);

    void setChats(const QList<ChatEntry>& chats); // not those in the Trash; any order
    void setTrash(const QList<ChatEntry>& chats);
    void setCurrent(qint64 chatId); // 0: none
    qint64 current() const { return m_current; }
    // Results for `query`; ignored if the field says something else by now.
    void setHits(const QString& query, const QList<SearchHit>& hits);
    // "Moved to Trash. Undo", for some seconds.
    void showUndo(qint64 chatId, const QString& title);
    void beginRename(qint64 chatId);
    void focusSearch();
    bool
    undo(); // takes the chat back out of the Trash while that is offered and the list has the focus
    bool clearSearch();               // true if there was one
    qint64 neighbour(int step) const; // the chat `step` rows below the open one; 0 if none

signals:
    void newChatWished();
    void chatChosen(qint64 chatId);
    void searchWished(const QString& query); // while typing; an empty query is not asked
    void hitChosen(qint64 chatId, qint64 messageId, const QString& query);
    void renameWished(qint64 chatId, const QString& title);
    void pinWished(qint64 chatId, bool pinned);
    void trashWished(qint64 chatId);
    void restoreWished(qint64 chatId);
    void trashShown(); // the Trash is opened: setTrash() is wanted
    // The person confirmed that these chats go for good.
    void deleteForeverWished(const QList<qint64>& chatIds);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    class Private;
    Private* d = nullptr; // a child of this widget
    qint64 m_current = 0;
};

} // namespace ui

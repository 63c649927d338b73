#pragma once
// The list of chats beside the sidebar that shows it: titles, days, pins, dots, trash, and the
// search over all of them.
//
// GUI thread. Everything passed to the constructor outlives this object.

#include "app/chat.h"
#include "app/chat_saver.h"
#include "app/disk_worker.h"
#include "ui/sidebar.h"

#include <QObject>
#include <QSet>

#include <vector>

namespace app {

class ChatList : public QObject {
    Q_OBJECT
public:
    ChatList(ui::Sidebar& sidebar, DiskWorker& disk, ChatSaver& saver, QObject* parent = nullptr);

    void setChats(std::vector<ChatSummary> chats);
    // Adds the chat or renews its row. `changed`: something was said, so that it moves to the top.
    void update(const Chat& chat, bool changed);
    void setRunning(qint64 chatId, bool running);
    void setUnread(qint64 chatId, bool unread);
    void moveToTrash(qint64 chatId);
    void setPinned(qint64 chatId, bool pinned);

    const ChatSummary* find(qint64 chatId) const;
    void setSearchThinking(bool on) { m_searchThinking = on; }

signals:
    void renamed(qint64 chatId, const QString& title);
    void trashed(qint64 chatId);
    void failed(const engine::Error& error);

private:
    ChatSummary* findRow(qint64 chatId);
    void showSoon();
    void show();
    void search(const QString& query);
    void restore(qint64 chatId);
    void deleteForever(const QList<qint64>& chatIds);

    ui::Sidebar& m_sidebar;
    DiskWorker& m_disk;
    ChatSaver& m_saver;
    std::vector<ChatSummary> m_chats;
    QSet<qint64> m_running;
    bool m_showPending = false;
    bool m_searchThinking = false;
};

} // namespace app

#pragma once
// Hands chats to the store. When that fails the chat goes on: what could not be written is
// remembered and written whole as soon as the store takes anything again, or when the person asks
// for it.
//
// GUI thread.

#include "app/chat.h"
#include "app/disk_worker.h"
#include "engine/base/result.h"

#include <QObject>

#include <functional>
#include <set>

namespace app {

class ChatSaver : public QObject {
    Q_OBJECT
public:
    // The worker outlives this object.
    explicit ChatSaver(DiskWorker& disk, QObject* parent = nullptr);

    void header(const ChatPtr& chat);
    // `then` is called when the message is on the disk, or when it is known that it could not be
    // written.
    void message(const ChatPtr& chat, const engine::Message& message, bool sentDraft,
                 std::function<void()> then = {});
    void answer(const ChatPtr& chat, const engine::Message& message);
    void activeLeaf(const ChatPtr& chat);
    void draft(const ChatPtr& chat);
    void flag(qint64 chatId, ChatFlag flag, bool on);

    // Writes everything anew that could not be written.
    void saveAgain();
    bool hasUnsaved() const { return !m_unsaved.empty(); }

signals:
    void failed(const engine::Error& error);
    void recovered(); // everything is written again
    void saved();

private:
    template<class Job> void write(const ChatPtr& chat, Job job, std::function<void()> then = {});
    void ended(const ChatPtr& chat, const engine::Result<void>& result);

    DiskWorker& m_disk;
    std::set<ChatPtr> m_unsaved;
    bool m_savingAgain = false;
};

} // namespace app

#include "app/chat_saver.h"

namespace app {

using engine::Result;

namespace {

// The chat as it is in memory: header, every message, the leaf and the draft.
Result<void> writeWhole(ConversationStore& store, const ChatHeader& header,
                        const std::vector<engine::Message>& messages, qint64 leaf,
                        const Draft& draft) {
    if (Result<void> done = store.saveHeader(header); !done.ok()) return done;
    for (const engine::Message& message : messages) {
        if (Result<void> done = store.saveMessage(header.id, message, false); !done.ok())
            return done;
    }
    if (Result<void> done = store.setActiveLeaf(header.id, leaf); !done.ok()) return done;
    return store.saveDraft(header.id, draft);
}

} // namespace

ChatSaver::ChatSaver(DiskWorker& disk, QObject* parent) : QObject(parent), m_disk(disk) {}

template<class Job>
void ChatSaver::write(const ChatPtr& chat, Job job, std::function<void()> then) {
    // A chat's first write brings its header along.
    if (!chat->stored) {
        chat->stored = true;
        header(chat);
    }
    m_disk.askStore(this, std::move(job),
                    [this, chat, then = std::move(then)](const Result<void>& result) {
                        ended(chat, result);
                        if (then) then();
                    });
}

void ChatSaver::ended(const ChatPtr& chat, const Result<void>& result) {
    if (!result.ok()) {
        m_unsaved.insert(chat);
        emit failed(result.error());
    } else if (!m_unsaved.empty()) {
        saveAgain();
    } else {
        emit saved();
    }
}

void ChatSaver::header(const ChatPtr& chat) {
    chat->stored = true;
    write(chat, [header = headerOf(*chat)](ConversationStore& store) {
        return store.saveHeader(header);
    });
}

void ChatSaver::message(const ChatPtr& chat, const engine::Message& message, bool sentDraft,
                        std::function<void()> then) {
    write(
        chat,
        [id = chat->id(), message, sentDraft](ConversationStore& store) {
            return store.saveMessage(id, message, sentDraft);
        },
        std::move(then));
}

void ChatSaver::answer(const ChatPtr& chat, const engine::Message& message) {
    write(chat, [message](ConversationStore& store) { return store.saveAnswer(message); });
}

void ChatSaver::activeLeaf(const ChatPtr& chat) {
    write(chat, [id = chat->id(), leaf = chat->conversation.activeLeafId](
                    ConversationStore& store) { return store.setActiveLeaf(id, leaf); });
}

void ChatSaver::draft(const ChatPtr& chat) {
    write(chat, [id = chat->id(), draft = chat->draft](ConversationStore& store) {
        return store.saveDraft(id, draft);
    });
}

void ChatSaver::flag(qint64 chatId, ChatFlag flag, bool on) {
    m_disk.askStore(
        this,
        [chatId, flag, on](ConversationStore& store) { return store.setFlag(chatId, flag, on); },
        [this](const Result<void>& result) {
            if (!result.ok()) emit failed(result.error());
        });
}

void ChatSaver::saveAgain() {
    if (m_savingAgain || m_unsaved.empty()) return;
    m_savingAgain = true;
    const ChatPtr chat = *m_unsaved.begin();
    m_disk.askStore(
        this,
        [header = headerOf(*chat), messages = chat->conversation.messages,
         leaf = chat->conversation.activeLeafId, draft = chat->draft](ConversationStore& store) {
            return writeWhole(store, header, messages, leaf, draft);
        },
        [this, chat](const Result<void>& result) {
            m_savingAgain = false;
            if (!result.ok()) {
                emit failed(result.error());
                return;
            }
            m_unsaved.erase(chat);
            if (m_unsaved.empty()) {
                emit recovered();
            } else {
                saveAgain();
            }
        });
}

} // namespace app

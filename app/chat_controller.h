#pragma once
// The open chat: shows it, takes what the person writes, stores it and only then has it answered.
// Also versions, editing, trying again, going on, and changing chats while an answer grows in
// another.
//
// GUI thread. Everything passed to the constructor outlives this object.

#include "app/answer_runner.h"
#include "app/chat.h"
#include "app/chat_list.h"
#include "app/chat_saver.h"
#include "app/disk_worker.h"
#include "app/settings.h"
#include "engine/chat/conversation.h"
#include "ui/composer.h"
#include "ui/conversation_model.h"
#include "ui/main_window.h"

#include <QObject>
#include <QString>

#include <optional>

namespace app {

class ChatController : public QObject {
    Q_OBJECT
public:
    struct Parts {
        ui::MainWindow& window;
        Settings& settings;
        DiskWorker& disk;
        ChatSaver& saver;
        ChatList& list;
        AnswerRunner& runner;
    };
    explicit ChatController(const Parts& parts, QObject* parent = nullptr);

    void newChat(bool focusComposer = true);
    // mark: a word to be shown at that message, which may lie in another version.
    void openChat(qint64 chatId, qint64 messageId = 0, const QString& mark = {});
    void openNeighbour(int step);
    qint64 openId() const { return m_open->id(); }
    const Chat& open() const { return *m_open; }
    ui::ConversationModel& model() { return m_model; }

    // Wishes of the person about the open chat. A message id of 0 means the last one of its kind.
    void send(const ui::Draft& draft, qint64 editOf);
    void stop();
    void tryAgain(qint64 answerId = 0);
    void goOn(qint64 answerId = 0);
    void answerNow();
    void edit(qint64 messageId = 0);
    void showVersion(qint64 messageId, int version);
    void stepVersion(int step);
    void rename(qint64 chatId, const QString& title);
    void togglePin();
    void moveToTrash();
    void setStrength(engine::ThinkingStrength strength);
    void setDraftLength(engine::DraftLength length);
    void setInstructions(const QString& text);

    void showTitle(); // in the title bar, which other pages use too

    // Puts the composer's text into the chat and hands it to the store now.
    void keepDraft();

signals:
    void opened();                           // another chat is shown
    void pathChanged();                      // messages came, went or ended in the open chat
    void answerFinished();                   // of the open chat
    void failed(const engine::Error& error); // reading a chat

private:
    void connectWindow();
    void connectRunner();
    void show(const ChatPtr& chat);
    void showPath();
    void showActivity();
    void showPin();
    ui::MessageRow rowFor(const engine::Message& message) const;
    void sendNow(const ChatPtr& chat, const ui::Draft& draft, qint64 parentId, qint64 editOf = 0);
    void askAnew(qint64 questionId);
    void retry();
    void beginEdit(qint64 messageId, const ui::Draft& content);
    void fillComposer(const ui::Draft& draft, const std::optional<ui::Draft>& queued);
    void takeBackQueued();
    void grow(qint64 chatId, qint64 messageId, const engine::TextDelta& delta);
    void ended(const ChatPtr& chat, qint64 messageId, const std::optional<engine::Error>& error);
    void takeBack(const ChatPtr& chat, qint64 answerId);
    void setLeaf(const ChatPtr& chat, qint64 leafId);
    const engine::Message* lastOf(engine::Role role) const;

    Parts m_parts;
    ui::ConversationModel m_model;
    ChatPtr m_open;
    ui::Draft m_draftBeforeEdit; // while the composer edits a message
    // What the card of an error tries again: the composer's text that came back, or a question.
    bool m_cameBack = false;
    qint64 m_askedAnew = 0;   // 0: the last one
    qint64 m_opening = 0;     // chat being read from the disk
    bool m_restoring = false; // the composer is being filled by us
};

} // namespace app

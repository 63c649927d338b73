#pragma once
// Runs answers: one is being written, others may wait for it. An answer grows in its own chat,
// whichever chat is open, and is saved about once a second while it does.
//
// GUI thread. Both workers and the saver outlive this object.

#include "app/chat.h"
#include "app/chat_saver.h"
#include "app/disk_worker.h"
#include "app/engine_worker.h"
#include "ui/conversation_model.h"

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace app {

class AnswerRunner : public QObject {
    Q_OBJECT
public:
    AnswerRunner(EngineWorker& engine, DiskWorker& disk, ChatSaver& saver,
                 QObject* parent = nullptr);

    void setSampling(const engine::SamplerSettings& sampling) { m_sampling = sampling; }

    // Stores the message, which is the chat's active leaf and was its draft, and then has it
    // answered.
    void ask(const ChatPtr& chat, const engine::Message& question);
    // Adds an answer to this message, makes it the active leaf and begins or queues it. The
    // question is stored already. Returns the answer's id.
    qint64 answer(const ChatPtr& chat, qint64 questionId);
    // Goes on with an answer that ended early.
    void goOn(const ChatPtr& chat, qint64 answerId);
    // Ends the thinking of the answer that is being written and lets it answer.
    void answerNow();
    void stop(qint64 chatId);
    void stopAll();

    // The chat has an answer that is being written or waits, or a question that is being stored.
    bool busy(qint64 chatId) const;
    bool idle() const { return !m_running && m_waiting.empty() && m_storing.empty(); }
    // What the chat's answer is doing; Kind::None if it has none.
    ui::Activity activity(qint64 chatId) const;
    // Of a busy chat, the one object that its answer grows in; otherwise null.
    ChatPtr chatInHand(qint64 chatId) const;

    struct Telemetry { // of the answer being written, or of the latest
        int answer = 0; // how many there were, with this one
        qint64 chatId = 0;
        bool running = false;
        bool answering = false; // words come
        bool reading = false;
        int readDone = 0;
        double readSeconds = 0;
        engine::Progress progress;
        std::optional<double> firstWordSeconds;
    };
    const Telemetry& telemetry() const { return m_telemetry; }

signals:
    // The message was added at the end of the chat's active path.
    void answerAdded(qint64 chatId, qint64 messageId);
    void answerGrew(qint64 chatId, qint64 messageId, const engine::TextDelta& delta);
    void activityChanged(qint64 chatId);
    // State, figures and ids are in the message. With an error: it failed.
    void answerEnded(const app::ChatPtr& chat, qint64 messageId,
                     const std::optional<engine::Error>& error);

private:
    struct Job {
        ChatPtr chat;
        qint64 answerId = 0;
        engine::PromptEnd end = engine::PromptEnd::NewReply;
    };
    struct Running : Job {
        bool stopWished = false;
        bool answerNowWished = false;
        bool unsavedText = false;
        bool hasText = false; // a word of the answer or of thinking came
        bool hasAnswer = false;
        ui::Activity activity;
        QElapsedTimer sinceBegin;
        QElapsedTimer sinceReading;
        QElapsedTimer sinceThinking; // valid while thinking
        double thinkingSeconds = 0;
        engine::AnswerFigures before; // of the part written earlier
    };
    using Pictures = std::map<std::string, std::shared_ptr<const engine::RgbImage>>;

    engine::Message& message();
    void enqueue(Job job);
    void startNext();
    void fetchPictures();
    void sendToEngine(const engine::Result<Pictures>& pictures);
    engine::PromptRequest promptRequest(const Pictures& pictures) const;
    void takeEvents(qint64 id, const std::vector<engine::TurnEvent>& events);
    void take(const engine::LookingAtPicture& event);
    void take(const engine::Reading& event);
    void take(const engine::TextDelta& event);
    void take(const engine::Progress& event);
    void take(const engine::TurnFinished&) {} // comes as the request's result
    void finish(qint64 id, const engine::TurnFinished& result);
    void fail(qint64 id, const engine::Error& error);
    void end(engine::MessageState state, const std::optional<engine::Error>& error = {});
    void setActivity(ui::Activity activity);
    void stopThinkingClock();
    void save();

    EngineWorker& m_engine;
    DiskWorker& m_disk;
    ChatSaver& m_saver;
    engine::SamplerSettings m_sampling;
    std::optional<Running> m_running;
    std::deque<Job> m_waiting;
    std::vector<ChatPtr> m_storing; // whose question is on its way to the disk
    Telemetry m_telemetry;
    std::string m_modelKey;
    QTimer m_saveTimer;  // once a second while an answer grows
    QTimer m_clockTimer; // the thinking time on the screen
};

} // namespace app

#include "app/answer_runner.h"

#include "engine/base/check.h"

#include <QDate>
#include <QRandomGenerator>

#include <algorithm>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Message;
using engine::MessageState;
using engine::PromptEnd;
using engine::Result;
using engine::Role;

namespace {

constexpr int kSaveMilliseconds = 1000;
constexpr int kClockMilliseconds = 500;

MessageState stateFor(engine::FinishReason reason) {
    switch (reason) {
    case engine::FinishReason::Stop: return MessageState::Complete;
    case engine::FinishReason::Length: return MessageState::LengthReached;
    case engine::FinishReason::LengthWhileThinking: return MessageState::EndedWhileThinking;
    case engine::FinishReason::Cancelled: return MessageState::Stopped;
    }
    return MessageState::Complete;
}

engine::AnswerFigures sum(engine::AnswerFigures a, const engine::AnswerFigures& b) {
    a.readSeconds += b.readSeconds;
    a.writeSeconds += b.writeSeconds;
    a.promptTokens = b.promptTokens;
    a.readTokens += b.readTokens;
    a.writtenTokens += b.writtenTokens;
    a.draftedTokens += b.draftedTokens;
    a.acceptedTokens += b.acceptedTokens;
    a.cycles += b.cycles;
    return a;
}

} // namespace

AnswerRunner::AnswerRunner(EngineWorker& engine, DiskWorker& disk, ChatSaver& saver,
                           QObject* parent)
    : QObject(parent), m_engine(engine), m_disk(disk), m_saver(saver) {
    m_saveTimer.setInterval(kSaveMilliseconds);
    m_clockTimer.setInterval(kClockMilliseconds);
    connect(&m_saveTimer, &QTimer::timeout, this, [this] {
        if (m_running && m_running->unsavedText) save();
    });
    connect(&m_clockTimer, &QTimer::timeout, this, [this] {
        if (!m_running || !m_running->sinceThinking.isValid()) return;
        ui::Activity activity = m_running->activity;
        activity.thinkingSeconds =
            m_running->thinkingSeconds + double(m_running->sinceThinking.elapsed()) / 1000;
        setActivity(activity);
    });
    connect(&m_engine, &EngineWorker::answerEvents, this, &AnswerRunner::takeEvents);
    connect(&m_engine, &EngineWorker::answerFinished, this, &AnswerRunner::finish);
    connect(&m_engine, &EngineWorker::answerFailed, this, &AnswerRunner::fail);
    connect(&m_engine, &EngineWorker::loaded, this,
            [this](const LoadedModel& model) { m_modelKey = model.modelKey; });
}

Message& AnswerRunner::message() {
    Message* const message = m_running->chat->find(m_running->answerId);
    CHECK(message);
    return *message;
}

void AnswerRunner::ask(const ChatPtr& chat, const Message& question) {
    m_storing.push_back(chat);
    emit activityChanged(chat->id());
    // The message is on the disk before the model sees it.
    m_saver.message(chat, question, true, [this, chat, id = question.id] {
        // Stopped meanwhile: then there is nothing to begin.
        if (std::erase(m_storing, chat) > 0) answer(chat, id);
    });
}

qint64 AnswerRunner::answer(const ChatPtr& chat, qint64 questionId) {
    Message answer;
    answer.id = newId();
    answer.parentId = questionId;
    answer.role = Role::Assistant;
    answer.state = MessageState::Growing;
    answer.createdMs = nowMs();
    chat->conversation.messages.push_back(answer);
    chat->conversation.activeLeafId = answer.id;
    m_saver.message(chat, answer, false);
    emit answerAdded(chat->id(), answer.id);
    enqueue({chat, answer.id, PromptEnd::NewReply});
    return answer.id;
}

void AnswerRunner::goOn(const ChatPtr& chat, qint64 answerId) {
    Message* const message = chat->find(answerId);
    if (!message || message->role != Role::Assistant || busy(chat->id())) return;
    message->state = MessageState::Growing;
    m_saver.answer(chat, *message);
    // Nothing was written yet: then it is a new reply in the same message.
    const bool begun = !message->text.empty() || !message->thinking.empty();
    enqueue({chat, answerId, begun ? PromptEnd::ContinueReply : PromptEnd::NewReply});
}

void AnswerRunner::answerNow() {
    if (!m_running || m_running->answerNowWished || !m_running->sinceThinking.isValid()) return;
    m_running->answerNowWished = true;
    m_engine.stopAnswer();
}

void AnswerRunner::stop(qint64 chatId) {
    if (m_running && m_running->chat->id() == chatId) {
        m_running->stopWished = true;
        m_running->answerNowWished = false;
        m_engine.stopAnswer();
        return;
    }
    // Its question is kept; only the answer is not begun.
    if (std::erase_if(m_storing, [&](const ChatPtr& chat) { return chat->id() == chatId; }) > 0) {
        emit activityChanged(chatId);
        return;
    }
    const auto job = std::find_if(m_waiting.begin(), m_waiting.end(),
                                  [&](const Job& waiting) { return waiting.chat->id() == chatId; });
    if (job == m_waiting.end()) return;
    const Job stopped = *job;
    m_waiting.erase(job);
    if (Message* const message = stopped.chat->find(stopped.answerId)) {
        message->state = MessageState::Stopped;
        m_saver.answer(stopped.chat, *message);
    }
    emit answerEnded(stopped.chat, stopped.answerId, std::nullopt);
    emit activityChanged(chatId);
}

void AnswerRunner::stopAll() {
    while (!m_storing.empty()) stop(m_storing.back()->id());
    while (!m_waiting.empty()) stop(m_waiting.back().chat->id());
    if (m_running) stop(m_running->chat->id());
}

bool AnswerRunner::busy(qint64 chatId) const {
    return chatInHand(chatId) != nullptr;
}

ChatPtr AnswerRunner::chatInHand(qint64 chatId) const {
    if (m_running && m_running->chat->id() == chatId) return m_running->chat;
    for (const Job& job : m_waiting) {
        if (job.chat->id() == chatId) return job.chat;
    }
    for (const ChatPtr& chat : m_storing) {
        if (chat->id() == chatId) return chat;
    }
    return nullptr;
}

ui::Activity AnswerRunner::activity(qint64 chatId) const {
    if (m_running && m_running->chat->id() == chatId) return m_running->activity;
    ui::Activity activity;
    if (!busy(chatId)) return activity;
    activity.kind = ui::Activity::Kind::Waiting;
    const bool stored = std::none_of(m_storing.begin(), m_storing.end(),
                                     [&](const ChatPtr& chat) { return chat->id() == chatId; });
    if (m_running && stored) {
        activity.why = tr("Waiting for the answer in “%1”")
                           .arg(QString::fromStdString(m_running->chat->conversation.title));
    }
    return activity;
}

void AnswerRunner::enqueue(Job job) {
    m_waiting.push_back(std::move(job));
    const qint64 chatId = m_waiting.back().chat->id();
    startNext();
    emit activityChanged(chatId);
}

void AnswerRunner::startNext() {
    if (m_running || m_waiting.empty()) return;
    m_running.emplace();
    static_cast<Job&>(*m_running) = std::move(m_waiting.front());
    m_waiting.pop_front();
    m_running->sinceBegin.start();
    m_running->before = message().figures;
    m_running->thinkingSeconds = m_running->before.thinkingSeconds;
    m_running->activity.kind = ui::Activity::Kind::Waiting;
    const int answer = m_telemetry.answer + 1;
    m_telemetry = {};
    m_telemetry.answer = answer;
    m_telemetry.chatId = m_running->chat->id();
    m_telemetry.running = true;
    m_saveTimer.start();
    m_clockTimer.start();
    emit activityChanged(m_running->chat->id());
    fetchPictures();
}

void AnswerRunner::fetchPictures() {
    std::vector<std::string> hashes;
    for (const Message* m : pathTo(m_running->chat->conversation, m_running->answerId)) {
        for (const engine::Attachment& a : m->attachments) hashes.push_back(a.sha256);
    }
    if (hashes.empty()) {
        sendToEngine(Pictures());
        return;
    }
    m_disk.ask(
        this,
        [hashes](Disk& disk) -> Result<Pictures> {
            Pictures pictures;
            for (const std::string& hash : hashes) {
                if (pictures.contains(hash)) continue;
                Result<std::shared_ptr<const engine::RgbImage>> picture = disk.picture(hash);
                if (!picture.ok()) return picture.error();
                pictures[hash] = picture.value();
            }
            return pictures;
        },
        [this, id = m_running->answerId](const Result<Pictures>& pictures) {
            if (m_running && m_running->answerId == id) sendToEngine(pictures);
        });
}

engine::PromptRequest AnswerRunner::promptRequest(const Pictures& pictures) const {
    const engine::Conversation& conversation = m_running->chat->conversation;
    engine::PromptRequest request;
    request.strength = conversation.strength;
    request.date = QDate::currentDate().toString(Qt::ISODate).toStdString();
    request.end = m_running->end;
    if (!conversation.instructions.empty()) {
        request.messages.push_back(engine::ChatMessage::system(conversation.instructions));
    }
    // Whichever version is shown by now.
    for (const Message* m : pathTo(conversation, m_running->answerId)) {
        const bool itself = m->id == m_running->answerId;
        if (m->role == Role::User) {
            engine::ChatMessage user;
            for (const engine::Attachment& a : m->attachments) {
                user.parts.push_back(engine::ChatPicture{pictures.at(a.sha256), a.sha256});
            }
            if (!m->text.empty()) user.parts.push_back(m->text);
            request.messages.push_back(std::move(user));
        } else if (!(itself && request.end == PromptEnd::NewReply) &&
                   !(m->text.empty() && m->thinking.empty())) {
            engine::ChatMessage assistant = engine::ChatMessage::assistant(m->text, m->thinking);
            assistant.generated = m->generated;
            request.messages.push_back(std::move(assistant));
        }
    }
    return request;
}

void AnswerRunner::sendToEngine(const Result<Pictures>& pictures) {
    if (m_running->stopWished) {
        end(MessageState::Stopped);
        return;
    }
    if (!pictures.ok()) {
        end(MessageState::Failed, pictures.error());
        return;
    }
    AnswerRequest request;
    request.id = m_running->answerId;
    request.prompt = promptRequest(pictures.value());
    request.options.sampling = m_sampling;
    request.options.seed = QRandomGenerator::system()->generate64();
    request.options.draftLength = m_running->chat->conversation.draftLength;
    m_engine.answer(request);
}

void AnswerRunner::takeEvents(qint64 id, const std::vector<engine::TurnEvent>& events) {
    if (!m_running || m_running->answerId != id) return;
    for (const engine::TurnEvent& event : events) {
        std::visit([this](const auto& e) { take(e); }, event);
    }
}

void AnswerRunner::take(const engine::LookingAtPicture& event) {
    ui::Activity activity;
    activity.kind = ui::Activity::Kind::Looking;
    activity.pictureIndex = event.index;
    activity.pictureCount = event.count;
    setActivity(activity);
}

void AnswerRunner::take(const engine::Reading& event) {
    Running& running = *m_running;
    if (!running.sinceReading.isValid()) running.sinceReading.start();
    m_telemetry.reading = event.done < event.total;
    m_telemetry.readDone = event.done;
    m_telemetry.readSeconds = double(running.sinceReading.elapsed()) / 1000;
    ui::Activity activity;
    activity.kind = ui::Activity::Kind::Reading;
    activity.readDone = event.done;
    activity.readTotal = event.total;
    activity.why = QString::fromStdString(event.whyAgain);
    if (event.done > 0 && m_telemetry.readSeconds > 0.3) {
        activity.secondsLeft = m_telemetry.readSeconds / event.done * (event.total - event.done);
    }
    setActivity(activity);
}

void AnswerRunner::take(const engine::TextDelta& delta) {
    if (delta.channel == engine::Channel::Tool || delta.text.empty()) return;
    Running& running = *m_running;
    m_telemetry.reading = false;
    m_telemetry.answering = true;
    if (!m_telemetry.firstWordSeconds) {
        m_telemetry.firstWordSeconds = double(running.sinceBegin.elapsed()) / 1000;
    }
    Message& growing = message();
    ui::Activity activity;
    if (delta.channel == engine::Channel::Thinking) {
        growing.thinking += delta.text;
        if (!running.sinceThinking.isValid()) running.sinceThinking.start();
        activity.kind = ui::Activity::Kind::Thinking;
        activity.thinkingSeconds =
            running.thinkingSeconds + double(running.sinceThinking.elapsed()) / 1000;
    } else {
        stopThinkingClock();
        growing.text += delta.text;
        running.hasAnswer = true;
        activity.kind = ui::Activity::Kind::Answering;
        activity.thinkingSeconds = running.thinkingSeconds;
    }
    growing.figures.thinkingSeconds = running.thinkingSeconds;
    running.hasText = true;
    running.unsavedText = true;
    emit answerGrew(running.chat->id(), running.answerId, delta);
    if (activity.kind != running.activity.kind) setActivity(activity);
}

void AnswerRunner::take(const engine::Progress& event) {
    m_telemetry.progress = event;
}

void AnswerRunner::stopThinkingClock() {
    Running& running = *m_running;
    if (!running.sinceThinking.isValid()) return;
    running.thinkingSeconds += double(running.sinceThinking.elapsed()) / 1000;
    running.sinceThinking.invalidate();
}

void AnswerRunner::finish(qint64 id, const engine::TurnFinished& result) {
    if (!m_running || m_running->answerId != id) return;
    stopThinkingClock();
    Message& growing = message();
    growing.figures = sum(m_running->before, result.figures);
    growing.figures.thinkingSeconds = m_running->thinkingSeconds;
    if (m_running->answerNowWished && result.reason == engine::FinishReason::Cancelled) {
        // Between thinking and answer the prompt puts markers that the model did not write, so its
        // own ids no longer tell the whole message.
        growing.generated = {};
        m_running->answerNowWished = false;
        m_running->end = PromptEnd::AnswerNow;
        m_running->before = growing.figures;
        fetchPictures();
        return;
    }
    if (m_running->end == PromptEnd::NewReply) {
        growing.generated = {m_modelKey, result.ids};
    } else if (growing.generated.modelKey == m_modelKey &&
               m_running->end == PromptEnd::ContinueReply) {
        growing.generated.ids.insert(growing.generated.ids.end(), result.ids.begin(),
                                     result.ids.end());
    } else {
        growing.generated = {};
    }
    end(stateFor(result.reason));
}

void AnswerRunner::fail(qint64 id, const Error& error) {
    if (!m_running || m_running->answerId != id) return;
    stopThinkingClock();
    message().figures.thinkingSeconds = m_running->thinkingSeconds;
    if (error.code == ErrorCode::Cancelled || m_running->stopWished) {
        end(MessageState::Stopped);
    } else {
        end(MessageState::Failed, error);
    }
}

void AnswerRunner::end(MessageState state, const std::optional<Error>& error) {
    m_saveTimer.stop();
    m_clockTimer.stop();
    message().state = state;
    save();
    m_telemetry.running = false;
    m_telemetry.answering = false;
    m_telemetry.reading = false;
    const Job ended = *m_running;
    m_running.reset();
    emit answerEnded(ended.chat, ended.answerId, error);
    emit activityChanged(ended.chat->id());
    startNext();
}

void AnswerRunner::setActivity(ui::Activity activity) {
    if (activity == m_running->activity) return;
    m_running->activity = std::move(activity);
    emit activityChanged(m_running->chat->id());
}

void AnswerRunner::save() {
    m_running->unsavedText = false;
    m_saver.answer(m_running->chat, message());
}

} // namespace app

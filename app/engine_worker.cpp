#include "app/engine_worker.h"

#include "engine/backend/backend.h"
#include "engine/runtime/session.h"
#include "engine/token/tokenizer.h"

#include <chrono>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;
using engine::TurnEvent;

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kBatchInterval = std::chrono::milliseconds(16);
constexpr auto kLoadInterval = std::chrono::milliseconds(100);

// The thread's stack: the kernels keep large arrays on it.
constexpr uint kStackBytes = 16u << 20;

} // namespace

// Lives on the engine thread; owns the engine. Signals to EngineWorker are queued.
class EngineRoom : public QObject {
    Q_OBJECT
public:
    void load(const LoadRequest& request, std::stop_token stop) {
        m_engine.reset();
        Clock::time_point last; // long ago
        std::string lastPhase;
        const auto progress = [&](const engine::LoadProgress& step) {
            const auto now = Clock::now();
            if (step.phase == lastPhase && now - last < kLoadInterval &&
                step.bytesDone < step.bytesTotal)
                return;
            last = now;
            lastPhase = step.phase;
            emit loadProgress(step);
        };
        Result<LoadedEngine> done =
            loadEngine(request.backend, request.files, request.options, progress, stop);
        if (done.ok() && stop.stop_requested()) {
            emit loadFailed(Error{ErrorCode::Cancelled, "loading was stopped"});
            return;
        }
        if (!done.ok()) {
            emit loadFailed(done.error());
            return;
        }
        m_engine = std::move(done.value().engine);
        LoadedModel model;
        model.files = request.files;
        model.name = QString::fromStdString(m_engine->text().name);
        model.backendName = QString::fromStdString(m_engine->backend().name());
        model.onCard = done.value().onCard;
        model.whyNotCard = QString::fromStdString(done.value().whyNotCard);
        model.modelKey = m_engine->modelKey();
        if (m_engine->vision()) model.vision = *m_engine->vision();
        model.draft = m_engine->draft() != nullptr;
        model.memory = m_engine->memory();
        model.contextTokens = m_engine->contextTokens();
        model.freeBytes = m_engine->backend().memory().freeBytes;
        model.totalBytes = m_engine->backend().memory().totalBytes;
        emit loaded(model);
    }

    void unload() {
        m_engine.reset();
        emit unloaded();
    }

    void answer(AnswerRequest request, std::stop_token stop) {
        if (!m_engine) {
            emit answerFailed(request.id, Error{ErrorCode::Unsupported, "no model is loaded"});
            return;
        }
        request.prompt.modelKey = m_engine->modelKey();
        Result<engine::Prompt> prompt =
            engine::buildPrompt(request.prompt, m_engine->tokenizer(), m_engine->vision());
        if (!prompt.ok()) {
            emit answerFailed(request.id, prompt.error());
            return;
        }
        std::vector<TurnEvent> batch;
        Clock::time_point last; // long ago
        const auto flush = [&] {
            if (batch.empty()) return;
            emit answerEvents(request.id, batch);
            batch.clear();
            last = Clock::now();
        };
        const auto sink = [&](const TurnEvent& event) {
            if (std::holds_alternative<engine::TurnFinished>(event)) return; // comes as the result
            batch.push_back(event);
            // Text is followed by the progress of its cycle: the batch leaves with that, so that no
            // word waits for the next cycle.
            if (std::holds_alternative<engine::TextDelta>(event)) return;
            if (Clock::now() - last >= kBatchInterval) flush();
        };
        const Result<engine::TurnFinished> result =
            m_engine->session().generate(prompt.value(), request.options, sink, stop);
        flush();
        if (result.ok()) {
            emit answerFinished(request.id, result.value());
        } else {
            emit answerFailed(request.id, result.error());
        }
    }

signals:
    void loadProgress(const engine::LoadProgress& progress);
    void loaded(const app::LoadedModel& model);
    void loadFailed(const engine::Error& error);
    void unloaded();
    void answerEvents(qint64 id, const std::vector<engine::TurnEvent>& events);
    void answerFinished(qint64 id, const engine::TurnFinished& result);
    void answerFailed(qint64 id, const engine::Error& error);

private:
    std::unique_ptr<engine::Engine> m_engine;
};

EngineWorker::EngineWorker(QObject* parent) : QObject(parent), m_room(new EngineRoom) {
    m_thread.setObjectName(QStringLiteral("engine"));
    m_thread.setStackSize(kStackBytes);
    m_room->moveToThread(&m_thread);
    connect(&m_thread, &QThread::finished, m_room, &QObject::deleteLater);
    connect(m_room, &EngineRoom::loadProgress, this, &EngineWorker::loadProgress);
    connect(m_room, &EngineRoom::loaded, this, [this](const LoadedModel& model) {
        --m_loads;
        emit loaded(model);
    });
    connect(m_room, &EngineRoom::loadFailed, this, [this](const Error& error) {
        --m_loads;
        emit loadFailed(error);
    });
    connect(m_room, &EngineRoom::unloaded, this, &EngineWorker::unloaded);
    connect(m_room, &EngineRoom::answerEvents, this, &EngineWorker::answerEvents);
    connect(m_room, &EngineRoom::answerFinished, this,
            [this](qint64 id, const engine::TurnFinished& result) {
                --m_answers;
                emit answerFinished(id, result);
            });
    connect(m_room, &EngineRoom::answerFailed, this, [this](qint64 id, const Error& error) {
        --m_answers;
        emit answerFailed(id, error);
    });
    m_thread.start();
}

EngineWorker::~EngineWorker() {
    m_loadStop.request_stop();
    m_answerStop.request_stop();
    m_thread.quit();
    m_thread.wait();
}

void EngineWorker::load(const LoadRequest& request) {
    m_answerStop.request_stop();
    m_loadStop.request_stop();
    m_loadStop = std::stop_source();
    ++m_loads;
    QMetaObject::invokeMethod(
        m_room,
        [room = m_room, request, stop = m_loadStop.get_token()] { room->load(request, stop); },
        Qt::QueuedConnection);
}

void EngineWorker::stopLoading() {
    m_loadStop.request_stop();
}

void EngineWorker::unload() {
    m_answerStop.request_stop();
    m_loadStop.request_stop();
    QMetaObject::invokeMethod(
        m_room, [room = m_room] { room->unload(); }, Qt::QueuedConnection);
}

void EngineWorker::answer(const AnswerRequest& request) {
    m_answerStop = std::stop_source();
    ++m_answers;
    QMetaObject::invokeMethod(
        m_room,
        [room = m_room, request, stop = m_answerStop.get_token()] { room->answer(request, stop); },
        Qt::QueuedConnection);
}

void EngineWorker::stopAnswer() {
    m_answerStop.request_stop();
}

} // namespace app

#include "engine_worker.moc"

#pragma once
// The only bridge between the window and the engine. The engine lives on its own thread, which
// carries out one request after the other; each has its own stop source. Events come back in
// batches of at most one per 16 ms, errors as signals. Values only.
//
// GUI thread. Destroying it stops the request in hand, ends the thread and frees the model.

#include "app/backend_choice.h"
#include "engine/base/result.h"
#include "engine/chat/prompt_builder.h"
#include "engine/chat/turn_event.h"
#include "engine/runtime/engine.h"

#include <QObject>
#include <QString>
#include <QThread>

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace app {

struct LoadedModel {
    engine::ModelFiles files;
    QString name;        // of the model, as its file says
    QString backendName; // "Processor, AVX2, 8 threads"
    bool onCard = false;
    QString whyNotCard; // why a card that is there is not used; empty: it is, or there is none
    std::string modelKey;
    std::optional<engine::VisionSpec> vision; // empty: no pictures
    bool draft = false;
    engine::MemoryByPart memory;
    std::int64_t contextTokens = 0;
    std::int64_t freeBytes = 0; // when it was loaded
    std::int64_t totalBytes = 0;
};

struct LoadRequest {
    engine::ModelFiles files;
    engine::EngineOptions options;
    BackendWish backend;
};

struct AnswerRequest {
    qint64 id = 0; // of the answer's message; names the request in the signals
    engine::PromptRequest prompt;
    engine::GenerateOptions options;
};

class EngineRoom; // what lives on the engine thread

class EngineWorker : public QObject {
    Q_OBJECT
public:
    explicit EngineWorker(QObject* parent = nullptr);
    ~EngineWorker() override;

    // Frees what is loaded and loads anew. Ends with loaded or loadFailed (Cancelled after
    // stopLoading).
    void load(const LoadRequest& request);
    void stopLoading();
    void unload(); // stops an answer first; ends with unloaded

    // Waits for requests made before. Ends with answerFinished or answerFailed.
    void answer(const AnswerRequest& request);
    // Takes effect within one layer; a request that has not begun ends at once.
    void stopAnswer();

    bool loading() const { return m_loads > 0; }
    bool answering() const { return m_answers > 0; }

signals:
    void loadProgress(const engine::LoadProgress& progress);
    void loaded(const app::LoadedModel& model);
    void loadFailed(const engine::Error& error);
    void unloaded();
    void answerEvents(qint64 id, const std::vector<engine::TurnEvent>& events);
    void answerFinished(qint64 id, const engine::TurnFinished& result);
    void answerFailed(qint64 id, const engine::Error& error);

private:
    QThread m_thread;
    EngineRoom* m_room; // deleted on its own thread when that ends
    std::stop_source m_loadStop;
    std::stop_source m_answerStop;
    int m_loads = 0; // asked for and not ended
    int m_answers = 0;
};

} // namespace app

#pragma once
// Engine: the three files loaded on one backend, and the session that writes with them. One person,
// one answer at a time: no server, no scheduler.
//
// Engine thread. Loading and generating report through sinks that are called on that thread.

#include "engine/base/result.h"
#include "engine/chat/prompt.h"
#include "engine/chat/turn_event.h"
#include "engine/model/image_patches.h"
#include "engine/model/spec.h"
#include "engine/runtime/kv_cache.h"
#include "engine/runtime/placement.h"
#include "engine/runtime/sampler_table.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace engine {

class Backend;
class DraftCycle;
class Session;
class Tokenizer;

struct ModelFiles {
    std::filesystem::path target;
    std::filesystem::path projector; // empty: no pictures
    std::filesystem::path drafter;   // empty: no draft help
};

struct EngineOptions {
    std::int64_t contextTokens = 0; // 0: as many as fit free memory, at most the model's limit
    KvType kvType = KvType::F16;
    int prefillChunk = 0;    // rows read at once; 0: as the backend likes it
    bool checkMemory = true; // refuse before loading what would not fit
};

struct LoadProgress {
    std::string phase; // "Reading the model", "Reading the vision part", ...
    std::int64_t bytesDone = 0;
    std::int64_t bytesTotal = 0;
};

struct GenerateOptions {
    SamplerSettings sampling;
    std::uint64_t seed = 0;
    std::int64_t maxTokens = 0; // 0: to the end of the context
    DraftLength draftLength;
    bool ignoreEndTokens = false; // for benchmarks: end tokens are written like others
};

class Engine {
public:
    using LoadSink = std::function<void(const LoadProgress&)>;
    // Opens, checks and loads; runs one real step of everything before it says ready. The backend
    // is kept. After an error or a stop (Cancelled) nothing stays; the same files may be loaded
    // again.
    static Result<std::unique_ptr<Engine>> load(std::unique_ptr<Backend> backend,
                                                const ModelFiles& files,
                                                const EngineOptions& options,
                                                const LoadSink& progress, std::stop_token stop);
    ~Engine();

    const Tokenizer& tokenizer() const;
    const TextSpec& text() const;
    const VisionSpec* vision() const;    // null without a projector
    const DraftSpec* draft() const;      // null without a drafter
    const std::string& modelKey() const; // names the target file's contents: for GeneratedIds
    MemoryByPart memory() const;         // what each part takes now
    const PlacementPlan& plan() const;   // what was expected before loading
    std::int64_t contextTokens() const;
    Backend& backend();

    Session& session();
    DraftCycle& cycle(); // below the session, for measuring: its caches must stay as they are
    // Seconds to encode a picture of this size, for measuring; 0 without a projector.
    Result<double> timePicture(PixelSize size, std::stop_token stop);

private:
    Engine();
    Result<void> loadParts(std::unique_ptr<Backend> backend, const ModelFiles& files,
                           const EngineOptions& options, const LoadSink& progress,
                           std::stop_token stop);
    struct State;
    std::unique_ptr<State> m;
};

} // namespace engine

#include "app/backend_choice.h"

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/base/log.h"
#include "engine/base/memory_info.h"

#if defined(GLINT_CUDA)
#    include "cuda/card_probe.h"
#    include "cuda/cuda_backend.h"
#endif

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

Result<ChosenBackend> processorBackend(const BackendWish& wish) {
    engine::CpuOptions options;
    options.threads = wish.threads;
    options.math = wish.floatMath ? engine::CpuMath::Float : engine::CpuMath::Int8;
    auto backend = engine::CpuBackend::make(options);
    if (!backend) return backend.error();
    ChosenBackend chosen;
    chosen.backend = std::move(*backend);
    return chosen;
}

#if defined(GLINT_CUDA)

// The card was there and did not pass its start: plans count on the processor.
std::atomic<bool> cardRefused = false;

Result<ChosenBackend> cardBackend() {
    auto backend = cuda::CudaBackend::make({});
    cardRefused = !backend && backend.error().code != ErrorCode::OutOfMemory;
    if (!backend) return backend.error();
    ChosenBackend chosen;
    chosen.backend = std::move(*backend);
    chosen.onCard = true;
    return chosen;
}

bool cardPresent() {
    return cuda::probeCard().present;
}

#else

Result<ChosenBackend> cardBackend() {
    return Error{ErrorCode::Unsupported, "this build has no part for graphics cards"};
}

bool cardPresent() {
    return false;
}

#endif

} // namespace

Result<ChosenBackend> chooseBackend(const BackendWish& wish) {
    if (wish.floatMath && wish.kind == BackendKind::Card) {
        return Error{ErrorCode::Unsupported,
                     "plain float arithmetic is the processor's; use --backend cpu"};
    }
    if (wish.kind == BackendKind::Processor || wish.floatMath) return processorBackend(wish);
    auto card = cardBackend();
    if (card || wish.kind == BackendKind::Card) return card;
    auto processor = processorBackend(wish);
    if (processor && cardPresent()) processor->whyNotCard = card.error().message;
    return processor;
}

Result<LoadedEngine> loadEngine(const BackendWish& wish, const engine::ModelFiles& files,
                                const engine::EngineOptions& options,
                                const engine::Engine::LoadSink& progress, std::stop_token stop) {
    auto chosen = chooseBackend(wish);
    if (!chosen) return chosen.error();
    LoadedEngine loaded;
    loaded.onCard = chosen->onCard;
    loaded.whyNotCard = std::move(chosen->whyNotCard);
    auto engine = engine::Engine::load(std::move(chosen->backend), files, options, progress, stop);
    // Faults of the files are the same everywhere.
    const bool cardsFault =
        !engine && loaded.onCard && wish.kind == BackendKind::Automatic &&
        (engine.error().code == ErrorCode::OutOfMemory ||
         engine.error().code == ErrorCode::Device || engine.error().code == ErrorCode::Unsupported);
    if (cardsFault) {
        const std::string reason = engine.error().message;
        engine::log(engine::LogLevel::Warning, "the graphics card is not used: " + reason);
        auto processor = processorBackend(wish);
        if (!processor) return processor.error();
        loaded.onCard = false;
        loaded.whyNotCard = reason;
        engine =
            engine::Engine::load(std::move(processor->backend), files, options, progress, stop);
    }
    if (!engine) return engine.error();
    loaded.engine = std::move(*engine);
    return loaded;
}

ComputePlace processorPlace() {
    const engine::MemoryInfo info = engine::memoryInfo();
    ComputePlace place;
    place.memory = {info.freeBytes, info.totalBytes};
    return place;
}

ComputePlace automaticPlace() {
#if defined(GLINT_CUDA)
    const cuda::CardState state = cuda::probeCard();
    if (state.usable && !cardRefused) {
        ComputePlace place;
        place.card = true;
        place.name = state.name;
        place.memory = state.memory;
        return place;
    }
#endif
    return processorPlace();
}

} // namespace app

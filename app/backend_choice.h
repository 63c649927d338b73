#pragma once
// Which backend computes, and the reason in words. No Qt: for the window and for glint-cli. Pure
// functions; any thread.

#include "engine/backend/backend.h"
#include "engine/base/result.h"
#include "engine/runtime/engine.h"

#include <memory>
#include <stop_token>
#include <string>

namespace app {

enum class BackendKind {
    Automatic, // the graphics card if it can be used, else the processor
    Processor,
    Card,
};

struct BackendWish {
    BackendKind kind = BackendKind::Automatic;
    int threads = 0;        // of the processor; 0: as many as it has cores
    bool floatMath = false; // plain float arithmetic: the processor's alone
};

struct ChosenBackend {
    std::unique_ptr<engine::Backend> backend;
    bool onCard = false;
    // Why a card that is there is not used: a phrase without a full stop. Empty when it is used,
    // was not asked for, or there is none.
    std::string whyNotCard;
};

// With Automatic only what the processor cannot do is an error; with Card, what the card cannot.
engine::Result<ChosenBackend> chooseBackend(const BackendWish& wish);

struct LoadedEngine {
    std::unique_ptr<engine::Engine> engine;
    bool onCard = false;
    std::string whyNotCard; // as above
};

// Makes the backend and loads on it. With Automatic, a model that does not fit into the card's
// memory, or that the card fails to load, is loaded on the processor.
engine::Result<LoadedEngine> loadEngine(const BackendWish& wish, const engine::ModelFiles& files,
                                        const engine::EngineOptions& options,
                                        const engine::Engine::LoadSink& progress,
                                        std::stop_token stop);

// A place where models may lie, before a backend exists.
struct ComputePlace {
    bool card = false;
    std::string name; // of the card
    engine::MemoryState memory;
};

ComputePlace processorPlace();
// The card's, where it can be used; else the processor's.
ComputePlace automaticPlace();

} // namespace app

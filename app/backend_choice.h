#pragma once
// Which backend computes, and the reason in words. Pure functions; any thread.

#include "engine/backend/backend.h"
#include "engine/base/result.h"

#include <QString>

#include <memory>

namespace app {

struct BackendWish {
    int threads = 0; // of the processor; 0: as many as it has cores
};

engine::Result<std::unique_ptr<engine::Backend>> makeBackend(const BackendWish& wish);

// Free and total memory of the place where models would lie, before a backend exists.
engine::MemoryState memoryToUse();

// "Everything runs on your processor." Translated: GUI thread.
QString placeSentence();

} // namespace app

#pragma once
// What a card gives at best: the two numbers that every figure of speed is held against.
// Engine thread.

#include "engine/backend/backend.h"

namespace cuda {

class Launcher;

struct Ceilings {
    double readBytesPerSecond = 0; // plain reading of memory far larger than the caches
    double launchGapSeconds = 0;   // from one empty kernel to the next inside a graph
};

// Takes up to 8 GiB while it measures. An error of the card comes back as such.
engine::Result<Ceilings> measureCeilings(engine::Backend& backend, Launcher& launcher);

} // namespace cuda

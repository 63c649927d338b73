#pragma once
// What can be said of the graphics card without making a backend: whether it can be used, and how
// much of its memory is free. Any thread; the first call opens the driver, which takes some tenths
// of a second.

#include "engine/backend/backend.h"

#include <string>

namespace cuda {

struct CardState {
    bool present = false; // there is a card, whether or not it can be used
    bool usable = false;
    std::string name;           // "NVIDIA H200"
    std::string reason;         // why it cannot be used: a phrase without a full stop
    engine::MemoryState memory; // as far as a plan may use it
};

CardState probeCard();

} // namespace cuda

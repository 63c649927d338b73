#pragma once
// What the machine's memory gives, and what this process took at most: the two numbers that a
// benchmark is read against.

#include <cstdint>

namespace engine {
class Backend;
}

namespace app {

struct MemorySpeed {
    double bytesPerSecond = 0;   // read; 0 if it cannot be had
    double launchGapSeconds = 0; // of a card: between two empty kernels; 0 for the processor
};
// What can be read from memory far larger than the caches, taken from the backend as weights are:
// the best of several rounds, since it is a ceiling. On the processor its threads read together.
MemorySpeed memorySpeed(engine::Backend& backend);

// Most memory of this process since the last reset, in bytes; 0 where the system does not tell.
std::int64_t peakMemoryBytes();
// Forgets the peak so far. False where the system cannot.
bool resetPeakMemory();

} // namespace app

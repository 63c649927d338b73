#pragma once
// What the machine's memory gives, and what this process took at most: the two numbers that a
// benchmark is read against.

#include <cstdint>

namespace engine {
class Backend;
}

namespace app {

// Bytes a second that `threads` threads read together from memory far larger than the caches, taken
// from the processor's backend as weights are: the best of several rounds, since it
// is a ceiling. 0 if it cannot be had.
double memoryReadBandwidth(engine::Backend& backend, int threads);

// Most memory of this process since the last reset, in bytes; 0 where the system does not tell.
std::int64_t peakMemoryBytes();
// Forgets the peak so far. False where the system cannot.
bool resetPeakMemory();

} // namespace app

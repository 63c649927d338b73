#pragma once
// The computer's memory, as far as this program may use it. Any thread.

#include <cstdint>

namespace engine {

struct MemoryInfo {
    std::int64_t totalBytes = 0; // physical, or the limit of the container
    std::int64_t freeBytes =
        0; // what may be taken without pushing others out; file caches count as free
};

// Zeros where the system does not tell.
MemoryInfo memoryInfo();

} // namespace engine

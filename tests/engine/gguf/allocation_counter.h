#pragma once
// Counts what the whole test program asks of the allocator: hostile counts must not be turned into
// memory.

#include <atomic>
#include <cstddef>

namespace test {

// Bytes asked for since it was last set to zero; freed bytes do not lower it.
extern std::atomic<std::size_t> allocatedBytes;

} // namespace test

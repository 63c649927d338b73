#pragma once
// Arguments of ceilings.cu.

#include <cstdint>

namespace cuda {

struct ReadAllArgs {
    const std::uint8_t* data = nullptr; // 16-byte aligned
    std::int64_t bytes = 0;             // a multiple of 16
    std::uint32_t* sink = nullptr;      // never written for any likely contents
};

struct EmptyArgs {
    int unused = 0;
};

} // namespace cuda

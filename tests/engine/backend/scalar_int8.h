#pragma once
// The integer product written a second time, as plain loops over the blocks as the file has them,
// from the definition in int8_format.h. It shares no code with the kernels.

#include "engine/quant/quant_types.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace engine::test {

struct ScalarType {
    QuantType type;
    const char* name;
    int blockWeights;
    int blockBytes;
};
const std::vector<ScalarType>& scalarTypes();

// Blocks with random bits and sensible scales.
std::vector<std::byte> randomBlocks(const ScalarType& type, std::int64_t blocks, unsigned seed);

// Weights of one block as w, and sub-scales, minima, d and dmin.
struct ScalarActivations {
    std::vector<int> q;        // whole units of 256
    std::vector<float> dx;     // per 64
    std::vector<int> s32, s16; // block sums
    std::vector<float> ds32, ds16;
};
ScalarActivations scalarQuantize(const float* x, std::int64_t columns);

float scalarDot(const ScalarType& type, const std::byte* row, std::int64_t columns,
                const ScalarActivations& x);

} // namespace engine::test

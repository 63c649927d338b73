// Four-bit weights on a fixed, uneven scale.
#include "engine/quant/block_bytes.h"
#include "engine/quant/families.h"

namespace engine {

namespace {

constexpr float kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};

} // namespace

// d, qs[16]: byte j holds weight j in its low and weight j + 16 in its high nibble.
void decodeIQ4_NL(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t b = 0; b < blockCount; ++b, blocks += 18, out += 32) {
        const float d = halfAt(blocks);
        for (int j = 0; j < 16; ++j) {
            out[j] = d * kLevels[byteAt(blocks, 2 + j) & 15];
            out[j + 16] = d * kLevels[byteAt(blocks, 2 + j) >> 4];
        }
    }
}

// d, scales_h u16, scales_l[4], qs[128]: eight sub-blocks of 32, each with a six-bit scale.
void decodeIQ4_XS(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t b = 0; b < blockCount; ++b, blocks += 136, out += 256) {
        const float d = halfAt(blocks);
        const unsigned scalesHigh = u16At(blocks + 2);
        for (int i = 0; i < 8; ++i) {
            const unsigned low = byteAt(blocks, 4 + i / 2) >> (4 * (i % 2)) & 15;
            const unsigned high = scalesHigh >> (2 * i) & 3;
            const float scale = d * static_cast<float>(static_cast<int>(low | high << 4) - 32);
            const std::byte* const qs = blocks + 8 + 16 * i;
            for (int j = 0; j < 16; ++j) {
                out[32 * i + j] = scale * kLevels[byteAt(qs, j) & 15];
                out[32 * i + j + 16] = scale * kLevels[byteAt(qs, j) >> 4];
            }
        }
    }
}

} // namespace engine

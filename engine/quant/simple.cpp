// Plain numbers, and blocks of 32 weights with one scale.
#include "engine/quant/block_bytes.h"
#include "engine/quant/families.h"

#include <bit>

namespace engine {

void decodeF32(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t i = 0; i < blockCount; ++i)
        out[i] = std::bit_cast<float>(u32At(blocks + 4 * i));
}

void decodeF16(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t i = 0; i < blockCount; ++i) out[i] = halfAt(blocks + 2 * i);
}

void decodeBF16(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t i = 0; i < blockCount; ++i) out[i] = bfloatToFloat(u16At(blocks + 2 * i));
}

// d, qs[16]: byte j holds weight j in its low and weight j + 16 in its high nibble.
void decodeQ4_0(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t b = 0; b < blockCount; ++b, blocks += 18, out += 32) {
        const float d = halfAt(blocks);
        const std::byte* const qs = blocks + 2;
        for (int j = 0; j < 16; ++j) {
            out[j] = d * static_cast<float>(static_cast<int>(byteAt(qs, j) & 15) - 8);
            out[j + 16] = d * static_cast<float>(static_cast<int>(byteAt(qs, j) >> 4) - 8);
        }
    }
}

// d, m, qs[16]
void decodeQ4_1(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t b = 0; b < blockCount; ++b, blocks += 20, out += 32) {
        const float d = halfAt(blocks);
        const float m = halfAt(blocks + 2);
        const std::byte* const qs = blocks + 4;
        for (int j = 0; j < 16; ++j) {
            out[j] = d * static_cast<float>(byteAt(qs, j) & 15) + m;
            out[j + 16] = d * static_cast<float>(byteAt(qs, j) >> 4) + m;
        }
    }
}

// d, qh, qs[16]: bit j of qh is the fifth bit of weight j.
void decodeQ5_0(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t b = 0; b < blockCount; ++b, blocks += 22, out += 32) {
        const float d = halfAt(blocks);
        const std::uint32_t qh = u32At(blocks + 2);
        const std::byte* const qs = blocks + 6;
        for (int j = 0; j < 16; ++j) {
            const unsigned low = (byteAt(qs, j) & 15) | (qh >> j & 1) << 4;
            const unsigned high = byteAt(qs, j) >> 4 | (qh >> (j + 16) & 1) << 4;
            out[j] = d * static_cast<float>(static_cast<int>(low) - 16);
            out[j + 16] = d * static_cast<float>(static_cast<int>(high) - 16);
        }
    }
}

// d, m, qh, qs[16]
void decodeQ5_1(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t b = 0; b < blockCount; ++b, blocks += 24, out += 32) {
        const float d = halfAt(blocks);
        const float m = halfAt(blocks + 2);
        const std::uint32_t qh = u32At(blocks + 4);
        const std::byte* const qs = blocks + 8;
        for (int j = 0; j < 16; ++j) {
            out[j] = d * static_cast<float>((byteAt(qs, j) & 15) | (qh >> j & 1) << 4) + m;
            out[j + 16] =
                d * static_cast<float>(byteAt(qs, j) >> 4 | (qh >> (j + 16) & 1) << 4) + m;
        }
    }
}

// d, i8[32]
void decodeQ8_0(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t b = 0; b < blockCount; ++b, blocks += 34, out += 32) {
        const float d = halfAt(blocks);
        for (int j = 0; j < 32; ++j) out[j] = d * static_cast<float>(signedByteAt(blocks, 2 + j));
    }
}

} // namespace engine

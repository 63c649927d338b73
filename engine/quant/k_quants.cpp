// Super-blocks of 256 weights: sub-blocks with small integer scales under one or two half floats.
#include "engine/quant/block_bytes.h"
#include "engine/quant/families.h"

namespace engine {

namespace {

struct ScaleMin {
    unsigned scale = 0;
    unsigned min = 0;
};

// Six-bit scale and minimum of sub-block j (0..7) from the 12 bytes that Q4_K and Q5_K share.
ScaleMin scaleMin(const std::byte* c, int j) {
    if (j < 4) return {byteAt(c, j) & 63, byteAt(c, j + 4) & 63};
    return {(byteAt(c, j + 4) & 15) | (byteAt(c, j - 4) >> 6) << 4,
            byteAt(c, j + 4) >> 4 | (byteAt(c, j) >> 6) << 4};
}

} // namespace

// scales[16], qs[64], d, dmin. Two halves of 128; in a half, four shifts of the same 32 bytes give
// four runs of 32 weights. One scale byte per 16 weights: scale in the low, minimum in the high
// nibble.
void decodeQ2_K(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t b = 0; b < blockCount; ++b, blocks += 84, out += 256) {
        const std::byte* const scales = blocks;
        const std::byte* const qs = blocks + 16;
        const float d = halfAt(blocks + 80);
        const float dmin = halfAt(blocks + 82);
        for (int i = 0; i < 256; ++i) {
            const int half = i / 128;
            const int shift = 2 * (i % 128 / 32);
            const unsigned q = byteAt(qs, 32 * half + i % 32) >> shift & 3;
            const unsigned s = byteAt(scales, i / 16);
            out[i] = d * static_cast<float>(s & 15) * static_cast<float>(q) -
                     dmin * static_cast<float>(s >> 4);
        }
    }
}

// hmask[32], qs[64], scales[12], d. The low two bits lie as in Q2_K; the third bit of run r (32
// weights) is bit r of hmask. Sixteen six-bit scales: bytes 0..7 hold the low four bits, 8..11 the
// upper two.
void decodeQ3_K(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t b = 0; b < blockCount; ++b, blocks += 110, out += 256) {
        const std::byte* const hmask = blocks;
        const std::byte* const qs = blocks + 32;
        const std::byte* const packed = blocks + 96;
        const float d = halfAt(blocks + 108);
        for (int i = 0; i < 256; ++i) {
            const int half = i / 128;
            const int run = i / 32;
            const int j = i / 16;
            const unsigned low4 = j < 8 ? byteAt(packed, j) & 15 : byteAt(packed, j - 8) >> 4;
            const unsigned high2 = byteAt(packed, 8 + j % 4) >> (2 * (j / 4)) & 3;
            const int scale = static_cast<int>(low4 | high2 << 4) - 32;
            const unsigned low = byteAt(qs, 32 * half + i % 32) >> (2 * (run % 4)) & 3;
            const unsigned third = byteAt(hmask, i % 32) >> run & 1;
            const int q = static_cast<int>(low | third << 2) - 4;
            out[i] = d * static_cast<float>(scale) * static_cast<float>(q);
        }
    }
}

// d, dmin, scales[12], qs[128]. Each 32 bytes of qs hold two sub-blocks: low nibbles the even one.
void decodeQ4_K(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t b = 0; b < blockCount; ++b, blocks += 144, out += 256) {
        const float d = halfAt(blocks);
        const float dmin = halfAt(blocks + 2);
        const std::byte* const qs = blocks + 16;
        for (int j = 0; j < 8; ++j) {
            const ScaleMin sm = scaleMin(blocks + 4, j);
            const float scale = d * static_cast<float>(sm.scale);
            const float min = dmin * static_cast<float>(sm.min);
            for (int l = 0; l < 32; ++l) {
                const unsigned q = byteAt(qs, 32 * (j / 2) + l) >> (4 * (j % 2)) & 15;
                out[32 * j + l] = scale * static_cast<float>(q) - min;
            }
        }
    }
}

// d, dmin, scales[12], qh[32], qs[128]. As Q4_K; bit j of qh[l] is the fifth bit of weight l in
// sub-block j.
void decodeQ5_K(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t b = 0; b < blockCount; ++b, blocks += 176, out += 256) {
        const float d = halfAt(blocks);
        const float dmin = halfAt(blocks + 2);
        const std::byte* const qh = blocks + 16;
        const std::byte* const qs = blocks + 48;
        for (int j = 0; j < 8; ++j) {
            const ScaleMin sm = scaleMin(blocks + 4, j);
            const float scale = d * static_cast<float>(sm.scale);
            const float min = dmin * static_cast<float>(sm.min);
            for (int l = 0; l < 32; ++l) {
                const unsigned low = byteAt(qs, 32 * (j / 2) + l) >> (4 * (j % 2)) & 15;
                const unsigned q = low | (byteAt(qh, l) >> j & 1) << 4;
                out[32 * j + l] = scale * static_cast<float>(q) - min;
            }
        }
    }
}

// ql[128], qh[64], scales i8[16], d. Two halves of 128 weights; run r (32 weights) of a half takes
// its low bits from ql[32 * (r % 2) ..] (low nibbles for r < 2) and its upper two bits from qh at
// shift 2r.
void decodeQ6_K(const std::byte* blocks, std::int64_t blockCount, float* out) {
    for (std::int64_t b = 0; b < blockCount; ++b, blocks += 210, out += 256) {
        const float d = halfAt(blocks + 208);
        for (int i = 0; i < 256; ++i) {
            const int half = i / 128;
            const int run = i % 128 / 32;
            const int l = i % 32;
            const unsigned low =
                byteAt(blocks, 64 * half + 32 * (run % 2) + l) >> (4 * (run / 2)) & 15;
            const unsigned high = byteAt(blocks, 128 + 32 * half + l) >> (2 * run) & 3;
            const int q = static_cast<int>(low | high << 4) - 32;
            const int scale = signedByteAt(blocks, 192 + i / 16);
            out[i] = d * static_cast<float>(scale) * static_cast<float>(q);
        }
    }
}

} // namespace engine

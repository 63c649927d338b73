#pragma once
// Reading units of quantised weights as operands of the int8 MMAs, one UnitReader for each type.
// Layouts: cuda/unit_layout.h.
//
// UnitReader<T>(unit, lane): reads a unit of type T, which lies in shared or global memory, aligned
// to 16 bytes, and hands out
//   kKind, kSigned
//   weights(s, a): a[j][r] = operand words (r, j) of group s
//   Sub32:  scales(s, sc): sc[block of 32][r];  Sub16: sc[j][r];  both d(r): the factor of t
//           with sums: minima(r), minusMin(r)
//   Blocks: d(block, r), kBehind: the factor that v still needs; with sums: m(block, r)
// All are indexed by constants once loops are unrolled.
//
// Exact shortcuts. Operands may be a power of two too large when that saves shifts, for it comes
// out again without rounding: integer sums stay below 2^31 and floats keep their digits. Signed
// weights lie in the upper bits of a byte with the sign flipped in the layout, so that no offset is
// left to subtract. The scaled floats overflow 64 times earlier than plain ones: |x| up to 1e30 is
// safe.

#include "cuda/kernels/common.cuh"
#include "cuda/unit_layout.h"

#include <cstdint>

namespace cuda {

// Byte n of the result is the byte of {b, a} that selector nibble n names; nibble + 8: its sign.
__device__ __forceinline__ std::uint32_t selectBytes(std::uint32_t a, std::uint32_t b,
                                                     std::uint32_t selector) {
    std::uint32_t r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(selector));
    return r;
}

// Byte n of the word, with its sign.
__device__ __forceinline__ int signedByte(std::uint32_t word, int n) {
    return static_cast<int>(selectBytes(word, word, 0x8880u + 0x1111u * static_cast<unsigned>(n)));
}

// 16 bytes, one of their words, and the two half floats of a word.
__device__ __forceinline__ uint4 quad(const std::uint8_t* p) {
    return *reinterpret_cast<const uint4*>(p);
}
__device__ __forceinline__ std::uint32_t word(const uint4& q, int i) {
    return i == 0 ? q.x : i == 1 ? q.y : i == 2 ? q.z : q.w;
}
__device__ __forceinline__ float2 halfPair(std::uint32_t bits) {
    return __half22float2(*reinterpret_cast<const __half2*>(&bits));
}

// Where a lane finds its part of a plane, in bytes. Comes from the lane's number by itself.
struct UnitLane {
    std::uint32_t quads;   // 16 lane
    std::uint32_t rows;    // 16 g
    std::uint32_t nibbles; // 4 (lane % 2), in bits

    __device__ __forceinline__ UnitLane(int lane)
        : quads(16 * lane), rows(16 * (lane >> 2)), nibbles(4 * (lane & 1)) {}
};

// Plane "row halves": d of rows g and g + 8.
__device__ __forceinline__ float2 rowHalves(const std::uint8_t* p, const UnitLane& lane) {
    return halfPair(*reinterpret_cast<const std::uint32_t*>(p + lane.rows / 4));
}

// Plane of 512 s + 16 lane.
struct FourQuads {
    uint4 m_q[4];
    __device__ __forceinline__ FourQuads(const std::uint8_t* p, const UnitLane& lane) {
#pragma unroll
        for (int s = 0; s < 4; ++s) m_q[s] = quad(p + 512 * s + lane.quads);
    }
    __device__ __forceinline__ std::uint32_t at(int s, int i) const {
        return word(m_q[s], i);
    }
};

// Plane "pairs": word (s, r) holds four words (r, j).
struct TwoQuads {
    uint4 m_q[2];
    __device__ __forceinline__ TwoQuads(const std::uint8_t* p, const UnitLane& lane) {
#pragma unroll
        for (int s = 0; s < 2; ++s) m_q[s] = quad(p + 512 * s + lane.quads);
    }
    __device__ __forceinline__ std::uint32_t at(int s, int r) const {
        return word(m_q[s >> 1], 2 * (s & 1) + r);
    }
};

// x moved by `left` bits, to the right when it is negative.
__device__ __forceinline__ std::uint32_t moved(std::uint32_t x, int left) {
    return left >= 0 ? x << left : x >> -left;
}

// Plane "fifth": the extra bit of word (r, j) of group s, moved to bit `to` of its byte.
__device__ __forceinline__ std::uint32_t fifthBit(const uint4& plane, int s, int r, int j, int to) {
    const int from = j < 2 ? 4 + 2 * j + r : 3 - (2 * (j - 2) + r);
    return moved(word(plane, s), to - from) & (0x01010101u << to);
}

// Scales and minima of Q4_K and Q5_K.
struct PackedScales {
    std::uint32_t m_even[2], m_evenTop[2], m_odd[2]; // [r]
    uint4 m_low, m_top;
    __device__ __forceinline__ PackedScales(const std::uint8_t* p, const UnitLane& lane) {
        m_low = quad(p + lane.rows);
        m_top = quad(p + 128 + lane.rows);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const std::uint32_t low = word(m_low, r), top = m_top.x >> (2 * r);
            m_even[r] = low & 0xf0f0f0f0u;
            m_evenTop[r] = top & 0x03030303u;
            m_odd[r] = (low & 0x0f0f0f0fu) | (top & 0x30303030u);
        }
    }
    // 16 * sc[2 s], from a byte with the low four bits on top and one with the upper two.
    __device__ __forceinline__ int even16(int s, int r) const {
        return static_cast<int>(
            selectBytes(m_even[r], m_evenTop[r], 0xcc40u + 0x1111u * static_cast<unsigned>(s)));
    }
    __device__ __forceinline__ int odd(int s, int r) const {
        return signedByte(m_odd[r], s);
    }
    // Operand A of the minima: blocks 4 t .. 4 t + 3 of row g + 8 r. Lanes t = 2, 3 repeat them,
    // for they meet zeros.
    __device__ __forceinline__ std::uint32_t minima(int r, const UnitLane& lane) const {
        const std::uint32_t shift = lane.nibbles;
        return ((word(m_low, 2 + r) >> shift) & 0x0f0f0f0fu) |
               (((m_top.y >> shift) << (4 - 2 * r)) & 0x30303030u);
    }
    __device__ __forceinline__ float2 dAndMin(int r) const {
        return halfPair(word(m_top, 2 + r));
    }
};

// Plane "scales16".
struct ByteScales {
    uint4 m_q[2];
    __device__ __forceinline__ ByteScales(const std::uint8_t* p, const UnitLane& lane) {
#pragma unroll
        for (int r = 0; r < 2; ++r) m_q[r] = quad(p + 128 * r + lane.rows);
    }
    __device__ __forceinline__ std::uint32_t ofGroup(int s, int r) const {
        return word(m_q[r], s);
    }
    __device__ __forceinline__ void read(int s, int (&sc)[4][2]) const {
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int r = 0; r < 2; ++r) sc[j][r] = signedByte(ofGroup(s, r), j);
    }
};

enum class UnitKind {
    Sub32,  // integer scales of 32 under one float
    Sub16,  // integer scales of 16 under one float
    Blocks, // a float scale of 32
};

template<QuantType T> struct UnitReader;

template<> struct UnitReader<QuantType::Q4_K> {
    static constexpr UnitKind kKind = UnitKind::Sub32;
    static constexpr bool kSigned = false;
    FourQuads m_nibbles;
    PackedScales m_scales;
    UnitLane m_lane;
    __device__ __forceinline__ UnitReader(const std::uint8_t* unit, const UnitLane& lane)
        : m_nibbles(unit, lane), m_scales(unit + 2048, lane), m_lane(lane) {}
    __device__ __forceinline__ void weights(int s, std::uint32_t (&a)[4][2]) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            a[i >> 1][i & 1] = m_nibbles.at(s, i) & 0x0f0f0f0fu;
            a[2 + (i >> 1)][i & 1] = m_nibbles.at(s, i) & 0xf0f0f0f0u; // 16 w
        }
    }
    __device__ __forceinline__ void scales(int s, int (&sc)[2][2]) const {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            sc[0][r] = m_scales.even16(s, r);
            sc[1][r] = m_scales.odd(s, r);
        }
    }
    __device__ __forceinline__ float d(int r) const {
        return m_scales.dAndMin(r).x * 0.0625f;
    }
    __device__ __forceinline__ std::uint32_t minima(int r) const {
        return m_scales.minima(r, m_lane);
    }
    __device__ __forceinline__ float minusMin(int r) const {
        return -m_scales.dAndMin(r).y;
    }
};

template<> struct UnitReader<QuantType::Q6_K> {
    static constexpr UnitKind kKind = UnitKind::Sub16;
    static constexpr bool kSigned = true;
    FourQuads m_high;
    TwoQuads m_low;
    ByteScales m_scales;
    float2 m_d;
    __device__ __forceinline__ UnitReader(const std::uint8_t* unit, const UnitLane& lane)
        : m_high(unit, lane), m_low(unit + 2048, lane), m_scales(unit + 3072, lane),
          m_d(rowHalves(unit + 3328, lane)) {}
    // 4 (w - 32): four bits on top, two below.
    __device__ __forceinline__ void weights(int s, std::uint32_t (&a)[4][2]) const {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const std::uint32_t low = m_low.at(s, r);
#pragma unroll
            for (int jj = 0; jj < 2; ++jj) {
                const std::uint32_t high = m_high.at(s, 2 * jj + r);
                a[2 * jj][r] = (high & 0xf0f0f0f0u) | ((low >> (4 * jj)) & 0x0c0c0c0cu);
                a[2 * jj + 1][r] =
                    ((high << 4) & 0xf0f0f0f0u) | (moved(low, 4 * jj - 2) & 0x0c0c0c0cu);
            }
        }
    }
    __device__ __forceinline__ void scales(int s, int (&sc)[4][2]) const {
        m_scales.read(s, sc);
    }
    __device__ __forceinline__ float d(int r) const {
        return (r ? m_d.y : m_d.x) * 0.25f;
    }
};

template<> struct UnitReader<QuantType::Q5_K> {
    static constexpr UnitKind kKind = UnitKind::Sub32;
    static constexpr bool kSigned = false;
    FourQuads m_nibbles;
    uint4 m_fifth;
    PackedScales m_scales;
    UnitLane m_lane;
    __device__ __forceinline__ UnitReader(const std::uint8_t* unit, const UnitLane& lane)
        : m_nibbles(unit, lane), m_fifth(quad(unit + 2048 + lane.quads)),
          m_scales(unit + 2560, lane), m_lane(lane) {}
    __device__ __forceinline__ void weights(int s, std::uint32_t (&a)[4][2]) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int r = i & 1, j = i >> 1;
            const std::uint32_t nibbles = m_nibbles.at(s, i);
            a[j][r] = (nibbles & 0x0f0f0f0fu) | fifthBit(m_fifth, s, r, j, 4);
            a[2 + j][r] = (nibbles & 0xf0f0f0f0u) | fifthBit(m_fifth, s, r, 2 + j, 3); // 8 w
        }
    }
    __device__ __forceinline__ void scales(int s, int (&sc)[2][2]) const {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            sc[0][r] = m_scales.even16(s, r) >> 1;
            sc[1][r] = m_scales.odd(s, r);
        }
    }
    __device__ __forceinline__ float d(int r) const {
        return m_scales.dAndMin(r).x * 0.125f;
    }
    __device__ __forceinline__ std::uint32_t minima(int r) const {
        return m_scales.minima(r, m_lane);
    }
    __device__ __forceinline__ float minusMin(int r) const {
        return -m_scales.dAndMin(r).y;
    }
};

template<> struct UnitReader<QuantType::Q2_K> {
    static constexpr UnitKind kKind = UnitKind::Sub16;
    static constexpr bool kSigned = false;
    TwoQuads m_pairs;
    ByteScales m_scales;
    std::uint32_t m_minima[2];
    float2 m_d[2];
    __device__ __forceinline__ UnitReader(const std::uint8_t* unit, const UnitLane& lane)
        : m_pairs(unit, lane), m_scales(unit + 1024, lane) {
        const uint2 d = *reinterpret_cast<const uint2*>(unit + 1280 + lane.rows / 2);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const std::uint8_t* const p = unit + 1024 + 128 * r + lane.rows + (lane.quads / 4 & 12);
            m_minima[r] = *reinterpret_cast<const std::uint32_t*>(p) >> 4 & 0x0f0f0f0fu;
            m_d[r] = halfPair(r ? d.y : d.x);
        }
    }
    // 4^j w, and 4^(3 - j) times the scale.
    __device__ __forceinline__ void weights(int s, std::uint32_t (&a)[4][2]) const {
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int r = 0; r < 2; ++r) a[j][r] = m_pairs.at(s, r) & (0x03030303u << (2 * j));
    }
    __device__ __forceinline__ void scales(int s, int (&sc)[4][2]) const {
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int r = 0; r < 2; ++r)
                sc[j][r] = static_cast<int>(moved(m_scales.ofGroup(s, r), 6 - 2 * j - 8 * j) &
                                            (0x0fu << (6 - 2 * j)));
    }
    __device__ __forceinline__ float d(int r) const {
        return m_d[r].x * 0.015625f;
    }
    __device__ __forceinline__ std::uint32_t minima(int r) const {
        return m_minima[r];
    }
    __device__ __forceinline__ float minusMin(int r) const {
        return -m_d[r].y;
    }
};

template<> struct UnitReader<QuantType::Q3_K> {
    static constexpr UnitKind kKind = UnitKind::Sub16;
    static constexpr bool kSigned = true;
    TwoQuads m_pairs;
    uint4 m_low;
    ByteScales m_scales;
    float2 m_d;
    __device__ __forceinline__ UnitReader(const std::uint8_t* unit, const UnitLane& lane)
        : m_pairs(unit, lane), m_low(quad(unit + 1024 + lane.quads)), m_scales(unit + 1536, lane),
          m_d(rowHalves(unit + 1792, lane)) {}
    // 32 (w - 4): two bits on top, one below.
    __device__ __forceinline__ void weights(int s, std::uint32_t (&a)[4][2]) const {
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int r = 0; r < 2; ++r)
                a[j][r] = ((m_pairs.at(s, r) << (2 * j)) & 0xc0c0c0c0u) |
                          (moved(word(m_low, s), 5 - (4 * r + j)) & 0x20202020u);
    }
    __device__ __forceinline__ void scales(int s, int (&sc)[4][2]) const {
        m_scales.read(s, sc);
    }
    __device__ __forceinline__ float d(int r) const {
        return (r ? m_d.y : m_d.x) * 0.03125f;
    }
};

// Levels of the eight nibbles of a "sequence" word: the uneven scale of IQ4_NL and IQ4_XS.
__device__ __forceinline__ void levels(std::uint32_t nibbles, std::uint32_t& first,
                                       std::uint32_t& second) {
    constexpr std::uint32_t table0 = 0xbfad9881u; // -127, -104, -83, -65 as bytes
    constexpr std::uint32_t table1 = 0xf6eaddcfu; // -49, -35, -22, -10
    constexpr std::uint32_t table2 = 0x26190d01u; // 1, 13, 25, 38
    constexpr std::uint32_t table3 = 0x71594535u; // 53, 69, 89, 113
    const std::uint32_t index = nibbles & 0x77777777u;
    // Selector nibble n is byte n of the lower half of the table, or byte n of its upper half.
    const std::uint32_t half = 0x32103210u | ((nibbles & 0x88888888u) >> 1);
    first =
        selectBytes(selectBytes(table0, table1, index), selectBytes(table2, table3, index), half);
    second = selectBytes(selectBytes(table0, table1, index >> 16),
                         selectBytes(table2, table3, index >> 16), half >> 16);
}

__device__ __forceinline__ void levelWeights(const FourQuads& sequence, int s,
                                             std::uint32_t (&a)[4][2]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) levels(sequence.at(s, i), a[i >> 1][i & 1], a[2 + (i >> 1)][i & 1]);
}

template<> struct UnitReader<QuantType::IQ4_XS> {
    static constexpr UnitKind kKind = UnitKind::Sub32;
    static constexpr bool kSigned = true;
    FourQuads m_sequence;
    uint4 m_scales; // eight bytes of row g, eight of row g + 8
    float2 m_d;
    __device__ __forceinline__ UnitReader(const std::uint8_t* unit, const UnitLane& lane)
        : m_sequence(unit, lane), m_scales(quad(unit + 2048 + lane.rows)),
          m_d(rowHalves(unit + 2176, lane)) {}
    __device__ __forceinline__ void weights(int s, std::uint32_t (&a)[4][2]) const {
        levelWeights(m_sequence, s, a);
    }
    __device__ __forceinline__ void scales(int s, int (&sc)[2][2]) const {
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
            for (int r = 0; r < 2; ++r)
                sc[h][r] = signedByte(word(m_scales, 2 * r + (s >> 1)), 2 * (s & 1) + h);
    }
    __device__ __forceinline__ float d(int r) const {
        return r ? m_d.y : m_d.x;
    }
};

// Plane "halves".
struct BlockHalves {
    uint4 m_q[2];
    __device__ __forceinline__ BlockHalves(const std::uint8_t* p, const UnitLane& lane) {
#pragma unroll
        for (int i = 0; i < 2; ++i) m_q[i] = quad(p + 128 * i + lane.rows);
    }
    __device__ __forceinline__ float at(int block, int r) const {
        const float2 both = halfPair(word(m_q[block >> 2], block & 3));
        return r ? both.y : both.x;
    }
};

template<> struct UnitReader<QuantType::Q4_0> {
    static constexpr UnitKind kKind = UnitKind::Blocks;
    static constexpr bool kSigned = true;
    static constexpr float kBehind = 0.0625f; // the weights are 16 (w - 8)
    FourQuads m_nibbles;
    BlockHalves m_d;
    __device__ __forceinline__ UnitReader(const std::uint8_t* unit, const UnitLane& lane)
        : m_nibbles(unit, lane), m_d(unit + 2048, lane) {}
    __device__ __forceinline__ void weights(int s, std::uint32_t (&a)[4][2]) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            a[i >> 1][i & 1] = (m_nibbles.at(s, i) << 4) & 0xf0f0f0f0u;
            a[2 + (i >> 1)][i & 1] = m_nibbles.at(s, i) & 0xf0f0f0f0u;
        }
    }
    __device__ __forceinline__ float d(int block, int r) const {
        return m_d.at(block, r);
    }
};

template<> struct UnitReader<QuantType::Q4_1> {
    static constexpr UnitKind kKind = UnitKind::Blocks;
    static constexpr bool kSigned = false;
    static constexpr float kBehind = 1.0f;
    FourQuads m_nibbles;
    BlockHalves m_d, m_m;
    __device__ __forceinline__ UnitReader(const std::uint8_t* unit, const UnitLane& lane)
        : m_nibbles(unit, lane), m_d(unit + 2048, lane), m_m(unit + 2304, lane) {}
    __device__ __forceinline__ void weights(int s, std::uint32_t (&a)[4][2]) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            a[i >> 1][i & 1] = m_nibbles.at(s, i) & 0x0f0f0f0fu;
            a[2 + (i >> 1)][i & 1] = (m_nibbles.at(s, i) >> 4) & 0x0f0f0f0fu;
        }
    }
    __device__ __forceinline__ float d(int block, int r) const {
        return m_d.at(block, r);
    }
    __device__ __forceinline__ float m(int block, int r) const {
        return m_m.at(block, r);
    }
};

template<> struct UnitReader<QuantType::Q5_0> {
    static constexpr UnitKind kKind = UnitKind::Blocks;
    static constexpr bool kSigned = true;
    static constexpr float kBehind = 0.125f; // the weights are 8 (w - 16)
    FourQuads m_nibbles;
    uint4 m_fifth;
    BlockHalves m_d;
    __device__ __forceinline__ UnitReader(const std::uint8_t* unit, const UnitLane& lane)
        : m_nibbles(unit, lane), m_fifth(quad(unit + 2048 + lane.quads)), m_d(unit + 2560, lane) {}
    __device__ __forceinline__ void weights(int s, std::uint32_t (&a)[4][2]) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int r = i & 1, j = i >> 1;
            const std::uint32_t nibbles = m_nibbles.at(s, i);
            a[j][r] = ((nibbles << 4) & 0xf0f0f0f0u) | fifthBit(m_fifth, s, r, j, 3);
            a[2 + j][r] = (nibbles & 0xf0f0f0f0u) | fifthBit(m_fifth, s, r, 2 + j, 3);
        }
    }
    __device__ __forceinline__ float d(int block, int r) const {
        return m_d.at(block, r);
    }
};

template<> struct UnitReader<QuantType::Q5_1> {
    static constexpr UnitKind kKind = UnitKind::Blocks;
    static constexpr bool kSigned = false;
    static constexpr float kBehind = 1.0f;
    FourQuads m_nibbles;
    uint4 m_fifth;
    BlockHalves m_d, m_m;
    __device__ __forceinline__ UnitReader(const std::uint8_t* unit, const UnitLane& lane)
        : m_nibbles(unit, lane), m_fifth(quad(unit + 2048 + lane.quads)), m_d(unit + 2560, lane),
          m_m(unit + 2816, lane) {}
    __device__ __forceinline__ void weights(int s, std::uint32_t (&a)[4][2]) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int r = i & 1, j = i >> 1;
            const std::uint32_t nibbles = m_nibbles.at(s, i);
            a[j][r] = (nibbles & 0x0f0f0f0fu) | fifthBit(m_fifth, s, r, j, 4);
            a[2 + j][r] = ((nibbles >> 4) & 0x0f0f0f0fu) | fifthBit(m_fifth, s, r, 2 + j, 4);
        }
    }
    __device__ __forceinline__ float d(int block, int r) const {
        return m_d.at(block, r);
    }
    __device__ __forceinline__ float m(int block, int r) const {
        return m_m.at(block, r);
    }
};

template<> struct UnitReader<QuantType::Q8_0> {
    static constexpr UnitKind kKind = UnitKind::Blocks;
    static constexpr bool kSigned = true;
    static constexpr float kBehind = 1.0f;
    const std::uint8_t* m_bytes;
    BlockHalves m_d;
    __device__ __forceinline__ UnitReader(const std::uint8_t* unit, const UnitLane& lane)
        : m_bytes(unit + lane.quads), m_d(unit + 4096, lane) {}
    __device__ __forceinline__ void weights(int s, std::uint32_t (&a)[4][2]) const {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const uint4 q = quad(m_bytes + 1024 * s + 512 * h);
#pragma unroll
            for (int i = 0; i < 4; ++i) a[2 * h + (i >> 1)][i & 1] = word(q, i);
        }
    }
    __device__ __forceinline__ float d(int block, int r) const {
        return m_d.at(block, r);
    }
};

template<> struct UnitReader<QuantType::IQ4_NL> {
    static constexpr UnitKind kKind = UnitKind::Blocks;
    static constexpr bool kSigned = true;
    static constexpr float kBehind = 1.0f;
    FourQuads m_sequence;
    BlockHalves m_d;
    __device__ __forceinline__ UnitReader(const std::uint8_t* unit, const UnitLane& lane)
        : m_sequence(unit, lane), m_d(unit + 2048, lane) {}
    __device__ __forceinline__ void weights(int s, std::uint32_t (&a)[4][2]) const {
        levelWeights(m_sequence, s, a);
    }
    __device__ __forceinline__ float d(int block, int r) const { return m_d.at(block, r); }
};

} // namespace cuda

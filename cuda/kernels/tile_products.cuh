#pragma once
// Products of units of weights with a row of tiles of activations that lie in shared memory, for
// warps that do this again and again. The values are those of unitProduct (unit_product.cuh), bit
// for bit; fragment coordinates as there.
//
// addUnits<T>(sum, units, tiles, lane): sum[r][c] += v of the r-th of the units, which lie one
// behind the other in shared memory, and tile c. What is read of a tile serves all units, what is
// unpacked of a unit serves all tiles.
//
// The main types take the groups of 64 in a loop that is not unrolled, so that the instructions of
// the whole stay few enough to be fetched in time. t starts at -0, and the first fma gives the
// product's bits, of zeros too.
//
// Six-bit weights with scales of 16 (Q6_K): the products of weight and scale take 14 bits with
// their sign, so they are made once per weight, as a signed upper and an unsigned lower byte, and
// the tensor cores add up 64 of either; 256 * upper + lower is the integer that int8_format.h
// names, for a quarter of the integer multiply-adds of the straight way.

#include "cuda/kernels/unit_product.cuh"

namespace cuda {

// ---- what is read of a tile

// For one group: the lane's fragment, and dx of activation rows 2 t + i.
struct TileGroup {
    uint4 m_b;
    float m_dx[2];
    __device__ __forceinline__ TileGroup(const ActivationTile& tile, int s, int lane)
        : m_b(*reinterpret_cast<const uint4*>(tile.q[s][lane])) {
#pragma unroll
        for (int i = 0; i < 2; ++i) m_dx[i] = tile.dx[2 * (lane & 3) + i][s];
    }
    // t += dx * sum
    __device__ __forceinline__ void add(float (&t)[4], const int (&sum)[4]) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) t[i] = __fmaf_rn(m_dx[i & 1], __int2float_rn(sum[i]), t[i]);
    }
};

// Scaled sums of 32 or 16, for the minima.
template<QuantType T> struct TileSums {
    static constexpr bool kOf16 = kBlockSums<T> == BlockSums::Scaled16;
    std::uint32_t m_high, m_low;
    float2 m_ds;
    __device__ __forceinline__ TileSums(const ActivationTile& tile, int lane)
        : m_high(word(kOf16 ? tile.high16[lane] : tile.high32[lane])),
          m_low(word(kOf16 ? tile.low16[lane] : tile.low32[lane])),
          m_ds(*reinterpret_cast<const float2*>((kOf16 ? tile.ds16 : tile.ds32) + 2 * (lane & 3))) {
    }
    // v += -dmin * (ds * sum of m * S)
    __device__ __forceinline__ void subtract(float (&v)[4], const std::uint32_t (&minima)[2],
                                             const float (&minusMin)[2]) const {
        int high[4], low[4];
        mmaBytes16<false>(high, minima[0], minima[1], m_high);
        mmaBytes16<false>(low, minima[0], minima[1], m_low);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float f = __int2float_rn(high[i] * 128 + low[i]);
            v[i] = __fmaf_rn(minusMin[i >> 1], __fmul_rn(i & 1 ? m_ds.y : m_ds.x, f), v[i]);
        }
    }

private:
    static __device__ __forceinline__ std::uint32_t word(const std::int8_t* bytes) {
        return *reinterpret_cast<const std::uint32_t*>(bytes);
    }
};

// ---- a group of a unit: prepared once, then multiplied with many tiles

template<bool kSigned>
__device__ __forceinline__ void dot32Add(int (&p)[4], const std::uint32_t (&a)[4][2], int j,
                                         std::uint32_t b0, std::uint32_t b1) {
    const std::uint32_t operand[4] = {a[j][0], a[j][1], a[j + 1][0], a[j + 1][1]};
    mmaBytes32Add<kSigned>(p, operand, b0, b1);
}

// Scales of 32.
template<bool kSigned> struct Group32 {
    std::uint32_t m_a[4][2];
    int m_scales[2][2];
    __device__ __forceinline__ void multiply(float (&t)[4], const TileGroup& x) const {
        int p[4], q[4], sum[4];
        dot32<kSigned>(p, m_a, 0, x.m_b.x, x.m_b.y);
        dot32<kSigned>(q, m_a, 2, x.m_b.z, x.m_b.w);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            sum[i] = p[i] * m_scales[0][i >> 1] + q[i] * m_scales[1][i >> 1];
        x.add(t, sum);
    }
};

// Scales of 16.
template<bool kSigned> struct Group16 {
    std::uint32_t m_a[4][2];
    int m_scales[4][2];
    __device__ __forceinline__ void multiply(float (&t)[4], const TileGroup& x) const {
        int sum[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            int p[4];
            mmaBytes16<kSigned>(p, m_a[j][0], m_a[j][1], word(x.m_b, j));
#pragma unroll
            for (int i = 0; i < 4; ++i) sum[i] = (j == 0 ? 0 : sum[i]) + p[i] * m_scales[j][i >> 1];
        }
        x.add(t, sum);
    }
};

// Products of weight and scale in two bytes.
struct GroupOfProducts {
    std::uint32_t m_upper[4][2], m_lower[4][2];

    // bytes: 4 w of word (r, j). They are multiplied two at a time, in halves of a word: 4 (w - 32)
    // sc + 32768 lies within 16384 .. 49152 and stays in its half.
    __device__ __forceinline__ void prepare(int j, int r, std::uint32_t bytes,
                                            std::uint32_t scale) {
        const std::uint32_t offset = 0x80008000u - scale * 0x00800080u;
        const std::uint32_t even = (bytes & 0x00ff00ffu) * scale + offset;
        const std::uint32_t odd = selectBytes(bytes, 0, 0x4341) * scale + offset;
        m_lower[j][r] = selectBytes(even, odd, 0x6240);
        m_upper[j][r] = selectBytes(even, odd, 0x7351) ^ 0x80808080u;
    }
    __device__ __forceinline__ void multiply(float (&t)[4], const TileGroup& x) const {
        int upper[4], lower[4], sum[4];
        dot32<true>(upper, m_upper, 0, x.m_b.x, x.m_b.y);
        dot32<false>(lower, m_lower, 0, x.m_b.x, x.m_b.y);
        dot32Add<true>(upper, m_upper, 2, x.m_b.z, x.m_b.w);
        dot32Add<false>(lower, m_lower, 2, x.m_b.z, x.m_b.w);
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[i] = upper[i] * 256 + lower[i];
        x.add(t, sum);
    }
};

// ---- units by groups. GroupsOf<T>(unit, lane): group(s), and what the end of the unit needs. With
// kRolled, s need not be known to the compiler.

template<QuantType T, UnitKind kKind = UnitReader<T>::kKind> struct GroupsOf {
    static constexpr bool kRolled = false;
    using Unit = UnitReader<T>;
    using Group = std::conditional_t<kKind == UnitKind::Sub32, Group32<Unit::kSigned>,
                                     Group16<Unit::kSigned>>;
    Unit m_unit;
    __device__ __forceinline__ GroupsOf(const std::uint8_t* unit, int lane) : m_unit(unit, lane) {}
    __device__ __forceinline__ Group group(int s) const {
        Group group;
        m_unit.weights(s, group.m_a);
        m_unit.scales(s, group.m_scales);
        return group;
    }
    __device__ __forceinline__ float d(int r) const { return m_unit.d(r); }
    __device__ __forceinline__ std::uint32_t minima(int r) const { return m_unit.minima(r); }
    __device__ __forceinline__ float minusMin(int r) const { return m_unit.minusMin(r); }
};

template<> struct GroupsOf<QuantType::Q4_K, UnitKind::Sub32> {
    static constexpr bool kRolled = true;
    const std::uint8_t* m_nibbles;
    PackedScales m_scales;
    int m_lane;
    __device__ __forceinline__ GroupsOf(const std::uint8_t* unit, int lane)
        : m_nibbles(unit + 16 * lane), m_scales(unit + 2048, lane), m_lane(lane) {}
    __device__ __forceinline__ Group32<false> group(int s) const {
        Group32<false> group;
        const uint4 nibbles = quad(m_nibbles + 512 * s);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            group.m_a[i >> 1][i & 1] = word(nibbles, i) & 0x0f0f0f0fu;
            group.m_a[2 + (i >> 1)][i & 1] = word(nibbles, i) & 0xf0f0f0f0u; // 16 w
        }
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            group.m_scales[0][r] = m_scales.even16(s, r);
            group.m_scales[1][r] = m_scales.odd(s, r);
        }
        return group;
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

template<> struct GroupsOf<QuantType::Q5_K, UnitKind::Sub32> {
    static constexpr bool kRolled = true;
    const std::uint8_t* m_nibbles;
    uint4 m_fifth;
    PackedScales m_scales;
    int m_lane;
    __device__ __forceinline__ GroupsOf(const std::uint8_t* unit, int lane)
        : m_nibbles(unit + 16 * lane), m_fifth(quad(unit + 2048 + 16 * lane)),
          m_scales(unit + 2560, lane), m_lane(lane) {}
    __device__ __forceinline__ Group32<false> group(int s) const {
        Group32<false> group;
        const uint4 nibbles = quad(m_nibbles + 512 * s);
        const std::uint32_t fifth = word(m_fifth, s);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int r = i & 1, j = i >> 1;
            group.m_a[j][r] =
                (word(nibbles, i) & 0x0f0f0f0fu) | (moved(fifth, -(2 * j + r)) & 0x10101010u);
            group.m_a[2 + j][r] =
                (word(nibbles, i) & 0xf0f0f0f0u) | (moved(fifth, 2 * j + r) & 0x08080808u); // 8 w
        }
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            group.m_scales[0][r] = m_scales.even16(s, r) >> 1;
            group.m_scales[1][r] = m_scales.odd(s, r);
        }
        return group;
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

template<> struct GroupsOf<QuantType::Q6_K, UnitKind::Sub16> {
    static constexpr bool kRolled = true;
    const std::uint8_t* m_unit;
    int m_lane;
    __device__ __forceinline__ GroupsOf(const std::uint8_t* unit, int lane)
        : m_unit(unit), m_lane(lane) {}
    __device__ __forceinline__ GroupOfProducts group(int s) const {
        GroupOfProducts group;
        const uint4 high = quad(m_unit + 512 * s + 16 * m_lane);
        const std::uint8_t* const lowAt =
            m_unit + 2048 + 512 * (s >> 1) + 16 * m_lane + 8 * (s & 1);
        const std::uint8_t* const scalesAt = m_unit + 3072 + 16 * (m_lane >> 2) + 4 * s;
        const uint2 both = *reinterpret_cast<const uint2*>(lowAt);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const std::uint32_t low = r ? both.y : both.x;
            const auto scales = *reinterpret_cast<const std::uint32_t*>(scalesAt + 128 * r);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                // The upper four bits, the flip of the sign undone, and the lower two.
                const std::uint32_t nibbles = word(high, 2 * (j >> 1) + r) << (j % 2 ? 4 : 0);
                const std::uint32_t pairs = moved(low, j % 2 ? 4 * (j >> 1) - 2 : -4 * (j >> 1));
                group.prepare(j, r, (nibbles & 0xf0f0f0f0u) ^ ((pairs & 0x0c0c0c0cu) | 0x80808080u),
                              static_cast<std::uint32_t>(signedByte(scales, j)));
            }
        }
        return group;
    }
    __device__ __forceinline__ float d(int r) const {
        const float2 d = rowHalves(m_unit + 3328, m_lane);
        return (r ? d.y : d.x) * 0.25f;
    }
};

// ---- whole units

template<int RT, int NT> __device__ __forceinline__ void fill(float (&t)[RT][NT][4], float value) {
#pragma unroll
    for (int r = 0; r < RT; ++r)
#pragma unroll
        for (int c = 0; c < NT; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i) t[r][c][i] = value;
}

template<QuantType T, int RT, int NT>
__device__ __forceinline__ void multiplyGroup(float (&t)[RT][NT][4], const GroupsOf<T> (&units)[RT],
                                              const ActivationTile* tiles, int s, int lane) {
    typename std::remove_cv_t<decltype(units[0].group(s))> groups[RT];
#pragma unroll
    for (int r = 0; r < RT; ++r) groups[r] = units[r].group(s);
#pragma unroll
    for (int c = 0; c < NT; ++c) {
        const TileGroup x(tiles[c], s, lane);
#pragma unroll
        for (int r = 0; r < RT; ++r) groups[r].multiply(t[r][c], x);
    }
}

// Integer scales under one float.
template<QuantType T, int RT, int NT>
__device__ __forceinline__ void addScaled(float (&sum)[RT][NT][4], const GroupsOf<T> (&units)[RT],
                                          const ActivationTile* tiles, int lane) {
    float t[RT][NT][4];
    fill(t, -0.0f);
    if constexpr (GroupsOf<T>::kRolled) {
#pragma unroll 1
        for (int s = 0; s < 4; ++s) multiplyGroup<T>(t, units, tiles, s, lane);
    } else {
#pragma unroll
        for (int s = 0; s < 4; ++s) multiplyGroup<T>(t, units, tiles, s, lane);
    }

    constexpr bool kHasMinima = kBlockSums<T> != BlockSums::None;
    float d[RT][2], minusMin[RT][2];
    std::uint32_t minima[RT][2];
#pragma unroll
    for (int r = 0; r < RT; ++r)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            d[r][i] = units[r].d(i);
            if constexpr (kHasMinima) {
                minima[r][i] = units[r].minima(i);
                minusMin[r][i] = units[r].minusMin(i);
            }
        }
    const auto finish = [&](int r, int c, auto&& subtract) {
        float v[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) v[i] = __fmul_rn(d[r][i >> 1], t[r][c][i]);
        subtract(v);
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[r][c][i] = __fadd_rn(sum[r][c][i], v[i]);
    };
#pragma unroll
    for (int c = 0; c < NT; ++c) {
        if constexpr (kHasMinima) {
            const TileSums<T> x(tiles[c], lane);
#pragma unroll
            for (int r = 0; r < RT; ++r)
                finish(r, c, [&](float(&v)[4]) { x.subtract(v, minima[r], minusMin[r]); });
        } else {
#pragma unroll
            for (int r = 0; r < RT; ++r) finish(r, c, [](float(&)[4]) {});
        }
    }
}

// A group of a unit with a float scale of 32.
template<QuantType T> struct BlockGroup {
    using Unit = UnitReader<T>;
    static constexpr bool kHasMinima = kBlockSums<T> == BlockSums::Plain32;
    std::uint32_t m_a[4][2];
    float m_d[2][2], m_m[2][2]; // [block of the group][r]

    // Only what this group needs is read.
    __device__ __forceinline__ BlockGroup(const std::uint8_t* unitBytes, int s, int lane) {
        const Unit unit(unitBytes, lane);
        unit.weights(s, m_a);
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                m_d[h][r] = unit.d(2 * s + h, r);
                if constexpr (kHasMinima) m_m[h][r] = unit.m(2 * s + h, r);
            }
    }
    __device__ __forceinline__ void multiply(float (&t)[4], const TileGroup& x,
                                             const float (&sums)[2][2]) const {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            int p[4];
            dot32<Unit::kSigned>(p, m_a, 2 * h, h ? x.m_b.z : x.m_b.x, h ? x.m_b.w : x.m_b.y);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float dx = x.m_dx[i & 1];
                t[i] = __fmaf_rn(__fmul_rn(m_d[h][i >> 1], dx), __int2float_rn(p[i]), t[i]);
                if constexpr (kHasMinima)
                    t[i] = __fmaf_rn(__fmul_rn(m_m[h][i >> 1], dx), sums[h][i & 1], t[i]);
            }
        }
    }
};

template<QuantType T, int NT>
__device__ __forceinline__ void addBlocks(float (&sum)[2][NT][4], const std::uint8_t* units,
                                          const ActivationTile* tiles, int lane) {
    constexpr float kBehind = UnitReader<T>::kBehind;
    float t[2][NT][4];
    fill(t, 0.0f);
#pragma unroll
    for (int s = 0; s < 4; ++s) {
        const BlockGroup<T> first(units, s, lane), second(units + kUnitBytes<T>, s, lane);
#pragma unroll
        for (int c = 0; c < NT; ++c) {
            const TileGroup x(tiles[c], s, lane);
            float sums[2][2] = {};
            if constexpr (BlockGroup<T>::kHasMinima) {
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const short2 both = *reinterpret_cast<const short2*>(
                        tiles[c].sum32[2 * (lane & 3) + i] + 2 * s);
                    sums[0][i] = __int2float_rn(both.x);
                    sums[1][i] = __int2float_rn(both.y);
                }
            }
            first.multiply(t[0][c], x, sums);
            second.multiply(t[1][c], x, sums);
        }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int c = 0; c < NT; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                sum[r][c][i] = __fadd_rn(
                    sum[r][c][i], kBehind == 1.0f ? t[r][c][i] : __fmul_rn(t[r][c][i], kBehind));
}

template<QuantType T, int RT, int NT>
__device__ __forceinline__ void addUnits(float (&sum)[RT][NT][4], const std::uint8_t* units,
                                         const ActivationTile* tiles, int lane) {
    if constexpr (UnitReader<T>::kKind == UnitKind::Blocks) {
        addBlocks<T>(sum, units, tiles, lane);
    } else {
        static_assert(RT == 2);
        const GroupsOf<T> groups[2] = {{units, lane}, {units + kUnitBytes<T>, lane}};
        addScaled<T>(sum, groups, tiles, lane);
    }
}

} // namespace cuda

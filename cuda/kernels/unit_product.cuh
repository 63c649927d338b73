#pragma once
// The unit values v of engine/backend/int8_format.h: 16 weight rows x 256 of K times tiles of 8
// rows of activations, in the registers of one warp. Layout of a unit: cuda/unit_layout.h.
//
// unitProduct<T>(v, unit, acts): `unit` is a UnitReader<T>, v[c][i] is the value of weight row g +
// 8 (i / 2) and activation row 8 c + 2 t + i % 2, with lane = 4 g + t; the whole warp takes part.
// `acts` hands out the activations of this unit, from wherever the kernel keeps them; c = tile, s =
// group of 64, i = 0, 1: activation row 8 c + 2 t + i:
//   uint4 fragment(c, s)   the lane's 16 bytes q (ActivationTile::q[s][lane])
//   float dx(c, i, s)
// and, by kBlockSums<T>:
//   uint32_t high(c), low(c); float ds(c, i)   the scaled block sums of 32 or of 16
//   int sum(c, i, block)                       plain sums of 32
// RegisterActs below is one of these.

#include "cuda/kernels/common.cuh"
#include "cuda/kernels/formats.h"
#include "cuda/kernels/mma.cuh"
#include "cuda/kernels/unit_readers.cuh"
#include "cuda/unit_layout.h"

#include <cstdint>

namespace cuda {

// ---- activations in registers

template<QuantType T, int NT> struct RegisterActs {
    static constexpr BlockSums kSums = kBlockSums<T>;
    uint4 m_q[NT][4];
    float4 m_dx[NT][2];
    std::uint32_t m_high[NT], m_low[NT];
    float2 m_ds[NT];
    uint4 m_sums[NT][2];

    // The bytes q of one unit's records, tile after tile; `rows` of the 8 NT rows are there. What
    // the others hold stays in their own columns of the product, which nobody stores.
    __device__ __forceinline__ void loadBytes(const ActivationTile* tiles, int rows, int lane) {
#pragma unroll
        for (int c = 0; c < NT; ++c)
#pragma unroll
            for (int s = 0; s < 4; ++s) // rows that are not there need not be read
                m_q[c][s] = 8 * c + (lane >> 2) < rows
                                ? *reinterpret_cast<const uint4*>(tiles[c].q[s][lane])
                                : make_uint4(0, 0, 0, 0);
    }

    // The factors dx.
    __device__ __forceinline__ void loadFactors(const ActivationTile* tiles, int lane) {
        const int t = lane & 3;
#pragma unroll
        for (int c = 0; c < NT; ++c)
#pragma unroll
            for (int i = 0; i < 2; ++i) m_dx[c][i] = wide<float4>(tiles[c].dx[2 * t + i]);
    }

    // The block sums, if the type has any use for them.
    __device__ __forceinline__ void loadSums(const ActivationTile* tiles, int lane) {
        const int t = lane & 3;
#pragma unroll
        for (int c = 0; c < NT; ++c) {
            const ActivationTile& tile = tiles[c];
            if constexpr (kSums == BlockSums::Scaled32) {
                m_high[c] = wide<std::uint32_t>(tile.high32[lane]);
                m_low[c] = wide<std::uint32_t>(tile.low32[lane]);
                m_ds[c] = wide<float2>(&tile.ds32[2 * t]);
            } else if constexpr (kSums == BlockSums::Scaled16) {
                m_high[c] = wide<std::uint32_t>(tile.high16[lane]);
                m_low[c] = wide<std::uint32_t>(tile.low16[lane]);
                m_ds[c] = wide<float2>(&tile.ds16[2 * t]);
            } else if constexpr (kSums == BlockSums::Plain32) {
#pragma unroll
                for (int i = 0; i < 2; ++i) m_sums[c][i] = wide<uint4>(tile.sum32[2 * t + i]);
            }
        }
    }

    __device__ __forceinline__ uint4 fragment(int c, int s) const {
        return m_q[c][s];
    }
    __device__ __forceinline__ float dx(int c, int i, int s) const {
        const float4& d = m_dx[c][i];
        return s == 0 ? d.x : s == 1 ? d.y : s == 2 ? d.z : d.w;
    }
    __device__ __forceinline__ std::uint32_t high(int c) const {
        return m_high[c];
    }
    __device__ __forceinline__ std::uint32_t low(int c) const {
        return m_low[c];
    }
    __device__ __forceinline__ float ds(int c, int i) const {
        return i ? m_ds[c].y : m_ds[c].x;
    }
    __device__ __forceinline__ int sum(int c, int i, int block) const {
        const std::uint32_t words[4] = {m_sums[c][i].x, m_sums[c][i].y, m_sums[c][i].z,
                                        m_sums[c][i].w};
        const auto pair = static_cast<std::int32_t>(words[block / 2]);
        return block % 2 ? pair >> 16 : (pair << 16) >> 16;
    }

private:
    template<class V> __device__ __forceinline__ static V wide(const void* p) {
        return *static_cast<const V*>(p);
    }
};

// ---- the product

// p = operand words of 32 of K (j, j + 1) times bytes b0, b1 of the activations.
template<bool kSigned>
__device__ __forceinline__ void dot32(int (&p)[4], const std::uint32_t (&a)[4][2], int j,
                                      std::uint32_t b0, std::uint32_t b1) {
    const std::uint32_t operand[4] = {a[j][0], a[j][1], a[j + 1][0], a[j + 1][1]};
    mmaBytes32<kSigned>(p, operand, b0, b1);
}

// t of int8_format.h: one step per group of 64.
template<QuantType T, int NT, class Acts>
__device__ __forceinline__ void groupSteps(float (&t)[NT][4], const UnitReader<T>& unit,
                                           const Acts& acts) {
    using Unit = UnitReader<T>;
#pragma unroll
    for (int s = 0; s < 4; ++s) {
        std::uint32_t a[4][2];
        unit.weights(s, a);
        constexpr int kSubs = Unit::kKind == UnitKind::Sub32 ? 2 : 4;
        int sc[kSubs][2];
        unit.scales(s, sc);
#pragma unroll
        for (int c = 0; c < NT; ++c) {
            const uint4 b = acts.fragment(c, s);
            int sum[4];
            if constexpr (Unit::kKind == UnitKind::Sub32) {
                int p[4], q[4];
                dot32<Unit::kSigned>(p, a, 0, b.x, b.y);
                dot32<Unit::kSigned>(q, a, 2, b.z, b.w);
#pragma unroll
                for (int i = 0; i < 4; ++i) sum[i] = p[i] * sc[0][i >> 1] + q[i] * sc[1][i >> 1];
            } else {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    int p[4];
                    mmaBytes16<Unit::kSigned>(p, a[j][0], a[j][1], word(b, j));
#pragma unroll
                    for (int i = 0; i < 4; ++i)
                        sum[i] = (j == 0 ? 0 : sum[i]) + p[i] * sc[j][i >> 1];
                }
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float f = __int2float_rn(sum[i]), dx = acts.dx(c, i & 1, s);
                t[c][i] = s == 0 ? __fmul_rn(dx, f) : __fmaf_rn(dx, f, t[c][i]);
            }
        }
    }
}

// v += -dmin * (ds * sum of m * S), S = 128 high + low.
template<QuantType T, int NT, class Acts>
__device__ __forceinline__ void subtractMinima(float (&v)[NT][4], const UnitReader<T>& unit,
                                               const Acts& acts) {
    const std::uint32_t m[2] = {unit.minima(0), unit.minima(1)};
    const float minusMin[2] = {unit.minusMin(0), unit.minusMin(1)};
#pragma unroll
    for (int c = 0; c < NT; ++c) {
        int high[4], low[4];
        mmaBytes16<false>(high, m[0], m[1], acts.high(c));
        mmaBytes16<false>(low, m[0], m[1], acts.low(c));
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float f = __int2float_rn(high[i] * 128 + low[i]);
            v[c][i] = __fmaf_rn(minusMin[i >> 1], __fmul_rn(acts.ds(c, i & 1), f), v[c][i]);
        }
    }
}

// The whole unit of a type with float scales per block of 32.
template<QuantType T, int NT, class Acts>
__device__ __forceinline__ void blockSteps(float (&t)[NT][4], const UnitReader<T>& unit,
                                           const Acts& acts) {
    using Unit = UnitReader<T>;
#pragma unroll
    for (int s = 0; s < 4; ++s) {
        std::uint32_t a[4][2];
        unit.weights(s, a);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int block = 2 * s + h;
            const float d[2] = {unit.d(block, 0), unit.d(block, 1)};
#pragma unroll
            for (int c = 0; c < NT; ++c) {
                const uint4 b = acts.fragment(c, s);
                int p[4];
                dot32<Unit::kSigned>(p, a, 2 * h, h ? b.z : b.x, h ? b.w : b.y);
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const float dx = acts.dx(c, i & 1, s);
                    const float before = block == 0 ? 0.0f : t[c][i];
                    t[c][i] = __fmaf_rn(__fmul_rn(d[i >> 1], dx), __int2float_rn(p[i]), before);
                    if constexpr (kBlockSums<T> == BlockSums::Plain32)
                        t[c][i] = __fmaf_rn(__fmul_rn(unit.m(block, i >> 1), dx),
                                            __int2float_rn(acts.sum(c, i & 1, block)), t[c][i]);
                }
            }
        }
    }
}

template<QuantType T, int NT, class Acts>
__device__ __forceinline__ void unitProduct(float (&v)[NT][4], const UnitReader<T>& reader,
                                            const Acts& acts) {
    using Unit = UnitReader<T>;
    if constexpr (Unit::kKind == UnitKind::Blocks) {
        blockSteps<T>(v, reader, acts);
        if constexpr (Unit::kBehind != 1.0f) {
#pragma unroll
            for (int c = 0; c < NT; ++c)
#pragma unroll
                for (int i = 0; i < 4; ++i) v[c][i] = __fmul_rn(v[c][i], Unit::kBehind);
        }
    } else {
        groupSteps<T>(v, reader, acts);
        const float d[2] = {reader.d(0), reader.d(1)};
#pragma unroll
        for (int c = 0; c < NT; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i) v[c][i] = __fmul_rn(d[i >> 1], v[c][i]);
        if constexpr (kBlockSums<T> != BlockSums::None) subtractMinima<T>(v, reader, acts);
    }
}

} // namespace cuda

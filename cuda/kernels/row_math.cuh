#pragma once
// Rows of floats in units of 256 columns, one warp per unit: loads and stores, the sums that norms
// use, activation functions, and the 8-bit form of a unit (ActivationTile). Every kernel that norms
// or quantises uses these functions, so that fused and separate paths give the same bits.
//
// Lane l holds columns 4 l .. 4 l + 3 and 128 + 4 l .. 128 + 4 l + 3 of a unit, so that a warp
// moves 512 bytes at a time and a lane's columns make whole words of the ActivationTile.
//
// Sums of a row (they depend on the number of columns alone): a lane takes its columns of a unit in
// ascending order, columns beyond the row counting as zero; warpSum gives the unit's sum; the units
// u % 4 = 0, 1, 2 and 3 are added in four chains, each ascending, and the chains as (0 + 1) + (2 +
// 3). A head of at most 256 columns is one unit.

#include "cuda/kernels/common.cuh"
#include "cuda/kernels/row_args.h"

namespace cuda {

// What a lane holds of a unit.
struct UnitPart {
    float v[8];
};

// Column of v[i] within its unit.
__device__ __forceinline__ int unitColumn(int lane, int i) {
    return 4 * lane + i % 4 + i / 4 * 128;
}

__device__ __forceinline__ bool aligned16(const void* p) {
    return (reinterpret_cast<std::uintptr_t>(p) & 15) == 0;
}

// Four columns at once, aligned to 16 bytes.
__device__ __forceinline__ void loadWhole(const float* from, float* v) {
    const float4 f = *reinterpret_cast<const float4*>(from);
    v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
}
__device__ __forceinline__ void storeWhole(float* to, const float* v) {
    *reinterpret_cast<float4*>(to) = make_float4(v[0], v[1], v[2], v[3]);
}

// Columns c .. c + 3 of a row; zeros from `columns` on.
__device__ __forceinline__ void loadQuad(const float* row, std::int64_t c, std::int64_t columns,
                                         float* v) {
    if (c + 4 <= columns && aligned16(row + c)) {
        loadWhole(row + c, v);
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) v[i] = c + i < columns ? row[c + i] : 0.0f;
    }
}

__device__ __forceinline__ void storeQuad(float* row, std::int64_t c, std::int64_t columns,
                                          const float* v) {
    if (c + 4 <= columns && aligned16(row + c)) {
        storeWhole(row + c, v);
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            if (c + i < columns) row[c + i] = v[i];
    }
}

// Columns first .. first + 255 of a row, first a multiple of 4; zeros from `columns` on.
__device__ __forceinline__ UnitPart loadUnit(const float* row, std::int64_t first,
                                             std::int64_t columns, int lane) {
    UnitPart part;
    if (first + kUnitColumns <= columns && aligned16(row)) { // the same for the whole warp
        loadWhole(row + first + 4 * lane, part.v);
        loadWhole(row + first + 128 + 4 * lane, part.v + 4);
    } else {
        loadQuad(row, first + 4 * lane, columns, part.v);
        loadQuad(row, first + 128 + 4 * lane, columns, part.v + 4);
    }
    return part;
}

__device__ __forceinline__ void storeUnit(float* row, std::int64_t first, std::int64_t columns,
                                          int lane, const UnitPart& part) {
    if (first + kUnitColumns <= columns && aligned16(row)) {
        storeWhole(row + first + 4 * lane, part.v);
        storeWhole(row + first + 128 + 4 * lane, part.v + 4);
    } else {
        storeQuad(row, first + 4 * lane, columns, part.v);
        storeQuad(row, first + 128 + 4 * lane, columns, part.v + 4);
    }
}

// The same of a norm's weights; null: ones, which leave every bit as it is.
__device__ __forceinline__ UnitPart loadGamma(const float* gamma, std::int64_t first,
                                              std::int64_t columns, int lane) {
    if (gamma) return loadUnit(gamma, first, columns, lane);
    UnitPart ones;
#pragma unroll
    for (int i = 0; i < 8; ++i) ones.v[i] = 1.0f;
    return ones;
}

// A unit of what a row GEMM wrote: weight rows first .. first + 255 of one activation row
// (`column`), the segments added in ascending order; zeros from weightRows on. The loads of kBatch
// segments are in flight together (8 registers each), the first of them from start() on. What is
// done at construction needs no memory: before the wait for the product, for a warp that works
// alone pays for every instruction in full.
template<int kBatch> class PartialUnit {
public:
    __device__ __forceinline__ PartialUnit(const PartialSums& sums, int column, int first,
                                           int weightRows, int lane)
        : m_segments(sums.segments), m_left(weightRows - first - 4 * lane),
          m_stride(static_cast<std::uint32_t>(sums.rowTiles * sums.columns * 16)) {
        // Four columns never leave their run of 16, which is whole up to rowTiles.
        m_from[0] = kept(sums.data + sums.index(0, first + 4 * lane, column));
        m_from[1] = kept(sums.data + sums.index(0, first + 128 + 4 * lane, column));
    }

    __device__ __forceinline__ void start() { fetch(0); }

    __device__ __forceinline__ UnitPart sum() {
        UnitPart part = {};
        add(part, 0);
        for (int start = kBatch; start < m_segments; start += kBatch) {
            fetch(start);
            add(part, start);
        }
        // What the last run of 16 holds beyond the weight's rows is not part of the row.
#pragma unroll
        for (int i = 0; i < 8; ++i)
            if (i % 4 + i / 4 * 128 >= m_left) part.v[i] = 0.0f;
        return part;
    }

private:
    __device__ __forceinline__ void fetch(int start) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
            for (int s = 0; s < kBatch; ++s)
                if (128 * half < m_left && start + s < m_segments)
                    m_batch[half][s] = *reinterpret_cast<const float4*>(
                        m_from[half] + std::uint64_t(start + s) * m_stride);
                else
                    m_batch[half][s] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    __device__ __forceinline__ void add(UnitPart& part, int start) const {
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
            for (int s = 0; s < kBatch; ++s) {
                const float4 f = m_batch[half][s];
                float* v = part.v + 4 * half;
                if (start + s == 0) {
                    v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
                } else if (start + s < m_segments) {
                    v[0] = __fadd_rn(v[0], f.x);
                    v[1] = __fadd_rn(v[1], f.y);
                    v[2] = __fadd_rn(v[2], f.z);
                    v[3] = __fadd_rn(v[3], f.w);
                }
            }
    }

    const float* m_from[2];
    int m_segments;
    int m_left;             // of the weight's rows, from the lane's first column on
    std::uint32_t m_stride; // floats of a segment
    float4 m_batch[2][kBatch];
};

// ---- sums and norms

// Sum of the squares of a unit, in every lane.
__device__ __forceinline__ float unitSquares(const UnitPart& part) {
    float s = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) s = __fmaf_rn(part.v[i], part.v[i], s);
    return warpSum(s);
}

// Sum of a unit, in every lane.
__device__ __forceinline__ float unitSum(const UnitPart& part) {
    float s = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) s = __fadd_rn(s, part.v[i]);
    return warpSum(s);
}

// Sum of a row from the sums of its units, in shared memory (16-byte aligned, room for a multiple
// of four). kMost: an upper bound of units, for which the loads are in flight together.
template<int kMost> __device__ __forceinline__ float rowSum(const float* unitSums, int units) {
    static_assert(kMost % 4 == 0, "whole quads");
    float4 chain = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    constexpr int kUnroll = kMost < 32 ? kMost / 4 : 8;
#pragma unroll kUnroll
    for (int u = 0; u < kMost; u += 4) {
        if (u >= units) break;
        const float4 f = *reinterpret_cast<const float4*>(unitSums + u);
        chain.x = __fadd_rn(chain.x, f.x);
        chain.y = __fadd_rn(chain.y, u + 1 < units ? f.y : 0.0f);
        chain.z = __fadd_rn(chain.z, u + 2 < units ? f.z : 0.0f);
        chain.w = __fadd_rn(chain.w, u + 3 < units ? f.w : 0.0f);
    }
    return __fadd_rn(__fadd_rn(chain.x, chain.y), __fadd_rn(chain.z, chain.w));
}

// The same of sums of squares with zeros up to kMost behind them: no conditions, and the same bits.
template<int kMost> __device__ __forceinline__ float paddedRowSum(const float* unitSums) {
    static_assert(kMost % 4 == 0, "whole quads");
    float4 chain = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int u = 0; u < kMost; u += 4) {
        const float4 f = *reinterpret_cast<const float4*>(unitSums + u);
        chain.x = __fadd_rn(chain.x, f.x);
        chain.y = __fadd_rn(chain.y, f.y);
        chain.z = __fadd_rn(chain.z, f.z);
        chain.w = __fadd_rn(chain.w, f.w);
    }
    return __fadd_rn(__fadd_rn(chain.x, chain.y), __fadd_rn(chain.z, chain.w));
}

// 1 / sqrt(mean + eps) of a row (or head) of `columns` whose squares add up to `squares`.
__device__ __forceinline__ float normFactor(float squares, int columns, float eps) {
    const float mean = __fdiv_rn(squares, static_cast<float>(columns));
    return __fdiv_rn(1.0f, __fsqrt_rn(__fadd_rn(mean, eps)));
}

// rms norm of one element; the factor is normFactor's.
__device__ __forceinline__ float normed(float x, float factor, float gamma) {
    return __fmul_rn(__fmul_rn(x, factor), gamma);
}

// ---- activation functions: the CPU's formulas with CUDA's accurate elementary functions

__device__ __forceinline__ float sigmoid(float x) {
    return __fdiv_rn(1.0f, __fadd_rn(1.0f, expf(-x)));
}
__device__ __forceinline__ float swiglu(float gate, float up) {
    return __fmul_rn(__fmul_rn(gate, sigmoid(gate)), up);
}
__device__ __forceinline__ float sigmoidGated(float x, float gate) {
    return __fmul_rn(x, sigmoid(gate));
}
__device__ __forceinline__ float gelu(float x) {
    const float half = __fmul_rn(0.5f, x);
    return __fmaf_rn(half, erff(__fmul_rn(x, 0.707106781f)), half);
}
__device__ __forceinline__ float softcapped(float z, float scale, float cap) {
    const float scaled = __fmul_rn(z, scale);
    return cap == 0.0f ? scaled : __fmul_rn(cap, tanhf(__fdiv_rn(scaled, cap)));
}

// ---- the 8-bit form

// x / d as a whole number within [-limit, limit]; a quotient that is NaN becomes -limit.
__device__ __forceinline__ int quotient(float x, float d, float limit) {
    return __float2int_rn(fminf(fmaxf(__fdiv_rn(x, d), -limit), limit));
}

// Largest of the 16 lanes l ^ 0..15, which are never NaN.
__device__ __forceinline__ float halfWarpMax(float x) {
#pragma unroll
    for (int step = 8; step >= 1; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

// One unit of one row into its place `g` = row % 8 of a record, bit for bit as int8_format.h says.
// Called by a whole warp. A row's bytes of the record are runs of 16 and 64, each written by one
// instruction.
__device__ __forceinline__ void quantizeUnit(const UnitPart& part, int lane, int g,
                                             ActivationTile& tile) {
    constexpr unsigned kAll = 0xffffffffu;
    float dx[2];            // of group 2 half + lane / 16
    int sum16[2], sum32[2]; // of block 8 half + lane / 4, of block 4 half + lane / 8
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const float* v = part.v + 4 * half;
        float m = 0.0f;
#pragma unroll
        for (int i = 0; i < 4; ++i) m = fmaxf(m, fabsf(v[i])); // NaN counts as nothing
        const float d = __fdiv_rn(halfWarpMax(m), 127.0f);
        int sum = 0;
        unsigned word = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int q = d > 0.0f ? quotient(v[i], d, 127.0f) : 0;
            sum += q;
            word |= (static_cast<unsigned>(q) & 255u) << (8 * i);
        }
        // K = 64 group + 16 j + 4 t + byte.
        const int group = 2 * half + lane / 16, j = lane % 16 / 4, t = lane % 4;
        reinterpret_cast<unsigned*>(tile.q[group][4 * g + t])[j] = word;
        sum += __shfl_xor_sync(kAll, sum, 1);
        sum += __shfl_xor_sync(kAll, sum, 2);
        sum16[half] = sum;
        sum32[half] = sum + __shfl_xor_sync(kAll, sum, 4);
        dx[half] = d;
    }

    // Lanes 0..15 take the blocks of 16, lanes 16..23 the blocks of 32, the others nothing.
    const bool of16 = lane < 16;
    const int block = lane % 16;
    const bool second = of16 ? block >= 8 : block >= 4; // the block lies in the unit's second half
    const int owner = of16 ? 4 * (block % 8) : 8 * (block % 4);
    const int a16 = __shfl_sync(kAll, sum16[0], owner), b16 = __shfl_sync(kAll, sum16[1], owner);
    const int a32 = __shfl_sync(kAll, sum32[0], owner), b32 = __shfl_sync(kAll, sum32[1], owner);
    const float aDx = __shfl_sync(kAll, dx[0], owner), bDx = __shfl_sync(kAll, dx[1], owner);
    const bool used = lane < 24;
    const int sum = of16 ? (second ? b16 : a16) : (second ? b32 : a32);
    const float blockDx = second ? bDx : aDx;
    const float value = used ? __fmul_rn(blockDx, static_cast<float>(sum)) : 0.0f;
    const float ds = __fdiv_rn(halfWarpMax(fmaxf(fabsf(value), 0.0f)), 16256.0f);
    const int s = used && ds > 0.0f ? quotient(value, ds, 16256.0f) : 0;

    // A row's bytes 4 t + b of the four lanes 4 g + t are one run of 16.
    std::int8_t* high = (of16 ? tile.high16[0] : tile.high32[0]) + 16 * g;
    std::int8_t* low = (of16 ? tile.low16[0] : tile.low32[0]) + 16 * g;
    high[block] = static_cast<std::int8_t>(s >> 7);
    low[block] = static_cast<std::int8_t>(s & 127);
    if (of16 && block % 4 == 0) tile.dx[g][block / 4] = blockDx;
    if (!of16 && used) tile.sum32[g][block] = static_cast<std::int16_t>(sum);
    if (block == 0) (of16 ? tile.ds16 : tile.ds32)[g] = ds;
}

// One unit of a row of quantised rows: its place in the records and in the copy, as far as they are
// wanted. Called by a whole warp.
__device__ __forceinline__ void writeQuantized(const RecordRows& out, std::int64_t row, int unit,
                                               int lane, const UnitPart& part) {
    if (out.tiles)
        quantizeUnit(part, lane, static_cast<int>(row % kTileRows),
                     out.tiles[unit * out.tilesPerUnit + row / kTileRows]);
    if (out.floats)
        storeUnit(out.floats + row * out.floatStride, std::int64_t(unit) * kUnitColumns,
                  out.columns, lane, part);
}

} // namespace cuda

// What comes between the projections and attention: head norms, rotary positions, the store of
// keys and values; all at once for up to 16 rows, and each on its own for any number.
//
// Math: head norms as rmsNorm's (row_math.cuh). Rotation of a pair (a, b) by the angle position *
//   theta^(-2 j / width):  a' = fma(a, cos, b * -sin),  b' = fma(b, cos, a * sin). The angle is
//   reduced exactly, in whole numbers: the host gives turns per position as a fraction of 2^64, so
//   that the product modulo 2^64 is the turn (error 2^-64 times the position); sine and cosine are
//   polynomials on an eighth of a turn, within 1e-7 at every position. Reference:
//   CpuBackend::rope, the same formula with tables in double precision. Stored keys and values are
//   the processor's, bit for bit: halves to nearest even; Q8_0 as in float_kernels.inl. Queries
//   become q~ of attention.cuh, for attention_rows, or stay singles.
// Shapes: attention_args.h; heads of up to 128 columns, a multiple of 32, for attention_inputs;
//   heads of any even size up to 256 for rope; any number of columns for kv_write_f16, a multiple
//   of 32 for kv_write_q8_0. F32 rows aligned to 4 bytes, F16 cache rows to 8, Q8_0 to 2.
// Traffic: the rows once; small beside the matrix products around it.
// Launch: attention_inputs: a warp per row and head (of q, k or v), 4 warps a block. rope: a
//   block per row. kv_write: a warp per row and 256 columns of k or v.
// Needs: sm_75.
// Measured: H200 (ncu): attention_inputs 4.8 us for one row, 5.7 for 16, before the table of turns
//   moved ahead of the wait.

#include "cuda/kernels/attention_args.h"
#include "cuda/kernels/row_math.cuh"

namespace cuda {
namespace {

struct Rotation {
    float cosine, sine;
};

// turn: fraction of a whole turn, times 2^64.
__device__ __forceinline__ Rotation rotationOf(std::uint64_t turn) {
    const auto top = static_cast<std::uint32_t>(turn >> 32);
    const std::uint32_t quarter = (top + 0x20000000u) >> 30;
    const auto rest = static_cast<std::int32_t>(top - (quarter << 30)); // +- an eighth of a turn
    const float x = __fmul_rn(static_cast<float>(rest), 1.46291807926716e-9f); // 2 pi / 2^32
    const float z = __fmul_rn(x, x);
    float s = __fmaf_rn(-1.9515295891e-4f, z, 8.3321608736e-3f);
    s = __fmaf_rn(s, z, -1.6666654611e-1f);
    s = __fmaf_rn(__fmul_rn(s, z), x, x);
    float c = __fmaf_rn(2.443315711809948e-5f, z, -1.388731625493765e-3f);
    c = __fmaf_rn(c, z, 4.166664568298827e-2f);
    c = __fmaf_rn(__fmul_rn(c, z), z, __fmaf_rn(-0.5f, z, 1.0f));
    switch (quarter & 3) {
    case 0: return {c, s};
    case 1: return {-s, c};
    case 2: return {-c, -s};
    default: return {s, -c};
    }
}

// turnPerPosition: RopeTurns::perPosition.
__device__ __forceinline__ Rotation turnedTo(std::uint64_t turnPerPosition, int position) {
    return rotationOf(static_cast<std::uint64_t>(std::int64_t(position)) * turnPerPosition);
}

// positions: of one row, one per axis.
__device__ __forceinline__ Rotation rotationOf(const RopeTurns& turns,
                                               const std::int32_t* positions, int pair) {
    const int pairsPerAxis = turns.headSize / 2 / turns.axes;
    return turnedTo(turns.perPosition[pair % pairsPerAxis], positions[pair / pairsPerAxis]);
}

__device__ __forceinline__ float rotatedFirst(float a, float b, const Rotation& r) {
    return __fmaf_rn(a, r.cosine, __fmul_rn(b, -r.sine));
}
__device__ __forceinline__ float rotatedSecond(float a, float b, const Rotation& r) {
    return __fmaf_rn(b, r.cosine, __fmul_rn(a, r.sine));
}

// Stores columns `column` .. + 3 of a cache row; lanes of eight hold the 32 columns of a Q8_0
// block. Called by a whole warp; nothing is stored from `columns` on.
template<bool kEight>
__device__ __forceinline__ void storeFour(std::uint8_t* row, std::int64_t column,
                                          std::int64_t columns, const float* v) {
    if constexpr (kEight) {
        float m = 0.0f;
#pragma unroll
        for (int i = 0; i < 4; ++i) m = fmaxf(m, fabsf(v[i])); // NaN counts as nothing
#pragma unroll
        for (int step = 1; step <= 4; step *= 2)
            m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, step));
        const __half half = __float2half_rn(fminf(__fdiv_rn(m, 127.0f), 65504.0f));
        const float d = __half2float(half);
        unsigned q[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            q[i] = static_cast<unsigned>(d > 0.0f ? quotient(v[i], d, 127.0f) : 0) & 255u;
        if (column >= columns) return;
        auto* const block = reinterpret_cast<std::uint16_t*>(row + column / 32 * 34);
        const int at = static_cast<int>(column % 32);
        if (at == 0) block[0] = __half_as_ushort(half);
        block[1 + at / 2] = static_cast<std::uint16_t>(q[0] | q[1] << 8);
        block[2 + at / 2] = static_cast<std::uint16_t>(q[2] | q[3] << 8);
    } else {
        auto* const to = reinterpret_cast<__half*>(row) + column;
        if (column + 4 <= columns) {
            const __half2 pairs[2] = {__floats2half2_rn(v[0], v[1]), __floats2half2_rn(v[2], v[3])};
            *reinterpret_cast<uint2*>(to) = *reinterpret_cast<const uint2*>(pairs);
        } else {
#pragma unroll
            for (int i = 0; i < 4; ++i)
                if (column + i < columns) to[i] = __float2half_rn(v[i]);
        }
    }
}

template<bool kEight>
__device__ __forceinline__ void attentionInputs(const AttentionInputsArgs& a) {
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.y;
    int head = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (head >= a.heads + 2 * a.kvHeads) { // whole warps
        waitForPrevious();                 // what follows relies on all blocks
        letNextStart();
        return;
    }
    const int size = a.turns.headSize;
    const bool isQuery = head < a.heads, isValue = head >= a.heads + a.kvHeads;
    if (isValue)
        head -= a.heads + a.kvHeads;
    else if (!isQuery)
        head -= a.heads;
    const PartialSums& sums = isQuery ? a.q : isValue ? a.v : a.k;
    UnitPart gamma = {};
    if (!isValue) gamma = loadGamma(isQuery ? a.qGamma : a.kGamma, 0, size, lane);
    // The lanes take different turns, one after the other: that is done before the wait as well.
    const int far = size / 8; // lanes between the members of a pair, where these are halves
    const bool first = lane < far;
    const int partner = (first ? lane + far : lane - far) & 31;
    const bool holds = a.turned && !isValue && (a.turns.halves ? lane < 2 * far : 4 * lane < size);
    std::uint64_t turns[4] = {};
    if (holds)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            turns[i] = a.turns.perPosition[a.turns.halves ? 4 * (first ? lane : partner) + i
                                                          : 2 * lane + i / 2];
    PartialUnit<2> partial(sums, row, head * size, (head + 1) * size, lane);
    waitForPrevious();
    // Not earlier: attention_rows and attention_finish rely on all before this kernel having
    // finished when they start.
    letNextStart();
    partial.start();
    const int position = a.positions[row * a.positionStride];
    UnitPart part = partial.sum();
    if (!isValue) {
        const float factor = normFactor(unitSquares(part), size, isQuery ? a.qEps : a.kEps);
#pragma unroll
        for (int i = 0; i < 4; ++i) part.v[i] = normed(part.v[i], factor, gamma.v[i]);
        if (a.turned && a.turns.halves) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float other = __shfl_sync(0xffffffffu, part.v[i], partner);
                const Rotation r = turnedTo(turns[i], position);
                if (holds)
                    part.v[i] = first ? rotatedFirst(part.v[i], other, r)
                                      : rotatedSecond(other, part.v[i], r);
            }
        } else if (holds) {
#pragma unroll
            for (int i = 0; i < 4; i += 2) {
                const Rotation r = turnedTo(turns[i], position);
                const float x = part.v[i], y = part.v[i + 1];
                part.v[i] = rotatedFirst(x, y, r);
                part.v[i + 1] = rotatedSecond(x, y, r);
            }
        }
    }
    if (isQuery) {
        if (a.qRows) {
            storeQuad(a.qRows + row * a.qStride + head * size, 4 * lane, size, part.v);
        } else if (4 * lane < size) {
            const __half2 pairs[2] = {
                __floats2half2_rn(__fmul_rn(part.v[0], a.scale), __fmul_rn(part.v[1], a.scale)),
                __floats2half2_rn(__fmul_rn(part.v[2], a.scale), __fmul_rn(part.v[3], a.scale))};
            *reinterpret_cast<uint2*>(a.halves + row * a.qStride + head * size + 4 * lane) =
                *reinterpret_cast<const uint2*>(pairs);
        }
        return;
    }
    const std::int64_t slot = position % a.capacity;
    std::uint8_t* const to =
        isValue ? a.values + slot * a.valueStride : a.keys + slot * a.keyStride;
    storeFour<kEight>(to + (kEight ? head * (size / 32 * 34) : head * size * 2), 4 * lane, size,
                      part.v);
}

template<bool kEight> __device__ __forceinline__ void kvWrite(const KvWriteArgs& a) {
    const int lane = threadIdx.x % 32;
    const std::int64_t units = unitsOf(a.columns);
    const std::int64_t index = std::int64_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    waitForPrevious();
    letNextStart();
    const bool isValue = index >= a.rows * units; // the same in a whole warp
    const std::int64_t job = isValue ? index - a.rows * units : index;
    if (job >= a.rows * units) return;
    const std::int64_t row = job / units, first = job % units * kUnitColumns;
    const UnitPart part =
        loadUnit(isValue ? a.v + row * a.vStride : a.k + row * a.kStride, first, a.columns, lane);
    const std::int64_t slot = a.positions[row * a.positionStride] % a.capacity;
    std::uint8_t* const to =
        isValue ? a.values + slot * a.valueStride : a.keys + slot * a.keyStride;
    storeFour<kEight>(to, first + 4 * lane, a.columns, part.v);
    storeFour<kEight>(to, first + 128 + 4 * lane, a.columns, part.v + 4);
}

} // namespace

extern "C" __global__ void __launch_bounds__(128, 8)
    attention_inputs_f16(const __grid_constant__ AttentionInputsArgs args) {
    attentionInputs<false>(args);
}
extern "C" __global__ void __launch_bounds__(128, 8)
    attention_inputs_q8_0(const __grid_constant__ AttentionInputsArgs args) {
    attentionInputs<true>(args);
}
extern "C" __global__ void __launch_bounds__(128)
    kv_write_f16(const __grid_constant__ KvWriteArgs args) {
    kvWrite<false>(args);
}
extern "C" __global__ void __launch_bounds__(128)
    kv_write_q8_0(const __grid_constant__ KvWriteArgs args) {
    kvWrite<true>(args);
}

extern "C" __global__ void __launch_bounds__(256) rope(const __grid_constant__ RopeArgs a) {
    waitForPrevious();
    letNextStart();
    // A thread turns its pair of every n-th head.
    const int pairs = a.turns.headSize / 2, atOnce = blockDim.x / pairs;
    const int firstHead = threadIdx.x / pairs, pair = threadIdx.x - firstHead * pairs;
    if (firstHead >= atOnce) return;
    const std::int64_t row = blockIdx.x;
    const Rotation r = rotationOf(a.turns, a.positions + row * a.positionStride, pair);
    for (int head = firstHead; head < a.heads; head += atOnce) {
        float* const x = a.x + row * a.xStride + head * a.turns.headSize;
        float& first = a.turns.halves ? x[pair] : x[2 * pair];
        float& second = a.turns.halves ? x[pair + pairs] : x[2 * pair + 1];
        const float u = first, v = second;
        first = rotatedFirst(u, v, r);
        second = rotatedSecond(u, v, r);
    }
}

} // namespace cuda

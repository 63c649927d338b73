// Operations on rows of any number: look-up, gathering, copies, norms, the 8-bit form, and what is
// done element by element.
//
// Math: norms, activation functions and the 8-bit form are those of row_math.cuh; look-ups those of
//   decode_blocks.cuh (bit-equal to engine/quant). Singles throughout; the 8-bit form is bit-equal
//   to the processor's, norms and activation functions agree with it within a few units of the last
//   place (their sums run in an order of their own, their exponentials are CUDA's).
// Shapes: rows_args.h. Any number of rows and columns, strides of whole floats; four columns at a
//   time where a row starts at a multiple of 16 bytes. Records (formats.h) for rows / 8 tiles
//   rounded up.
// Traffic: every operand once, norms their row twice (the second time out of the first or second
//   level cache). rows_quantize reads 4 bytes and writes 1.41 per column and row.
// Launch: element by element, gather and copy: blocks of 256 threads, grid (rows, pieces of 1,024
//   columns or words). Norms: one block of up to 32 warps per row, a warp takes every n-th unit;
//   rows of at most one unit: one warp each. rows_quantize: one block per record, one warp per row
//   of it. Shared memory: static, 4 KB.
// Needs: sm_75.
// Measured: H200 (ncu): rows_norm_quantize 14.5 us, rows_quantize 7 us for 512 rows of 6,656 and
//   4,096.

#include "cuda/kernels/decode_blocks.cuh"
#include "cuda/kernels/row_args.h"
#include "cuda/kernels/row_math.cuh"

namespace cuda {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ void start() {
    letNextStart();
    waitForPrevious();
}

__device__ __forceinline__ float notANumber() {
    return __uint_as_float(0x7fc00000u);
}

// ---- element by element: fn(x, y) of each element, or fn(x, 0) where there is no y

template<class Fn> __device__ __forceinline__ void eachElement(const RowElementArgs& a, Fn fn) {
    start();
    const std::int64_t row = blockIdx.x;
    const float* x = a.x + row * a.xStride;
    const float* y = a.y ? a.y + row * a.yStride : nullptr;
    float* out = a.out + row * a.outStride;
    const std::int64_t step = std::int64_t(gridDim.y) * kThreads * 4;
    for (std::int64_t c = (std::int64_t(blockIdx.y) * kThreads + threadIdx.x) * 4; c < a.columns;
         c += step) {
        float v[4], w[4] = {};
        loadQuad(x, c, a.columns, v);
        if (y) loadQuad(y, c, a.columns, w);
#pragma unroll
        for (int i = 0; i < 4; ++i) v[i] = fn(v[i], w[i]);
        storeQuad(out, c, a.columns, v);
    }
}

// ---- norms

// Rms norm of one row by a block: finish(unit, part) for every unit, its warp holding the part.
template<class Finish>
__device__ __forceinline__ void rmsNormRow(const float* x, const float* gamma, int columns,
                                           float eps, int lane, Finish finish) {
    __shared__ __align__(16) float sums[kMaxNormUnits];
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int units = static_cast<int>(unitsOf(columns));
    for (int u = warp; u < units; u += warps) {
        const float s = unitSquares(loadUnit(x, u * kUnitColumns, columns, lane));
        if (lane == 0) sums[u] = s;
    }
    __syncthreads();
    const float factor = normFactor(rowSum<kMaxNormUnits>(sums, units), columns, eps);
    for (int u = warp; u < units; u += warps) {
        UnitPart part = loadUnit(x, u * kUnitColumns, columns, lane);
        const UnitPart g = loadGamma(gamma, u * kUnitColumns, columns, lane);
#pragma unroll
        for (int i = 0; i < 8; ++i) part.v[i] = normed(part.v[i], factor, g.v[i]);
        finish(u, part);
    }
}

// Layer norm of one row by a block: finish(unit, part) for every unit, its warp holding the part.
template<class Finish>
__device__ __forceinline__ void layerNormRow(const float* x, const float* gamma, const float* beta,
                                             int columns, float eps, int lane, Finish finish) {
    __shared__ __align__(16) float sums[kMaxNormUnits];
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int units = static_cast<int>(unitsOf(columns));
    for (int u = warp; u < units; u += warps) {
        const float s = unitSum(loadUnit(x, u * kUnitColumns, columns, lane));
        if (lane == 0) sums[u] = s;
    }
    __syncthreads();
    const float mean = __fdiv_rn(rowSum<kMaxNormUnits>(sums, units), static_cast<float>(columns));
    __syncthreads(); // all have read the sums
    const auto difference = [&](int unit) {
        UnitPart part = loadUnit(x, unit * kUnitColumns, columns, lane);
#pragma unroll
        for (int i = 0; i < 8; ++i)
            part.v[i] = unit * kUnitColumns + unitColumn(lane, i) < columns
                            ? __fsub_rn(part.v[i], mean)
                            : 0.0f;
        return part;
    };
    for (int u = warp; u < units; u += warps) {
        const float s = unitSquares(difference(u));
        if (lane == 0) sums[u] = s;
    }
    __syncthreads();
    const float factor = normFactor(rowSum<kMaxNormUnits>(sums, units), columns, eps);
    for (int u = warp; u < units; u += warps) {
        UnitPart part = difference(u);
        const UnitPart g = loadGamma(gamma, u * kUnitColumns, columns, lane);
        UnitPart b = {};
        if (beta) b = loadUnit(beta, u * kUnitColumns, columns, lane);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const float y = __fmul_rn(part.v[i], factor);
            part.v[i] = beta ? __fmaf_rn(y, g.v[i], b.v[i]) : __fmul_rn(y, g.v[i]);
        }
        finish(u, part);
    }
}

// The 8-bit form of fn(x, y) of each element, or of fn(x, 0) where there is no y: one block per
// record, one warp per row of it.
template<class Fn> __device__ __forceinline__ void quantizeEach(const RowQuantizeArgs& a, Fn fn) {
    static_assert(kThreads == 32 * kTileRows, "one warp per row of a tile");
    start();
    const int lane = threadIdx.x % 32, unit = blockIdx.y;
    const std::int64_t row = std::int64_t(blockIdx.x) * kTileRows + threadIdx.x / 32;
    if (row >= a.out.rows) return;
    const std::int64_t first = std::int64_t(unit) * kUnitColumns;
    UnitPart part = loadUnit(a.x + row * a.xStride, first, a.out.columns, lane);
    UnitPart y = {};
    if (a.y) y = loadUnit(a.y + row * a.yStride, first, a.out.columns, lane);
#pragma unroll
    for (int i = 0; i < 8; ++i) part.v[i] = fn(part.v[i], y.v[i]);
    writeQuantized(a.out, row, unit, lane, part);
}

template<class Word> __device__ __forceinline__ void copyWords(const RowCopyArgs& a) {
    const std::int64_t row = blockIdx.x;
    const auto* from = reinterpret_cast<const Word*>(a.from + row * a.fromStride);
    auto* to = reinterpret_cast<Word*>(a.to + row * a.toStride);
    const std::int64_t words = a.rowBytes / std::int64_t(sizeof(Word));
    for (std::int64_t i = std::int64_t(blockIdx.y) * kThreads + threadIdx.x; i < words;
         i += std::int64_t(gridDim.y) * kThreads)
        to[i] = from[i];
}

} // namespace

// ---- look-up: one block per row and unit of 256 columns

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_embed(const __grid_constant__ RowEmbedArgs a) {
    constexpr int kMostBytes = 4 * kUnitColumns;
    __shared__ std::uint32_t staged[kMostBytes / 4 + 1];
    start();
    const std::int64_t row = blockIdx.x;
    const int unit = blockIdx.y, thread = threadIdx.x;
    const int column = unit * kUnitColumns + thread;
    float* out = a.out + row * a.outStride;
    const std::int64_t id = a.ids[row * a.idStride];
    if (id < 0 || id >= a.tableRows) {
        if (column < a.columns) out[column] = notANumber();
        return;
    }
    // The unit's bytes go through shared memory, word by word, since the table may lie in the
    // host's memory, where only whole and neighbouring accesses are fast. A row may start at an odd
    // half word.
    const std::int64_t offset = std::int64_t(unit) * a.unitBytes;
    const auto left = static_cast<int>(min(a.rowBytes - offset, std::int64_t(a.unitBytes)));
    const std::uint8_t* from = a.table + id * a.rowBytes + offset;
    const auto skip = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) & 3);
    const auto* words = reinterpret_cast<const std::uint32_t*>(from - skip);
    const int whole = (skip + left) / 4;
    for (int i = thread; i < whole; i += kThreads) staged[i] = words[i];
    auto* bytes = reinterpret_cast<std::uint8_t*>(staged);
    if (4 * whole + thread < skip + left)
        bytes[4 * whole + thread] = (from - skip)[4 * whole + thread];
    __syncthreads();
    if (column < a.columns)
        out[column] = decodeWeight(static_cast<engine::QuantType>(a.type), bytes + skip, thread);
}

// ---- gathering and copies

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_gather(const __grid_constant__ RowGatherArgs a) {
    start();
    const std::int64_t row = blockIdx.x;
    const std::int32_t* indices = a.indices + row * a.indexStride;
    float* out = a.out + row * a.outStride;
    const std::int64_t columns = a.columns * a.group;
    for (std::int64_t c = std::int64_t(blockIdx.y) * kThreads + threadIdx.x; c < columns;
         c += std::int64_t(gridDim.y) * kThreads) {
        const std::int64_t index = indices[c % a.group];
        out[c] =
            index >= 0 && index < a.xRows ? a.x[index * a.xStride + c / a.group] : notANumber();
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_copy(const __grid_constant__ RowCopyArgs a) {
    start();
    if (a.wordBytes == 16)
        copyWords<uint4>(a);
    else if (a.wordBytes == 4)
        copyWords<std::uint32_t>(a);
    else
        copyWords<std::uint16_t>(a);
}

// ---- norms

extern "C" __global__ void __launch_bounds__(1024)
    rows_rms_norm(const __grid_constant__ RowNormArgs a) {
    start();
    const int lane = threadIdx.x % 32;
    float* out = a.out + blockIdx.x * a.outStride;
    rmsNormRow(a.x + blockIdx.x * a.xStride, a.gamma, a.columns, a.eps, lane,
               [&](int unit, const UnitPart& part) {
                   storeUnit(out, unit * kUnitColumns, a.columns, lane, part);
               });
}

// Rows of at most one unit: one warp each.
extern "C" __global__ void __launch_bounds__(kThreads)
    rows_rms_norm_short(const __grid_constant__ RowNormArgs a) {
    start();
    const int lane = threadIdx.x % 32;
    const std::int64_t row = std::int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
    if (row >= a.rows) return;
    UnitPart part = loadUnit(a.x + row * a.xStride, 0, a.columns, lane);
    const UnitPart g = loadGamma(a.gamma, 0, a.columns, lane);
    const float factor = normFactor(unitSquares(part), a.columns, a.eps);
#pragma unroll
    for (int i = 0; i < 8; ++i) part.v[i] = normed(part.v[i], factor, g.v[i]);
    storeUnit(a.out + row * a.outStride, 0, a.columns, lane, part);
}

// out += norm(x)
extern "C" __global__ void __launch_bounds__(1024)
    rows_post_norm_add(const __grid_constant__ RowNormArgs a) {
    start();
    const int lane = threadIdx.x % 32;
    float* out = a.out + blockIdx.x * a.outStride;
    rmsNormRow(a.x + blockIdx.x * a.xStride, a.gamma, a.columns, a.eps, lane,
               [&](int unit, const UnitPart& part) {
                   UnitPart sum = loadUnit(out, unit * kUnitColumns, a.columns, lane);
#pragma unroll
                   for (int i = 0; i < 8; ++i) sum.v[i] = __fadd_rn(sum.v[i], part.v[i]);
                   storeUnit(out, unit * kUnitColumns, a.columns, lane, sum);
               });
}

extern "C" __global__ void __launch_bounds__(1024)
    rows_norm_quantize(const __grid_constant__ RowNormQuantizeArgs a) {
    start();
    const int lane = threadIdx.x % 32;
    const std::int64_t row = blockIdx.x;
    rmsNormRow(
        a.x + row * a.xStride, a.gamma, static_cast<int>(a.out.columns), a.eps, lane,
        [&](int unit, const UnitPart& part) { writeQuantized(a.out, row, unit, lane, part); });
}

extern "C" __global__ void __launch_bounds__(1024)
    rows_layer_norm(const __grid_constant__ RowNormArgs a) {
    start();
    const int lane = threadIdx.x % 32;
    float* out = a.out + blockIdx.x * a.outStride;
    layerNormRow(a.x + blockIdx.x * a.xStride, a.gamma, a.beta, a.columns, a.eps, lane,
                 [&](int unit, const UnitPart& part) {
                     storeUnit(out, unit * kUnitColumns, a.columns, lane, part);
                 });
}

extern "C" __global__ void __launch_bounds__(1024)
    rows_layer_norm_quantize(const __grid_constant__ RowNormQuantizeArgs a) {
    start();
    const int lane = threadIdx.x % 32;
    const std::int64_t row = blockIdx.x;
    layerNormRow(
        a.x + row * a.xStride, a.gamma, a.beta, static_cast<int>(a.out.columns), a.eps, lane,
        [&](int unit, const UnitPart& part) { writeQuantized(a.out, row, unit, lane, part); });
}

// The end of a half layer and the start of the next: a block per row, a warp per unit, which stays
// in registers.
extern "C" __global__ void __launch_bounds__(32 * kMaxResidualUnits)
    rows_residual(const __grid_constant__ RowResidualArgs a) {
    __shared__ __align__(16) float postSums[kMaxResidualUnits], nextSums[kMaxResidualUnits];
    start();
    const int lane = threadIdx.x % 32, unit = threadIdx.x / 32, units = blockDim.x / 32;
    const int first = unit * kUnitColumns;
    const std::int64_t row = blockIdx.x;
    // The sum of all units' squares, as every thread gets it.
    const auto factorOf = [&](float* sums, const UnitPart& part, float eps) {
        const float s = unitSquares(part);
        if (lane == 0) sums[unit] = s;
        __syncthreads();
        return normFactor(rowSum<kMaxResidualUnits>(sums, units), a.columns, eps);
    };
    float* const xRow = a.x + row * a.xStride;
    UnitPart y = loadUnit(a.y + row * a.yStride, first, a.columns, lane);
    UnitPart x = loadUnit(xRow, first, a.columns, lane);
    if (a.hasPost) {
        const UnitPart gamma = loadGamma(a.postGamma, first, a.columns, lane);
        const float factor = factorOf(postSums, y, a.postEps);
#pragma unroll
        for (int i = 0; i < 8; ++i) y.v[i] = normed(y.v[i], factor, gamma.v[i]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) x.v[i] = __fadd_rn(x.v[i], y.v[i]);
    storeUnit(xRow, first, a.columns, lane, x);
    if (!a.hasNext) return;
    const UnitPart gamma = loadGamma(a.nextGamma, first, a.columns, lane);
    const float factor = factorOf(nextSums, x, a.nextEps);
#pragma unroll
    for (int i = 0; i < 8; ++i) x.v[i] = normed(x.v[i], factor, gamma.v[i]);
    writeQuantized(a.out, row, unit, lane, x);
}

// ---- the 8-bit form

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_quantize(const __grid_constant__ RowQuantizeArgs a) {
    quantizeEach(a, [](float x, float) { return x; });
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_gelu_quantize(const __grid_constant__ RowQuantizeArgs a) {
    quantizeEach(a, [](float x, float) { return gelu(x); });
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_swiglu_quantize(const __grid_constant__ RowQuantizeArgs a) {
    quantizeEach(a, [](float gate, float up) { return swiglu(gate, up); });
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_gate_quantize(const __grid_constant__ RowQuantizeArgs a) {
    quantizeEach(a, [](float x, float gate) { return sigmoidGated(x, gate); });
}

// ---- element by element

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_add(const __grid_constant__ RowElementArgs a) {
    eachElement(a, [](float x, float y) { return __fadd_rn(x, y); });
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_sigmoid_gate(const __grid_constant__ RowElementArgs a) {
    eachElement(a, [](float x, float gate) { return sigmoidGated(x, gate); });
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_swiglu(const __grid_constant__ RowElementArgs a) {
    eachElement(a, [](float gate, float up) { return swiglu(gate, up); });
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_gelu(const __grid_constant__ RowElementArgs a) {
    eachElement(a, [](float x, float) { return gelu(x); });
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_softcap(const __grid_constant__ RowElementArgs a) {
    eachElement(a, [&](float z, float) { return softcapped(z, a.scale, a.cap); });
}

} // namespace cuda

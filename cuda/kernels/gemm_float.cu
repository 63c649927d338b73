// Products with float weights.
//
// Math: out[i][r] = sum over k of w[r][k] * x[i][k] in singles, in the float order of
//   engine/backend/int8_format.h: lane k % 32 adds its products by fma onto 0, ascending in k; then
//   lanes l and l + 16 are added, then + 8, + 4, + 2, + 1. K is filled up with zeros to a multiple
//   of
//   32. Bit-equal to the processor's reference for any number of rows, because that order leaves
//   nothing open: a lane of a warp is a lane of the sum, and each output has its own 32 of them.
// Shapes: w [weightRows][columns] F32, F16 or BF16 without gaps; x [rows][columns] and out
//   [rows][weightRows] F32 with any stride. Everything may be ragged. Rows that start at multiples
//   of 16 bytes are copied asynchronously, others element by element.
// Traffic: the tile kernel reads 48 weight rows and 32 rows per block: per 64 of K 14 KB (16-bit
//   weights) for 98,304 fma, that is 18.7 B per clock and multiprocessor at full fma rate. The
//   order costs a register per output and lane, so no larger tile fits. The row kernel reads each
//   weight once per 8 rows.
// Launch: gemm_float_tile: 512 threads, 1 block per multiprocessor (128 registers: 96 sums, 12
//   weights, 1 x), 60 or 42 KB shared memory in three stages. Per 32 of K a warp issues 96 fma, 20
//   shared loads and 12 conversions, so 75 % of the fma rate is the ceiling. gemm_float_rows: 256
//   threads, no shared memory. Block b makes row tile b % rowTiles, so that blocks which share
//   weights run together.
// Needs: sm_75; asynchronous copies from sm_80.
// Measured: H200, glint-cuda-prefill-bench: 17 to 19 TFLOPS for 128 and 512 rows.

#include "cuda/kernels/common.cuh"
#include "cuda/kernels/gemm_float_args.h"

#include <cuda_bf16.h>

namespace cuda {
namespace {

using Tile = GemmFloatTile;
using Rows = GemmFloatRows;

__device__ __forceinline__ float toFloat(float w) {
    return w;
}
__device__ __forceinline__ float toFloat(__half w) {
    return __half2float(w);
}
__device__ __forceinline__ float toFloat(__nv_bfloat16 w) {
    return __uint_as_float(std::uint32_t(__bfloat16_as_ushort(w)) << 16);
}

// Elements of zero bits are zeros in all three types.
template<class Element> __device__ __forceinline__ Element zeroOf() {
    return Element(0.0f);
}

// 16 bytes into shared memory, of which `valid` are read and the rest become zeros.
__device__ __forceinline__ void copy16(void* to, const void* from, int valid) {
#if __CUDA_ARCH__ >= 800 && !defined(GLINT_PLAIN_PATH)
    const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(valid)
                 : "memory");
#else
    uint4 v = make_uint4(0, 0, 0, 0);
    if (valid == 16) {
        v = *static_cast<const uint4*>(from);
    } else {
        // Whole elements of 2 or 4 bytes; sizes are even.
        auto* part = reinterpret_cast<std::uint16_t*>(&v);
        for (int i = 0; i < valid / 2; ++i) part[i] = static_cast<const std::uint16_t*>(from)[i];
    }
    *static_cast<uint4*>(to) = v;
#endif
}

__device__ __forceinline__ void endOfStage() {
#if __CUDA_ARCH__ >= 800 && !defined(GLINT_PLAIN_PATH)
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most `Newer` stages are still on their way.
template<int Newer> __device__ __forceinline__ void waitForStage() {
#if __CUDA_ARCH__ >= 800 && !defined(GLINT_PLAIN_PATH)
    asm volatile("cp.async.wait_group %0;" ::"n"(Newer) : "memory");
#endif
}

// Fills to[COUNT][kChunk] with rows first .. of a matrix, columns k .. k + kChunk - 1; zeros where
// the matrix ends.
template<int COUNT, class Element>
__device__ __forceinline__ void fill(Element* to, const Element* matrix, std::int64_t stride,
                                     int first, int rows, int k, int columns, bool aligned) {
    if (aligned) {
        constexpr int kElements = 16 / sizeof(Element), kPieces = Tile::kChunk / kElements;
#pragma unroll 1
        for (int i = threadIdx.x; i < COUNT * kPieces; i += Tile::kThreads) {
            const int row = i / kPieces, column = k + i % kPieces * kElements;
            const int left = first + row < rows ? min(columns - column, kElements) : 0;
            const Element* from = left > 0 ? matrix + (first + row) * stride + column : matrix;
            copy16(to + i * kElements, from, max(left, 0) * int(sizeof(Element)));
        }
    } else {
#pragma unroll 1
        for (int i = threadIdx.x; i < COUNT * Tile::kChunk; i += Tile::kThreads) {
            const int row = i / Tile::kChunk, column = k + i % Tile::kChunk;
            to[i] = first + row < rows && column < columns ? matrix[(first + row) * stride + column]
                                                           : zeroOf<Element>();
        }
    }
}

// Lane l gets the tree sum of v[l] over the warp, each in the order + 16, + 8, + 4, + 2, + 1: at
// every step a lane keeps half of the values and gives the other half to its partner.
template<int STEP = 16> __device__ __forceinline__ float transposedSums(float (&v)[32], int lane) {
    const bool upper = lane & STEP;
#pragma unroll
    for (int i = 0; i < STEP; ++i) {
        const float keep = upper ? v[i + STEP] : v[i], give = upper ? v[i] : v[i + STEP];
        v[i] = __fadd_rn(keep, __shfl_xor_sync(0xffffffffu, give, STEP));
    }
    if constexpr (STEP > 1) return transposedSums<STEP / 2>(v, lane);
    return v[0];
}

template<class Element> __device__ __forceinline__ void tileKernel(const GemmFloatArgs& args) {
    constexpr int kW = Tile::kWarpWeightRows, kX = Tile::kWarpRows, kChunk = Tile::kChunk;
    static_assert(kW * kX % 32 == 0);
    constexpr int kStageBytes = Tile::stageBytes(sizeof(Element));
    extern __shared__ __align__(16) unsigned char shared[];

    waitForPrevious();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warpW = warp % Tile::kWarpsAlongWeights * kW,
              warpX = warp / Tile::kWarpsAlongWeights * kX;
    const int firstW = int(blockIdx.x / args.rowTiles) * Tile::kWeightRows,
              firstX = int(blockIdx.x % args.rowTiles) * Tile::kRows;
    const auto* weights = static_cast<const Element*>(args.weights);
    const int chunks = (args.columns + kChunk - 1) / kChunk;

    const auto wOf = [&](int stage) {
        return reinterpret_cast<Element*>(shared + stage * kStageBytes);
    };
    const auto xOf = [&](int stage) {
        return reinterpret_cast<float*>(shared + stage * kStageBytes +
                                        kChunk * Tile::kWeightRows * sizeof(Element));
    };
    const auto load = [&](int chunk) {
        if (chunk < chunks) {
            const int stage = chunk % Tile::kStages, k = chunk * kChunk;
            fill<Tile::kWeightRows>(wOf(stage), weights, args.columns, firstW, args.weightRows, k,
                                    args.columns, args.alignedWeights);
            fill<Tile::kRows>(xOf(stage), args.x, args.xStride, firstX, args.rows, k, args.columns,
                              args.alignedX);
        }
        endOfStage(); // counts chunks, empty ones too
    };
    for (int chunk = 0; chunk < Tile::kStages - 1; ++chunk) load(chunk);

    float sum[kX][kW];
#pragma unroll
    for (int i = 0; i < kX; ++i)
#pragma unroll
        for (int r = 0; r < kW; ++r) sum[i][r] = 0;

    for (int chunk = 0; chunk < chunks; ++chunk) {
        waitForStage<Tile::kStages - 2>();
        __syncthreads(); // this chunk has come for everybody, and everybody has left the one before
        load(chunk + Tile::kStages - 1);
        const int stage = chunk % Tile::kStages;
        const Element* w = wOf(stage) + warpW * kChunk + lane;
        const float* x = xOf(stage) + warpX * kChunk + lane;
        // Whole steps of 32 only: a further step of zeros would turn a sum of -0 into 0.
        const int end = min(kChunk, (args.columns - chunk * kChunk + 31) / 32 * 32);
#pragma unroll 1
        for (int k = 0; k < end; k += 32) {
            float a[kW];
#pragma unroll
            for (int r = 0; r < kW; ++r) a[r] = toFloat(w[r * kChunk + k]);
#pragma unroll
            for (int i = 0; i < kX; ++i) {
                const float b = x[i * kChunk + k];
#pragma unroll
                for (int r = 0; r < kW; ++r) sum[i][r] = __fmaf_rn(a[r], b, sum[i][r]);
            }
        }
    }
    letNextStart();

#pragma unroll
    for (int part = 0; part < kW * kX / 32; ++part) {
        float v[32];
#pragma unroll
        for (int j = 0; j < 32; ++j) v[j] = sum[(part * 32 + j) / kW][(part * 32 + j) % kW];
        const float total = transposedSums(v, lane);
        const int at = part * 32 + lane;
        const int row = firstX + warpX + at / kW, weightRow = firstW + warpW + at % kW;
        if (row < args.rows && weightRow < args.weightRows)
            args.out[row * args.outStride + weightRow] = total;
    }
}

template<class Element> __device__ __forceinline__ void rowsKernel(const GemmFloatArgs& args) {
    constexpr int kW = Rows::kWarpWeightRows, kX = Rows::kRows, kAhead = 4;
    static_assert(kW * kX == 32);
    waitForPrevious();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int firstW = (int(blockIdx.x / args.rowTiles) * Rows::kWarps + warp) * kW,
              firstX = int(blockIdx.x % args.rowTiles) * kX;
    const int rows = min(kX, args.rows - firstX);
    const auto* weights = static_cast<const Element*>(args.weights);
    // Beyond the matrix the last row is read again and its sums are not stored.
    const Element* w[kW];
#pragma unroll
    for (int r = 0; r < kW; ++r)
        w[r] = weights + std::int64_t(min(firstW + r, args.weightRows - 1)) * args.columns;
    const float* x = args.x + firstX * args.xStride;

    float sum[kX][kW];
#pragma unroll
    for (int i = 0; i < kX; ++i)
#pragma unroll
        for (int r = 0; r < kW; ++r) sum[i][r] = 0;

    int k = lane;
    for (; k - lane + 32 * kAhead <= args.columns; k += 32 * kAhead) {
        Element a[kAhead][kW];
#pragma unroll
        for (int j = 0; j < kAhead; ++j)
#pragma unroll
            for (int r = 0; r < kW; ++r) a[j][r] = w[r][k + 32 * j];
#pragma unroll
        for (int i = 0; i < kX; ++i)
            if (i < rows)
#pragma unroll
                for (int j = 0; j < kAhead; ++j) {
                    const float b = x[i * args.xStride + k + 32 * j];
#pragma unroll
                    for (int r = 0; r < kW; ++r)
                        sum[i][r] = __fmaf_rn(toFloat(a[j][r]), b, sum[i][r]);
                }
    }
    for (; k - lane < args.columns; k += 32) {
        const bool inside = k < args.columns;
        float a[kW];
#pragma unroll
        for (int r = 0; r < kW; ++r) a[r] = inside ? toFloat(w[r][k]) : 0.0f;
#pragma unroll
        for (int i = 0; i < kX; ++i)
            if (i < rows) {
                const float b = inside ? x[i * args.xStride + k] : 0.0f;
#pragma unroll
                for (int r = 0; r < kW; ++r) sum[i][r] = __fmaf_rn(a[r], b, sum[i][r]);
            }
    }
    letNextStart();

    float v[32];
#pragma unroll
    for (int j = 0; j < 32; ++j) v[j] = sum[j / kW][j % kW];
    const float total = transposedSums(v, lane);
    const int row = lane / kW, weightRow = firstW + lane % kW;
    if (row < rows && weightRow < args.weightRows)
        args.out[(firstX + row) * args.outStride + weightRow] = total;
}

} // namespace

extern "C" {

__global__ void __launch_bounds__(Tile::kThreads, 1)
    gemm_float_tile_f32(const __grid_constant__ GemmFloatArgs args) {
    tileKernel<float>(args);
}
__global__ void __launch_bounds__(Tile::kThreads, 1)
    gemm_float_tile_f16(const __grid_constant__ GemmFloatArgs args) {
    tileKernel<__half>(args);
}
__global__ void __launch_bounds__(Tile::kThreads, 1)
    gemm_float_tile_bf16(const __grid_constant__ GemmFloatArgs args) {
    tileKernel<__nv_bfloat16>(args);
}
__global__ void __launch_bounds__(Rows::kThreads)
    gemm_float_rows_f32(const __grid_constant__ GemmFloatArgs args) {
    rowsKernel<float>(args);
}
__global__ void __launch_bounds__(Rows::kThreads)
    gemm_float_rows_f16(const __grid_constant__ GemmFloatArgs args) {
    rowsKernel<__half>(args);
}
__global__ void __launch_bounds__(Rows::kThreads)
    gemm_float_rows_bf16(const __grid_constant__ GemmFloatArgs args) {
    rowsKernel<__nv_bfloat16>(args);
}

} // extern "C"
} // namespace cuda

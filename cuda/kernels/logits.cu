// What is drawn from logits: the largest of a row, or its n largest in order; from rows of logits
// or straight from the sums of the head's product.
//
// Math: from rows no arithmetic; from sums what gemm_reduce and rows_softcap compute, with the same
//   bits. A value and its place become one key of 64 bits that orders as the contract says: larger
//   values first, lower indices first among equals, -0 equal to 0. The largest: what is not a
//   number is passed over; the n largest: it counts as minus infinity. Keys are all different, so
//   the result does not depend on which block or thread sees them when.
// Shapes: z F32 [rows, columns], up to 32 rows and 128 parts of 8,192 columns, or PartialSums of up
//   to 16 rows; ids I32 and values F32 [rows, n], n up to 64.
// Traffic: the logits once: 808 KB per row of 202,048 columns; or each segment of the sums once, in
//   runs of 64 bytes. The logits themselves are not written.
// Launch: grid (parts, rows), 256 threads, 32 columns each in registers (of sums 16, which take a
//   division and a tanh each: parts of 4,096). The block of a row that arrives last joins the
//   results of all its parts, so that one launch does. The n largest: the n-th largest of the 256
//   threads' own largest keys is a bound that at least n keys of the part reach, and only keys of n
//   threads can reach it; those are gathered and sorted. Shared memory 16 KB.
// Needs: sm_75.
// Measured: H200 (ncu): logits_argmax 9.2 us for 15 rows of 202,048.

#include "cuda/kernels/common.cuh"
#include "cuda/kernels/row_args.h"
#include "cuda/kernels/row_math.cuh"

namespace cuda {
namespace {

using Key = unsigned long long; // 0: no value

constexpr int kMostCandidates = kMaxTopValues * kLogitPerThread;

struct TopKeys {
    Key keys[kMostCandidates];
    int count;
};

__device__ __forceinline__ Key keyOf(float z, std::uint32_t index) {
    const std::uint32_t bits = __float_as_uint(__fadd_rn(z, 0.0f)); // -0 becomes 0
    const std::uint32_t ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
    return Key(ordered) << 32 | (0xffffffffu - index);
}

__device__ __forceinline__ std::int32_t indexOf(Key key) {
    return static_cast<std::int32_t>(0xffffffffu - static_cast<std::uint32_t>(key));
}

__device__ __forceinline__ float minusInfinity() {
    return __uint_as_float(0xff800000u);
}

// Where the values of a row come from. quads(): those of columns first + 1,024 j .. + 3 into v[4 j]
// .. (first a multiple of 4); columns that the row lacks hold anything.
struct LogitRow {
    static constexpr int kPerThread = kLogitPerThread;
    const float* row;
    std::int64_t columns;

    __device__ __forceinline__ LogitRow(const LogitArgs& a)
        : row(a.z + blockIdx.y * a.zStride), columns(a.columns) {}
    __device__ __forceinline__ void quads(int first, float* v) const {
#pragma unroll
        for (int j = 0; j < kPerThread / 4; ++j)
            loadQuad(row, first + 4 * kLogitThreads * j, columns, v + 4 * j);
    }
    __device__ __forceinline__ float at(int column) const {
        return row[column];
    }
};

struct HeadRow {
    static constexpr int kPerThread = kHeadPerThread;
    const float* sums;
    std::int64_t segmentFloats;
    int segments, rowTiles, rows;
    float scale, cap;

    __device__ __forceinline__ HeadRow(const HeadArgs& a)
        : sums(a.sums.data + 16 * blockIdx.y),
          segmentFloats(std::int64_t(a.sums.rowTiles) * a.sums.columns * 16),
          segments(a.sums.segments), rowTiles(a.sums.rowTiles), rows(a.sums.columns),
          scale(a.scale), cap(a.cap) {}
    __device__ __forceinline__ std::int64_t offset(int column) const {
        return std::int64_t(column / 16) * rows * 16 + column % 16;
    }
    // The loads of two segments are in flight together: the heads of the usual models have two at
    // most, or one.
    __device__ __forceinline__ void quads(int first, float* v) const {
        constexpr int kQuads = kPerThread / 4, kBatch = 2;
        for (int start = 0; start < segments; start += kBatch) {
            float4 f[kBatch][kQuads];
#pragma unroll
            for (int s = 0; s < kBatch; ++s)
#pragma unroll
                for (int j = 0; j < kQuads; ++j) {
                    const int column = first + 4 * kLogitThreads * j;
                    f[s][j] = start + s < segments && column < 16 * rowTiles
                                  ? *reinterpret_cast<const float4*>(
                                        sums + (start + s) * segmentFloats + offset(column))
                                  : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                }
#pragma unroll
            for (int s = 0; s < kBatch; ++s)
#pragma unroll
                for (int j = 0; j < kQuads; ++j) {
                    float* const quad = v + 4 * j;
                    if (start + s == 0) {
                        quad[0] = f[s][j].x, quad[1] = f[s][j].y;
                        quad[2] = f[s][j].z, quad[3] = f[s][j].w;
                    } else if (start + s < segments) {
                        quad[0] = __fadd_rn(quad[0], f[s][j].x);
                        quad[1] = __fadd_rn(quad[1], f[s][j].y);
                        quad[2] = __fadd_rn(quad[2], f[s][j].z);
                        quad[3] = __fadd_rn(quad[3], f[s][j].w);
                    }
                }
        }
#pragma unroll
        for (int i = 0; i < kPerThread; ++i) v[i] = softcapped(v[i], scale, cap);
    }
    __device__ __forceinline__ float at(int column) const {
        const float* const from = sums + offset(column);
        float sum = from[0];
        for (int s = 1; s < segments; ++s) sum = __fadd_rn(sum, from[s * segmentFloats]);
        return softcapped(sum, scale, cap);
    }
};

// The part of a row that a block looks at; a thread holds 4 columns of every 1,024.
template<class Row> struct RowPart {
    float v[Row::kPerThread];
    int first; // of the thread

    __device__ __forceinline__ explicit RowPart(const Row& row)
        : first(static_cast<int>(blockIdx.x) * Row::kPerThread * kLogitThreads +
                4 * static_cast<int>(threadIdx.x)) {
        row.quads(first, v);
    }
    __device__ __forceinline__ int column(int i) const {
        return first + 4 * kLogitThreads * (i / 4) + i % 4;
    }
};

// Whether this block is the last of its row's to arrive. What the others wrote before can be read
// then (past the first-level cache).
__device__ __forceinline__ bool lastOfRow(LogitScratch& scratch) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicInc(&scratch.arrived[blockIdx.y], gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    __threadfence();
    return last;
}

// Largest key of the block, in thread 0.
__device__ __forceinline__ Key largestOfBlock(Key key) {
    __shared__ Key ofWarps[kLogitThreads / 32];
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 16; step >= 1; step /= 2)
        key = max(key, __shfl_xor_sync(0xffffffffu, key, step));
    __syncthreads(); // an earlier call has been read
    if (lane == 0) ofWarps[threadIdx.x / 32] = key;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < kLogitThreads / 32; ++w) key = max(key, ofWarps[w]);
    return key;
}

// Sorts `size` keys, a power of two, largest first. The whole block calls it, after a barrier; it
// ends with one. A warp's 32 pairs of steps up to 32 lie within the same 64 keys, so those steps
// need no barrier of the block.
__device__ __forceinline__ void sortDescending(Key* keys, int size) {
    for (int run = 2; run <= size; run *= 2)
        for (int step = run / 2; step > 0; step /= 2) {
            for (int p = threadIdx.x; p < size / 2; p += kLogitThreads) {
                const int low = 2 * p - (p & (step - 1)), high = low + step;
                const Key a = keys[low], b = keys[high];
                const bool descending = (low & run) == 0;
                if ((a < b) == descending) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
            const int next = step > 1 ? step / 2 : run;
            if (step > 32 || next > 32)
                __syncthreads();
            else
                __syncwarp();
        }
    __syncthreads();
}

// The n largest of the block's keys, largest first, into top.keys[0 .. n - 1]; 0 where there are
// fewer. keyAt(i): key i of this thread.
template<int kCount, class KeyAt>
__device__ __forceinline__ void selectTop(KeyAt keyAt, int n, TopKeys& top) {
    Key best = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) best = max(best, keyAt(i));
    __syncthreads(); // an earlier call's keys have been read
    top.keys[threadIdx.x] = best;
    if (threadIdx.x == 0) top.count = 0;
    __syncthreads();
    sortDescending(top.keys, kLogitThreads);
    const Key bound = top.keys[n - 1];
    __syncthreads();
    if (best >= bound)
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            const Key key = keyAt(i);
            if (key >= bound && key != 0) top.keys[atomicAdd(&top.count, 1)] = key;
        }
    __syncthreads();
    int size = kMaxTopValues;
    while (size < top.count) size *= 2;
    for (int i = top.count + threadIdx.x; i < size; i += kLogitThreads) top.keys[i] = 0;
    __syncthreads();
    sortDescending(top.keys, size);
}

template<class Row> __device__ __forceinline__ void argmax(const LogitArgs& a, const Row& row) {
    LogitScratch& scratch = *a.scratch;
    Key* keys = scratch.keys[blockIdx.y];
    Key best = 0;
    {
        const RowPart<Row> part(row);
#pragma unroll
        for (int i = 0; i < Row::kPerThread; ++i)
            if (part.column(i) < a.columns && part.v[i] == part.v[i])
                best = max(best, keyOf(part.v[i], part.column(i)));
    }
    best = largestOfBlock(best);
    if (threadIdx.x == 0) keys[blockIdx.x] = best;
    if (!lastOfRow(scratch)) return;
    best = threadIdx.x < gridDim.x ? __ldcg(keys + threadIdx.x) : 0;
    best = largestOfBlock(best);
    if (threadIdx.x == 0) a.ids[blockIdx.y * a.idStride] = best ? indexOf(best) : 0;
}
static_assert(kMaxLogitParts <= kLogitThreads, "one key per thread at the end");

template<class Row> __device__ __forceinline__ void largest(const LogitArgs& a, const Row& row) {
    __shared__ TopKeys top;
    LogitScratch& scratch = *a.scratch;
    Key* keys = scratch.keys[blockIdx.y];
    const int thread = threadIdx.x;
    {
        const RowPart<Row> part(row);
        const auto keyAt = [&](int i) -> Key {
            const float z = part.v[i] == part.v[i] ? part.v[i] : minusInfinity();
            return part.column(i) < a.columns ? keyOf(z, part.column(i)) : 0;
        };
        selectTop<Row::kPerThread>(keyAt, a.n, top);
    }
    if (thread < a.n) keys[blockIdx.x * a.n + thread] = top.keys[thread];
    if (!lastOfRow(scratch)) return;
    {
        const int count = static_cast<int>(gridDim.x) * a.n;
        Key own[kLogitPerThread];
#pragma unroll
        for (int i = 0; i < kLogitPerThread; ++i) {
            const int at = i * kLogitThreads + thread;
            own[i] = at < count ? __ldcg(keys + at) : 0;
        }
        selectTop<kLogitPerThread>([&](int i) -> Key { return own[i]; }, a.n, top);
    }
    if (thread < a.n) {
        const std::int32_t index = indexOf(top.keys[thread]);
        const float z = row.at(index);
        a.ids[blockIdx.y * a.idStride + thread] = index;
        a.values[blockIdx.y * a.valueStride + thread] = z == z ? z : minusInfinity();
    }
}

} // namespace

extern "C" __global__ void __launch_bounds__(kLogitThreads)
    logits_argmax(const __grid_constant__ LogitArgs a) {
    letNextStart();
    waitForPrevious();
    argmax(a, LogitRow(a));
}

extern "C" __global__ void __launch_bounds__(kLogitThreads, 2)
    logits_largest(const __grid_constant__ LogitArgs a) {
    letNextStart();
    waitForPrevious();
    largest(a, LogitRow(a));
}

extern "C" __global__ void __launch_bounds__(kLogitThreads)
    head_argmax(const __grid_constant__ HeadArgs a) {
    letNextStart();
    waitForPrevious();
    argmax(a.logits, HeadRow(a));
}

extern "C" __global__ void __launch_bounds__(kLogitThreads, 2)
    head_largest(const __grid_constant__ HeadArgs a) {
    letNextStart();
    waitForPrevious();
    largest(a.logits, HeadRow(a));
}

} // namespace cuda

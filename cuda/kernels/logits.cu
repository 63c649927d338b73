// What is drawn from logits: the largest of a row, or its n largest in order.
//
// Math: no arithmetic. A value and its place become one key of 64 bits that orders as the contract
//   says: larger values first, lower indices first among equals, -0 equal to 0. The largest: what
//   is not a number is passed over; the n largest: it counts as minus infinity. Keys are all
//   different, so the result does not depend on which block or thread sees them when.
// Shapes: z F32 [rows, columns], up to 32 rows and 128 parts of 8,192 columns; ids I32 and values
// F32
//   [rows, n], n up to 64.
// Traffic: the logits once: 808 KB per row of 202,048 columns.
// Launch: grid (parts, rows), 256 threads, 32 columns each in registers. The block of a row that
//   arrives last joins the results of all its parts, so that one launch does. logits_largest: the
//   n-th largest of the 256 threads' own largest keys is a bound that at least n keys of the part
//   reach, and only keys of n threads can reach it; those are gathered and sorted. Shared memory
//   16 KB.
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

// The part of a row that a block looks at; a thread holds 4 columns of every 1,024.
struct RowPart {
    float v[kLogitPerThread];
    int first; // of the thread
    int columns;

    __device__ __forceinline__ RowPart(const LogitArgs& a)
        : first(static_cast<int>(blockIdx.x) * kLogitPart + 4 * static_cast<int>(threadIdx.x)),
          columns(a.columns) {
        const float* row = a.z + blockIdx.y * a.zStride;
#pragma unroll
        for (int j = 0; j < kLogitPerThread / 4; ++j)
            loadQuad(row, first + 4 * kLogitThreads * j, columns, v + 4 * j);
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
template<class KeyAt> __device__ __forceinline__ void selectTop(KeyAt keyAt, int n, TopKeys& top) {
    Key best = 0;
#pragma unroll
    for (int i = 0; i < kLogitPerThread; ++i) best = max(best, keyAt(i));
    __syncthreads(); // an earlier call's keys have been read
    top.keys[threadIdx.x] = best;
    if (threadIdx.x == 0) top.count = 0;
    __syncthreads();
    sortDescending(top.keys, kLogitThreads);
    const Key bound = top.keys[n - 1];
    __syncthreads();
    if (best >= bound)
#pragma unroll
        for (int i = 0; i < kLogitPerThread; ++i) {
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

} // namespace

extern "C" __global__ void __launch_bounds__(kLogitThreads)
    logits_argmax(const __grid_constant__ LogitArgs a) {
    letNextStart();
    waitForPrevious();
    LogitScratch& scratch = *a.scratch;
    Key* keys = scratch.keys[blockIdx.y];
    Key best = 0;
    {
        const RowPart part(a);
#pragma unroll
        for (int i = 0; i < kLogitPerThread; ++i)
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

extern "C" __global__ void __launch_bounds__(kLogitThreads, 2)
    logits_largest(const __grid_constant__ LogitArgs a) {
    __shared__ TopKeys top;
    letNextStart();
    waitForPrevious();
    LogitScratch& scratch = *a.scratch;
    Key* keys = scratch.keys[blockIdx.y];
    const int thread = threadIdx.x;
    {
        const RowPart part(a);
        const auto keyAt = [&](int i) -> Key {
            const float z = part.v[i] == part.v[i] ? part.v[i] : minusInfinity();
            return part.column(i) < a.columns ? keyOf(z, part.column(i)) : 0;
        };
        selectTop(keyAt, a.n, top);
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
        selectTop([&](int i) -> Key { return own[i]; }, a.n, top);
    }
    if (thread < a.n) {
        const std::int32_t index = indexOf(top.keys[thread]);
        const float z = a.z[blockIdx.y * a.zStride + index];
        a.ids[blockIdx.y * a.idStride + thread] = index;
        a.values[blockIdx.y * a.valueStride + thread] = z == z ? z : minusInfinity();
    }
}

} // namespace cuda

// Kernels that do nothing but what everything is held against: reading memory once, and being
// launched.
//
// Math     none: words are combined so that no load can be left out.
// Shapes   any buffer, 16-byte aligned.
// Traffic  `bytes` read, nothing written.
// Launch   a few blocks of 512 threads per multiprocessor, four independent 16-byte loads a thread.
// Needs    every architecture.

#include "cuda/kernels/ceilings_args.h"
#include "cuda/kernels/common.cuh"

extern "C" __global__ void __launch_bounds__(512)
    read_all(const __grid_constant__ cuda::ReadAllArgs args) {
    cuda::waitForPrevious();
    const auto* words = reinterpret_cast<const uint4*>(args.data);
    const std::int64_t count = args.bytes / 16;
    const std::int64_t stride = std::int64_t(gridDim.x) * blockDim.x;
    std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    std::uint32_t mixed = 0;
    for (; i + 3 * stride < count; i += 4 * stride) {
        uint4 w[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) w[j] = __ldcs(words + i + j * stride);
#pragma unroll
        for (int j = 0; j < 4; ++j) mixed += (w[j].x ^ w[j].y) + (w[j].z ^ w[j].w);
    }
    for (; i < count; i += stride) {
        const uint4 w = __ldcs(words + i);
        mixed += (w.x ^ w.y) + (w.z ^ w.w);
    }
    if (mixed == 0x9e3779b9u) *args.sink = mixed;
}

extern "C" __global__ void empty_kernel(const __grid_constant__ cuda::EmptyArgs) {
    cuda::waitForPrevious();
}

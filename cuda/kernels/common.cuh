#pragma once
// What every kernel file needs: the overlap of dependent launches, and warp sums in a fixed order.

#include "cuda/kernels/formats.h"

#include <cstddef>
#include <cstdint>
#include <cuda_fp16.h>

namespace cuda {

// Waits until everything launched before has finished and its writes can be seen. Every thread of
// every kernel calls it before it touches memory that another kernel writes or reads. Weights never
// change and may be fetched before; so may what was complete before the previous kernel could let
// this one start, past the L1, which may hold what was there before (attention_rows.cu).
__device__ __forceinline__ void waitForPrevious() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel start its independent part. It still waits for this one to finish.
__device__ __forceinline__ void letNextStart() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// A number or an address that the compiler knows nothing about: it is computed here and stays in a
// register, where it would otherwise be computed later, or anew and anew.
template<class T> __device__ __forceinline__ T kept(T value) {
    static_assert(sizeof(T) == 4, "one register");
    asm volatile("" : "+r"(value));
    return value;
}
// An address of global memory, which the compiler is told again.
template<class T> __device__ __forceinline__ const T* kept(const T* address) {
    std::size_t global = __cvta_generic_to_global(address);
    asm volatile("" : "+l"(global));
    return static_cast<const T*>(__cvta_global_to_generic(global));
}

__device__ __forceinline__ std::uint32_t sharedAddress(const void* p) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

// Sum over the warp in the order of int8_format.h: lanes l and l + 16, then + 8, + 4, + 2, + 1.
// Every lane gets the same bits.
__device__ __forceinline__ float warpSum(float x) {
#pragma unroll
    for (int step = 16; step >= 1; step /= 2)
        x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

} // namespace cuda

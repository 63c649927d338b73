#pragma once
// Copies from global to shared memory that run by themselves, and the barriers that say when they
// are there. Three forms with the same meaning:
//   sm_90 and later   cp.async.bulk, one instruction for a whole piece, and mbarrier
//   sm_80 to sm_89    cp.async, 16 bytes per lane, and mbarrier; GLINT_ASYNC_PATH compiles this
//                     form for later cards
//   sm_75             plain loads and stores, and barriers of two shared counters. GLINT_PLAIN_PATH
//                     compiles this form for any card.
//
// A barrier counts arrivals; when all that were announced have come, its phase is over and the next
// begins. Phases are told apart by parity: the first has 0, the second 1, and so on. A waiter must
// not be two phases behind.

#include "cuda/kernels/common.cuh"

#include <cstdint>

#if defined(__CUDA_ARCH__) && !defined(GLINT_PLAIN_PATH)
#    if __CUDA_ARCH__ >= 900 && !defined(GLINT_ASYNC_PATH)
#        define GLINT_BULK_COPY
#    elif __CUDA_ARCH__ >= 800
#        define GLINT_ASYNC_COPY
#    endif
#endif

namespace cuda {

struct alignas(8) SharedBarrier {
    std::uint32_t words[2]; // plain form: arrivals still missing; parity + 2 * arrivals of a phase
};

// What lies at such an address.
template<class T> __device__ __forceinline__ T& sharedAt(std::uint32_t address) {
    return *static_cast<T*>(__cvta_shared_to_generic(address));
}

// By one thread; then publishBarriers() by the same, then __syncthreads() or a barrier of the
// cluster by all.
__device__ __forceinline__ void initBarrier(SharedBarrier& barrier, unsigned arrivals) {
#if defined(GLINT_BULK_COPY) || defined(GLINT_ASYNC_COPY)
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(sharedAddress(&barrier)), "r"(arrivals)
                 : "memory");
#else
    barrier.words[0] = arrivals;
    barrier.words[1] = 2 * arrivals;
#endif
}

__device__ __forceinline__ void publishBarriers() {
#if defined(GLINT_BULK_COPY)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// One arrival. What the thread did before can be seen by whoever waits for the phase.
__device__ __forceinline__ void arrive(SharedBarrier& barrier) {
#if defined(GLINT_BULK_COPY) || defined(GLINT_ASYNC_COPY)
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(
                     sharedAddress(&barrier))
                 : "memory");
#else
    __threadfence_block();
    if (atomicSub(&barrier.words[0], 1u) == 1u) {
        // The last one. Nobody arrives again before the parity changes.
        volatile std::uint32_t* const words = barrier.words;
        const std::uint32_t phase = words[1];
        words[0] = phase >> 1;
        __threadfence_block();
        words[1] = phase ^ 1u;
    }
#endif
}

#if defined(GLINT_BULK_COPY)
// One arrival, and so many bytes that the phase waits for as well.
__device__ __forceinline__ void arriveExpecting(SharedBarrier& barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(sharedAddress(&barrier)),
                 "r"(bytes)
                 : "memory");
}
#endif

// Until the phase of this parity is over.
__device__ __forceinline__ void wait(SharedBarrier& barrier, unsigned parity) {
#if defined(GLINT_BULK_COPY)
    asm volatile("{\n.reg .pred done;\n"
                 "AGAIN:\nmbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
                 "@done bra OVER;\nbra AGAIN;\nOVER:\n}" ::"r"(sharedAddress(&barrier)),
                 "r"(parity)
                 : "memory");
#elif defined(GLINT_ASYNC_COPY)
    asm volatile("{\n.reg .pred done;\n"
                 "AGAIN:\nmbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
                 "@done bra OVER;\nbra AGAIN;\nOVER:\n}" ::"r"(sharedAddress(&barrier)),
                 "r"(parity)
                 : "memory");
#else
    const volatile std::uint32_t* const words = barrier.words;
    while ((words[1] & 1u) == parity) __nanosleep(40);
    __threadfence_block();
#endif
}

#if defined(GLINT_BULK_COPY)
// The same for what other blocks of the cluster have sent.
__device__ __forceinline__ void waitForCluster(SharedBarrier& barrier, unsigned parity) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "AGAIN:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
        "@done bra OVER;\nbra AGAIN;\nOVER:\n}" ::"r"(sharedAddress(&barrier)),
        "r"(parity)
        : "memory");
}
#endif

// Arrivals that copyToShared adds to the barrier it is given.
__device__ __forceinline__ unsigned copyArrivals() {
#if defined(GLINT_ASYNC_COPY)
    return 32;
#else
    return 1;
#endif
}

// For data that is read once: it leaves the L2 first.
__device__ __forceinline__ std::uint64_t readOncePolicy() {
    std::uint64_t policy = 0;
#if defined(GLINT_BULK_COPY) || defined(GLINT_ASYNC_COPY)
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#endif
    return policy;
}

// Starts a copy, by a whole warp; `bytes` and both addresses are multiples of 16. `there` gets
// copyArrivals() arrivals when the data has come. What was read or written at `to` before must be
// over, as barriers tell.
__device__ __forceinline__ void copyToShared(void* to, const void* from, unsigned bytes,
                                             SharedBarrier& there, std::uint64_t policy, int lane) {
#if defined(GLINT_BULK_COPY)
    if (lane == 0) {
        // Ordinary accesses to this memory come before those of the copy engine.
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        arriveExpecting(there, bytes);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(sharedAddress(to)),
                     "l"(from), "r"(bytes), "r"(sharedAddress(&there)), "l"(policy)
                     : "memory");
    }
#elif defined(GLINT_ASYNC_COPY)
    const std::uint32_t at = sharedAddress(to);
    const auto* source = static_cast<const std::uint8_t*>(from);
#    pragma unroll 8
    for (unsigned offset = 16 * lane; offset < bytes; offset += 512)
        asm volatile(
            "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(at + offset),
            "l"(source + offset), "l"(policy)
            : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(sharedAddress(&there))
                 : "memory");
#else
    (void)policy;
    auto* const target = static_cast<uint4*>(to);
    const auto* const source = static_cast<const uint4*>(from);
#    pragma unroll 8
    for (unsigned i = lane; i < bytes / 16; i += 32) target[i] = source[i];
    __threadfence_block();
    __syncwarp();
    if (lane == 0) arrive(there);
#endif
}

// Before a warp that started copies ends.
__device__ __forceinline__ void finishCopies() {
#if defined(GLINT_ASYNC_COPY)
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

} // namespace cuda

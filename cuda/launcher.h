#pragma once
// Launcher: starts kernels of the table on the backend's one compute stream. The first failure is
// remembered and everything after it does nothing (backend.h, Errors).
//
// A kernel takes one argument, a plain struct by value (`const __grid_constant__ Args`). Kernels
// are launched with programmatic overlap where the card has it (compute capability 9.0 and later):
// every kernel calls waitForPrevious() (common.cuh, with the exceptions) in every thread before it
// touches memory that an earlier kernel wrote or reads, and may fetch weights before that.
//
// Engine thread.

#include "cuda/kernel_table.h"

#include <cstddef>
#include <type_traits>

namespace cuda {

struct LaunchShape {
    unsigned gridX = 1, gridY = 1, gridZ = 1;
    unsigned threads = 32;    // per block
    unsigned sharedBytes = 0; // dynamic; at most what kernel_list.inc states for the kernel
};

class Launcher {
public:
    virtual ~Launcher() = default;

    template<class Args> void run(KernelId kernel, const LaunchShape& shape, const Args& args) {
        static_assert(std::is_trivially_copyable_v<Args> && sizeof(Args) <= 4096);
        launch(kernel, shape, &args, sizeof(Args));
    }
    virtual int multiprocessors() const = 0;
    virtual int computeCapability() const = 0;   // 75, 80, ..., 120
    virtual int sharedBytesPerBlock() const = 0; // most dynamic shared memory a block may ask for

protected:
    virtual void launch(KernelId kernel, const LaunchShape& shape, const void* args,
                        std::size_t argBytes) = 0;
};

} // namespace cuda

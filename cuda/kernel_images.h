#pragma once
// The compiled kernel files as they are embedded in the program: for each file of kernels/ machine
// code for every card of the build and, of the newest, code that the driver translates.

#include <cstddef>
#include <span>
#include <string_view>

namespace cuda {

struct KernelImage {
    std::string_view name; // file in kernels/, without its ending
    std::span<const std::byte> bytes;
};

// What the program runs.
std::span<const KernelImage> builtinImages();

// The same kernels as the oldest card would run them, for tests: only in their programs.
std::span<const KernelImage> plainImages();

// The kernels of copy.cuh as cards of sm_80 to sm_89 would run them, for tests as well.
std::span<const KernelImage> asyncImages();

} // namespace cuda

#pragma once
// Every kernel by name. kernel_list.inc has one line per kernel; all are looked up when a backend
// is made, so that a missing kernel is an error at start, never within an answer.

#include <cstdint>
#include <string_view>

namespace cuda {

enum class KernelId : std::uint16_t {
#define GLINT_KERNEL(name, image, sharedBytes) name,
#include "cuda/kernel_list.inc"
#undef GLINT_KERNEL
    kCount
};

// As much as the card has room for beside the kernel's own variables.
inline constexpr int kAllShared = 1 << 20;

struct KernelInfo {
    std::string_view name;  // extern "C" name in the image
    std::string_view image; // file in kernels/, without its ending
    int sharedBytes = 0;    // most dynamic shared memory it is launched with, or kAllShared
};

const KernelInfo& kernelInfo(KernelId kernel);

} // namespace cuda

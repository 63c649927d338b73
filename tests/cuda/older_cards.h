#pragma once
// The kernels as older cards run them, on the card at hand.

#include "cuda/cuda_backend.h"
#include "cuda/kernel_images.h"

#include <utility>
#include <vector>

namespace cuda::test {

// options.images points into `images`: hence no copies.
struct KernelSet {
    const char* name;
    std::vector<KernelImage> images; // none: the program's own
    CudaOptions options;

    KernelSet(const char* called, std::vector<KernelImage> theirs, CardLimits limits)
        : name(called), images(std::move(theirs)) {
        options.images = images;
        options.limits = limits;
    }
    KernelSet(const KernelSet&) = delete;
    KernelSet& operator=(const KernelSet&) = delete;
};

inline KernelSet ownKernels() {
    return {"own", {}, {}};
}

// sm_75: copies are plain loads and stores, which a block waits for, and an mma of the later cards
// is several small ones.
inline KernelSet oldestKernels() {
    const auto images = plainImages();
    return {"plain", {images.begin(), images.end()}, {kOldestCapability, 64 << 10}};
}

// Copies of 16 bytes a lane: sm_80 to sm_89.
inline KernelSet asyncKernels() {
    std::vector<KernelImage> images(builtinImages().begin(), builtinImages().end());
    for (KernelImage& image : images)
        for (const KernelImage& each : asyncImages())
            if (each.name == image.name) image = each;
    return {"async", std::move(images), {86, 99 << 10}};
}

} // namespace cuda::test

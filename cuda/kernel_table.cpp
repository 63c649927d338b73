#include "cuda/kernel_table.h"

#include "engine/base/check.h"

#include <array>

namespace cuda {

const KernelInfo& kernelInfo(KernelId kernel) {
    static constexpr auto kTable = std::to_array<KernelInfo>({
#define GLINT_KERNEL(name, image, sharedBytes) {#name, #image, sharedBytes},
#include "cuda/kernel_list.inc"
#undef GLINT_KERNEL
    });
    CHECK(std::size_t(kernel) < kTable.size());
    return kTable[std::size_t(kernel)];
}

} // namespace cuda

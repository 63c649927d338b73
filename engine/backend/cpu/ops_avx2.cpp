// The kernels for AVX2, FMA and F16C. See kernel_table.h.

#include "engine/backend/cpu/kernel_table.h"

#include "engine/backend/cpu/lanes_avx2.h"

#include "engine/backend/cpu/float_kernels.inl"
#include "engine/backend/cpu/int8_kernels.inl"

namespace engine {

const KernelTable& avx2Kernels() {
    return tableOf("AVX2");
}

} // namespace engine

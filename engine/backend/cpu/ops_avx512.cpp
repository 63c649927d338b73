// The kernels for AVX-512 F, BW, DQ, VL and VNNI. See kernel_table.h.

#include "engine/backend/cpu/kernel_table.h"

#include "engine/backend/cpu/lanes_avx512.h"

#include "engine/backend/cpu/float_kernels.inl"
#include "engine/backend/cpu/int8_kernels.inl"

namespace engine {

const KernelTable& avx512Kernels() {
    return tableOf("AVX-512");
}

} // namespace engine

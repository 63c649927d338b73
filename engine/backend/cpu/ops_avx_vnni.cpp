// The kernels for AVX2 with AVX-VNNI, the byte products of processors without AVX-512. See
// kernel_table.h.

#include "engine/backend/cpu/kernel_table.h"

#define GLINT_AVX_VNNI 1

#include "engine/backend/cpu/lanes_avx2.h"

#include "engine/backend/cpu/float_kernels.inl"
#include "engine/backend/cpu/int8_kernels.inl"

namespace engine {

const KernelTable& avxVnniKernels() {
    return tableOf("AVX2 with VNNI");
}

} // namespace engine

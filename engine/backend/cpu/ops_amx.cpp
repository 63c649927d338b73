// The kernels for AVX-512 with AMX, the matrix unit of server and workstation processors. See
// kernel_table.h.

#include "engine/backend/cpu/kernel_table.h"

#include "engine/backend/cpu/lanes_avx512.h"

#define GLINT_MATRIX_TILES 1

#include "engine/backend/cpu/float_kernels.inl"
#include "engine/backend/cpu/int8_kernels.inl"

namespace engine {

const KernelTable& amxKernels() {
    return tableOf("AVX-512 with AMX");
}

} // namespace engine

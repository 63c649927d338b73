// The kernels for plain C++, the oracle for the other two. See kernel_table.h.

#include "engine/backend/cpu/kernel_table.h"

#include "engine/backend/cpu/lanes_scalar.h"

#include "engine/backend/cpu/float_kernels.inl"
#include "engine/backend/cpu/int8_kernels.inl"

namespace engine {

const KernelTable& referenceKernels() {
    return tableOf("plain C++");
}

} // namespace engine

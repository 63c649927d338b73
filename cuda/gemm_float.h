#pragma once
// Products with float weights: out[i][r] = sum over k of w[r][k] * x[i][k], in the float order of
// engine/backend/int8_format.h, so that the bits are the processor's for any number of rows.
// Kernels: kernels/gemm_float.cu.
//
// Borrows the launcher. Engine thread.

#include "cuda/launcher.h"
#include "engine/backend/tensor.h"
#include "engine/quant/quant_types.h"

#include <cstdint>

namespace cuda {

// Rows of float weights in device memory, without gaps, as the file stores them.
struct FloatMatrix {
    const void* data = nullptr;
    engine::QuantType type = engine::QuantType::F32; // F32, F16 or BF16
    std::int64_t rows = 0;
    std::int64_t columns = 0;
};

class GemmFloat {
public:
    explicit GemmFloat(Launcher& launcher) : m_launcher(launcher) {}

    // x: F32 [rows, weight columns]; out: F32 [rows, weight rows]; any strides.
    void multiply(const FloatMatrix& weight, engine::Tensor x, engine::Tensor out);

private:
    Launcher& m_launcher;
};

} // namespace cuda

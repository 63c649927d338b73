#pragma once
// Typed rows of tensors in host memory.

#include "engine/backend/tensor.h"

namespace engine {

inline float* floatRow(const Tensor& t, std::int64_t row) {
    return reinterpret_cast<float*>(t.data + row * t.strideBytes);
}
inline std::int32_t* intRow(const Tensor& t, std::int64_t row) {
    return reinterpret_cast<std::int32_t*>(t.data + row * t.strideBytes);
}

} // namespace engine

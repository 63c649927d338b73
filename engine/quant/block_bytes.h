#pragma once
// The fields of a block.

#include "engine/base/byte_fields.h"
#include "engine/quant/half.h"

namespace engine {

inline float halfAt(const std::byte* p) {
    return halfToFloat(u16At(p));
}

} // namespace engine

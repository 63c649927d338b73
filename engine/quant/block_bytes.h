#pragma once
// Reading the fields of a block: bytes as numbers, little-endian, from any address.

#include "engine/quant/half.h"

#include <cstddef>
#include <cstdint>

namespace engine {

inline unsigned byteAt(const std::byte* p, std::int64_t i = 0) { return std::to_integer<unsigned>(p[i]); }
inline int signedByteAt(const std::byte* p, std::int64_t i = 0) {
    return static_cast<std::int8_t>(std::to_integer<std::uint8_t>(p[i]));
}
inline std::uint16_t u16At(const std::byte* p) { return static_cast<std::uint16_t>(byteAt(p) | byteAt(p, 1) << 8); }
inline std::uint32_t u32At(const std::byte* p) { return u16At(p) | std::uint32_t(u16At(p + 2)) << 16; }
inline float halfAt(const std::byte* p) { return halfToFloat(u16At(p)); }

} // namespace engine

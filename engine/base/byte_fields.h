#pragma once
// Fields of a file as numbers: little-endian, from any address.

#include <cstddef>
#include <cstdint>

namespace engine {

inline unsigned byteAt(const std::byte* p, std::int64_t i = 0) {
    return std::to_integer<unsigned>(p[i]);
}
inline int signedByteAt(const std::byte* p, std::int64_t i = 0) {
    return static_cast<std::int8_t>(std::to_integer<std::uint8_t>(p[i]));
}
inline std::uint16_t u16At(const std::byte* p) {
    return static_cast<std::uint16_t>(byteAt(p) | byteAt(p, 1) << 8);
}
inline std::uint32_t u32At(const std::byte* p) {
    return u16At(p) | std::uint32_t(u16At(p + 2)) << 16;
}
inline std::uint64_t u64At(const std::byte* p) {
    return u32At(p) | std::uint64_t(u32At(p + 4)) << 32;
}

} // namespace engine

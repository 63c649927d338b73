#pragma once
// Conversions between float and the two 16-bit forms, in plain C++ and exact: every 16-bit value
// has its float, and back it rounds to nearest, ties to even. NaN stays NaN, and infinity stays
// infinity.

#include <bit>
#include <cstdint>

namespace engine {

constexpr float halfToFloat(std::uint16_t half) {
    const std::uint32_t sign = std::uint32_t(half & 0x8000u) << 16;
    const std::uint32_t exponent = (half >> 10) & 0x1fu;
    const std::uint32_t mantissa = half & 0x3ffu;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f; // zero or subnormal
    return sign ? -magnitude : magnitude;
}

constexpr std::uint16_t floatToHalf(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000u;
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u); // NaN
    if (magnitude >= 0x477ff000u)
        return static_cast<std::uint16_t>(sign | 0x7c00u); // rounds beyond 65504
    if (magnitude < 0x38800000u) {                         // below 2^-14: a multiple of 2^-24
        // 2^-24 is the lowest bit of 0.5f; adding 0.5 rounds to it, ties to even, in the float
        // unit.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<std::uint16_t>(sign |
                                          (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
    }
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<std::uint16_t>(sign | ((magnitude + 0xfffu + odd - 0x38000000u) >> 13));
}

constexpr float bfloatToFloat(std::uint16_t bfloat) {
    return std::bit_cast<float>(std::uint32_t(bfloat) << 16);
}

constexpr std::uint16_t floatToBfloat(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

} // namespace engine

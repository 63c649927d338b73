#pragma once
// Bytes of quantised weights: noise with ordinary scales.

#include "engine/quant/quant_table.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace cuda::test {

// Q8_0 (a half scale in front of each block), or a float type.
inline std::vector<std::byte> weightNoise(engine::QuantType type, std::int64_t rows,
                                          std::int64_t columns, unsigned seed = 7) {
    using engine::QuantType;
    const engine::QuantFormat& format = engine::quantFormat(type);
    std::vector<std::byte> bytes(std::size_t(rows * format.rowBytes(columns)));
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, 1.0f);
    if (type == QuantType::F32) {
        for (std::size_t at = 0; at < bytes.size(); at += 4) {
            const float value = normal(random);
            std::memcpy(bytes.data() + at, &value, 4);
        }
    } else if (type == QuantType::F16) { // of either sign, 0.25 to 1
        for (std::size_t at = 0; at < bytes.size(); at += 2) {
            const std::uint32_t bits = random();
            const auto value =
                std::uint16_t(0x3400 + bits % 0x0800 + ((bits >> 16 & 1) ? 0x8000 : 0));
            std::memcpy(bytes.data() + at, &value, 2);
        }
    } else {
        for (std::byte& byte : bytes) byte = std::byte(random());
        for (std::size_t at = 0; at < bytes.size(); at += std::size_t(format.blockBytes)) {
            const auto scale = std::uint16_t(0x1c00 + random() % 0x0800); // 0.004 to 0.016
            std::memcpy(bytes.data() + at, &scale, 2);
        }
    }
    return bytes;
}

} // namespace cuda::test

#include "engine/quant/quant_table.h"

#include "engine/base/check.h"
#include "engine/quant/families.h"

namespace engine {

namespace {

constexpr QuantFormat row(QuantType type, std::string_view name, int weights, int bytes,
                          DecodeBlocks decode) {
    return {type, name, weights, bytes, decode};
}

// A type that other programs write: its layout is known, so that files that use it can be
// described.
constexpr QuantFormat layoutOnly(std::uint32_t type, std::string_view name, int weights,
                                 int bytes) {
    return {static_cast<QuantType>(type), name, weights, bytes, nullptr};
}

constexpr QuantFormat kTable[] = {
    row(QuantType::F32, "F32", 1, 4, decodeF32),
    row(QuantType::F16, "F16", 1, 2, decodeF16),
    row(QuantType::BF16, "BF16", 1, 2, decodeBF16),
    row(QuantType::Q4_0, "Q4_0", 32, 18, decodeQ4_0),
    row(QuantType::Q4_1, "Q4_1", 32, 20, decodeQ4_1),
    row(QuantType::Q5_0, "Q5_0", 32, 22, decodeQ5_0),
    row(QuantType::Q5_1, "Q5_1", 32, 24, decodeQ5_1),
    row(QuantType::Q8_0, "Q8_0", 32, 34, decodeQ8_0),
    row(QuantType::Q2_K, "Q2_K", 256, 84, decodeQ2_K),
    row(QuantType::Q3_K, "Q3_K", 256, 110, decodeQ3_K),
    row(QuantType::Q4_K, "Q4_K", 256, 144, decodeQ4_K),
    row(QuantType::Q5_K, "Q5_K", 256, 176, decodeQ5_K),
    row(QuantType::Q6_K, "Q6_K", 256, 210, decodeQ6_K),
    row(QuantType::IQ4_NL, "IQ4_NL", 32, 18, decodeIQ4_NL),
    row(QuantType::IQ4_XS, "IQ4_XS", 256, 136, decodeIQ4_XS),

    layoutOnly(9, "Q8_1", 32, 36),
    layoutOnly(15, "Q8_K", 256, 292),
    layoutOnly(16, "IQ2_XXS", 256, 66),
    layoutOnly(17, "IQ2_XS", 256, 74),
    layoutOnly(18, "IQ3_XXS", 256, 98),
    layoutOnly(19, "IQ1_S", 256, 50),
    layoutOnly(21, "IQ3_S", 256, 110),
    layoutOnly(22, "IQ2_S", 256, 82),
    layoutOnly(24, "I8", 1, 1),
    layoutOnly(25, "I16", 1, 2),
    layoutOnly(26, "I32", 1, 4),
    layoutOnly(27, "I64", 1, 8),
    layoutOnly(28, "F64", 1, 8),
    layoutOnly(29, "IQ1_M", 256, 56),
    layoutOnly(34, "TQ1_0", 256, 54),
    layoutOnly(35, "TQ2_0", 256, 66),
    layoutOnly(39, "MXFP4", 32, 17),
    layoutOnly(40, "NVFP4", 64, 36),
};

} // namespace

std::span<const QuantFormat> quantTable() {
    return kTable;
}

const QuantFormat* findQuantFormat(std::uint32_t type) {
    for (const QuantFormat& format : kTable) {
        if (static_cast<std::uint32_t>(format.type) == type) return &format;
    }
    return nullptr;
}

const QuantFormat& quantFormat(QuantType type) {
    const QuantFormat* const format = findQuantFormat(static_cast<std::uint32_t>(type));
    CHECK(format);
    return *format;
}

void dequantizeRow(QuantType type, const std::byte* row, std::int64_t columns, float* out) {
    const QuantFormat& format = quantFormat(type);
    CHECK(format.readable() && columns % format.blockWeights == 0);
    format.decode(row, columns / format.blockWeights, out);
}

} // namespace engine

#include "engine/backend/cpu/weight_layout.h"

#include <cstring>

namespace engine {
namespace {

// Fields as ggml's block structs order them; here quants come first.
constexpr WeightLayout kQ4_0{32, 18, {{2, 4, 4}, {0, 2, 1}}, {}};
constexpr WeightLayout kQ4_1{32, 20, {{4, 4, 4}, {0, 2, 1}, {2, 2, 1}}, {}};
constexpr WeightLayout kQ5_0{32, 22, {{6, 4, 4}, {2, 4, 1}, {0, 2, 1}}, {}};
constexpr WeightLayout kQ5_1{32, 24, {{8, 4, 4}, {4, 4, 1}, {0, 2, 1}, {2, 2, 1}}, {}};
constexpr WeightLayout kQ8_0{32, 34, {{2, 4, 8}, {0, 2, 1}}, {}};
constexpr WeightLayout kQ2_K{256, 84, {{16, 4, 16}, {0, 4, 4}, {80, 2, 1}, {82, 2, 1}}, {}};
constexpr WeightLayout kQ3_K{256, 110, {{32, 4, 16}, {0, 4, 8}, {96, 4, 3}}, {108, 2, 1}};
constexpr WeightLayout kQ4_K{256, 144, {{16, 4, 32}, {4, 4, 3}, {0, 2, 1}, {2, 2, 1}}, {}};
// Q5_K has five fields; d and dmin follow each other and are one field of two elements.
constexpr WeightLayout kQ5_K{256, 176, {{48, 4, 32}, {16, 4, 8}, {4, 4, 3}, {0, 2, 2}}, {}};
constexpr WeightLayout kQ6_K{256, 210, {{0, 4, 32}, {128, 4, 16}, {192, 4, 4}}, {208, 2, 1}};
constexpr WeightLayout kIQ4_NL{32, 18, {{2, 4, 4}, {0, 2, 1}}, {}};
constexpr WeightLayout kIQ4_XS{256, 136, {{8, 4, 32}, {4, 4, 1}, {2, 2, 1}, {0, 2, 1}}, {}};

template<int size>
void transpose(const WeightField& field, const std::byte* block, std::int64_t rowBytes, int rows,
               std::uint8_t* out) {
    for (int r = 0; r < rows; ++r) {
        const std::byte* from = block + r * rowBytes + field.offset;
        std::uint8_t* to = out + r * size;
        for (int e = 0; e < field.count; ++e)
            std::memcpy(to + e * 16 * size, from + e * size, size);
    }
}

void packField(const WeightField& field, const std::byte* block, std::int64_t rowBytes, int rows,
               std::uint8_t* out) {
    if (field.size == 4)
        transpose<4>(field, block, rowBytes, rows, out);
    else
        transpose<2>(field, block, rowBytes, rows, out);
}

} // namespace

const WeightLayout* weightLayout(QuantType type) {
    switch (type) {
    case QuantType::Q4_0: return &kQ4_0;
    case QuantType::Q4_1: return &kQ4_1;
    case QuantType::Q5_0: return &kQ5_0;
    case QuantType::Q5_1: return &kQ5_1;
    case QuantType::Q8_0: return &kQ8_0;
    case QuantType::Q2_K: return &kQ2_K;
    case QuantType::Q3_K: return &kQ3_K;
    case QuantType::Q4_K: return &kQ4_K;
    case QuantType::Q5_K: return &kQ5_K;
    case QuantType::Q6_K: return &kQ6_K;
    case QuantType::IQ4_NL: return &kIQ4_NL;
    case QuantType::IQ4_XS: return &kIQ4_XS;
    case QuantType::F32:
    case QuantType::F16:
    case QuantType::BF16: break;
    }
    return nullptr;
}

void packTile(const WeightLayout& layout, const std::byte* firstRow, std::int64_t rowBytes,
              int rows, std::int64_t blocks, std::int64_t units, std::uint8_t* tile) {
    const int perUnit = layout.blocksPerUnit();
    std::uint8_t* tails = tile + units * layout.mainBytes();
    for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t unit = block / perUnit, inUnit = block % perUnit;
        const std::byte* from = firstRow + block * layout.blockBytes;
        std::uint8_t* region = tile + unit * layout.mainBytes();
        for (const WeightField& field : layout.fields) {
            const std::int64_t bytes = 16ll * field.size * field.count;
            packField(field, from, rowBytes, rows, region + inUnit * bytes);
            region += bytes * perUnit;
        }
        if (layout.tail.count > 0)
            packField(layout.tail, from, rowBytes, rows, tails + unit * layout.tailBytes());
    }
}

} // namespace engine

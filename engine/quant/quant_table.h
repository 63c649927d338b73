#pragma once
// One row per tensor type that a GGUF file may name: its layout, and for the types that Glint
// computes with, the reference decoder. To add a type: its decoder in the file of its family
// (simple.cpp, k_quants.cpp, i_quants.cpp) and a row in quant_table.cpp.

#include "engine/quant/quant_types.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace engine {

// Decodes whole blocks; `blocks` need not be aligned. out holds blockCount * blockWeights floats.
using DecodeBlocks = void (*)(const std::byte* blocks, std::int64_t blockCount, float* out);

struct QuantFormat {
    QuantType type;        // the number in the file; may be none of the enumerators
    std::string_view name; // "Q4_K"
    int blockWeights;
    int blockBytes;
    DecodeBlocks decode; // null: known by its layout only, Glint does not compute with it

    bool readable() const { return decode != nullptr; }
    // Bytes of a row; `columns` is a multiple of blockWeights.
    std::int64_t rowBytes(std::int64_t columns) const {
        return columns / blockWeights * blockBytes;
    }
};

std::span<const QuantFormat> quantTable();

// Null for a number that is in no table.
const QuantFormat* findQuantFormat(std::uint32_t type);

// For the types of the enumeration, which are all in the table.
const QuantFormat& quantFormat(QuantType type);

// Decodes `columns` weights (whole blocks) to floats.
void dequantizeRow(QuantType type, const std::byte* row, std::int64_t columns, float* out);

} // namespace engine

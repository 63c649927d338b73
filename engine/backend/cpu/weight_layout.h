#pragma once
// How quantised weights lie in memory for the integer kernels: sixteen rows side by side, so that
// rows are lanes. A tile is 16 rows by all of K, cut into units of 256 weights. In a unit the
// fields of the file's blocks are transposed across the rows, and nothing else is changed:
//
//     for each field, for each block of the unit, for each element of the field: the element of 16
//     rows
//
// An element is a dword of quants (four weights, or the bits of four), a 16-bit scale, and so on.
// Fields whose 32 bytes would push every second unit off a multiple of 64 stand behind the last
// unit of the tile. A tile takes the bytes of its 16 rows (rounded up to 64), missing rows and
// blocks are zero.

#include "engine/quant/quant_types.h"

#include <cstddef>
#include <cstdint>

namespace engine {

struct WeightField {
    int offset = 0; // in the file's block
    int size = 0;   // bytes of an element: 4 or 2
    int count = 0;  // elements
};

struct WeightLayout {
    int blockWeights = 0;
    int blockBytes = 0;
    WeightField fields[4];
    WeightField tail; // count 0: none

    int blocksPerUnit() const { return 256 / blockWeights; }
    std::int64_t tailBytes() const { return 16ll * tail.size * tail.count * blocksPerUnit(); }
    std::int64_t mainBytes() const { return 16ll * blockBytes * blocksPerUnit() - tailBytes(); }
    std::int64_t tileBytes(std::int64_t units) const {
        return (units * (mainBytes() + tailBytes()) + 63) / 64 * 64;
    }
};

// Null for types without an integer form.
const WeightLayout* weightLayout(QuantType type);

// Fills one tile, which is zero before, from `rows` (1..16) rows of `blocks` blocks each.
void packTile(const WeightLayout& layout, const std::byte* firstRow, std::int64_t rowBytes,
              int rows, std::int64_t blocks, std::int64_t units, std::uint8_t* tile);

} // namespace engine

#pragma once
// What the attention kernels are launched with, and how the work is cut. Plain C++.

#include "cuda/kernels/formats.h"
#include "cuda/kernels/row_args.h"

#include <cstdint>

namespace cuda {

inline constexpr int kKeyTile = 64;          // cached positions of one tile, aligned by position
inline constexpr int kSplitTiles = 4;        // tiles of a split
inline constexpr int kQueryTile = 16;        // rows of one matrix instruction: see AttentionArgs
inline constexpr int kRowWarps = 4;          // of a block of attention_rows: a query tile each
inline constexpr int kPrefillWarps = 8;      // likewise of attention_prefill
inline constexpr int kSmallPrefillWarps = 4; // where shared memory is short
inline constexpr int kGroupWarps = 4;        // of group_attention
// Query tiles of a warp of group_attention: as many as the registers hold.
GLINT_HOST_DEVICE constexpr int groupQueryTiles(int headSize) {
    return headSize > 96 ? 1 : 2;
}
inline constexpr int kMostGroups = 300;    // groups of one launch
inline constexpr int kMostRopePairs = 128; // of a head

// Bytes between the rows of a tile in shared memory: 16 more than the row has, so that eight rows
// lie in different banks.
GLINT_HOST_DEVICE constexpr int tileStride(int headSize) {
    return 2 * headSize + 16;
}
GLINT_HOST_DEVICE constexpr int tileBytes(int headSize) {
    return kKeyTile * tileStride(headSize);
}
GLINT_HOST_DEVICE constexpr int queryTileBytes(int headSize) {
    return headSize > 64 ? kQueryTile * tileStride(headSize) : 0; // smaller ones stay in registers
}
// Of a block: tiles of keys and values on their way (TileRing), and the queries of its warps.
inline constexpr int kMostRingPlaces = 4;
GLINT_HOST_DEVICE constexpr int attentionSharedBytes(int headSize, int queryTiles, int ringPlaces) {
    return ringPlaces * tileBytes(headSize) + queryTiles * queryTileBytes(headSize);
}

// Bytes of one state: 16 rows of head size values as halves, then 16 pairs (maximum, sum) of
// floats.
GLINT_HOST_DEVICE constexpr int stateBytes(int headSize) {
    return kQueryTile * (2 * headSize + 8);
}

// Queries of one key/value head are numbered r = row * ratio + head of the group, and 16
// consecutive numbers make a query tile.
struct AttentionArgs {
    const float* q = nullptr; // [rows][heads * head size]; null: halves
    // q~ as attention_inputs leaves it, aligned to 16 bytes; attention_rows only.
    const std::uint16_t* halves = nullptr;
    const std::uint8_t* keys = nullptr;
    const std::uint8_t* values = nullptr;
    const std::int32_t* positions = nullptr;     // only the first is read: they ascend by one
    float* out = nullptr;                        // [rows][heads * head size]
    std::uint8_t* states = nullptr;              // [unit][key/value head][query tile] stateBytes
    std::int64_t qStride = 0, outStride = 0;     // elements
    std::int64_t keyStride = 0, valueStride = 0; // bytes
    std::int32_t rows = 0;
    std::int32_t headSize = 0;
    std::int32_t kvHeads = 0;
    std::int32_t ratio = 0;           // query heads of a key/value head
    std::int32_t capacity = 0;        // rows of the cache
    std::int32_t left = 0, right = 0; // of the span, at most kFar
    std::int32_t queryTiles = 0;      // rows * ratio / 16, rounded up
    // Up to so many items a single tile is a unit, else a split.
    std::int32_t tileItems = 0;
    std::int32_t ringPlaces = 2; // tiles of keys and values in shared memory
    // 1: the previous kernel is attention_inputs, so that all before it has finished when this one
    // starts, and only queries and the rows at the positions of this call may be missing yet.
    std::int32_t onlyInputsBefore = 0;
    float scale = 0; // of scores, times log2(e)

    static constexpr std::int32_t kFar = 1 << 30;
};

// The end of attend: merged states, gated, as quantised rows.
struct AttentionFinishArgs {
    AttentionArgs attention;
    const float* attended = nullptr; // rows that are merged already; null: merge the states
    std::int64_t attendedStride = 0;
    PartialSums gate; // data null: none
    RecordRows out;   // columns: heads * head size
};

// Turns per position as a fraction of 2^64 for each pair of an axis: position times it, modulo
// 2^64, is the angle without any rounding error of its own.
struct RopeTurns {
    std::uint64_t perPosition[kMostRopePairs] = {};
    std::int32_t headSize = 0;
    std::int32_t axes = 0;
    std::int32_t halves = 0; // pairs (j, j + headSize / 2), else (2 j, 2 j + 1)
};

struct RopeArgs {
    float* x = nullptr;
    const std::int32_t* positions = nullptr;
    std::int64_t xStride = 0, positionStride = 0; // in elements
    std::int64_t rows = 0;
    std::int32_t heads = 0;
    RopeTurns turns;
};

struct KvWriteArgs {
    const float* k = nullptr;
    const float* v = nullptr;
    std::uint8_t* keys = nullptr;
    std::uint8_t* values = nullptr;
    const std::int32_t* positions = nullptr;
    std::int64_t kStride = 0, vStride = 0, positionStride = 0; // in elements
    std::int64_t keyStride = 0, valueStride = 0;               // bytes
    std::int64_t rows = 0;
    std::int32_t columns = 0;
    std::int32_t capacity = 0;
};

struct AttentionInputsArgs {
    PartialSums q, k, v;
    const float* qGamma = nullptr; // null: none
    const float* kGamma = nullptr;
    float* qRows = nullptr;          // null: halves
    std::uint16_t* halves = nullptr; // of q * scale
    std::uint8_t* keys = nullptr;
    std::uint8_t* values = nullptr;
    const std::int32_t* positions = nullptr;
    std::int64_t qStride = 0, positionStride = 0; // in elements
    std::int64_t keyStride = 0, valueStride = 0;  // bytes
    std::int32_t rows = 0;
    std::int32_t heads = 0, kvHeads = 0;
    std::int32_t capacity = 0;
    float qEps = 0, kEps = 0;
    float scale = 0;         // of scores, times log2(e)
    std::int32_t turned = 0; // 0: no rotary positions
    RopeTurns turns;
};

// Keys and values of some heads as halves, for group attention: [head][row][head size].
struct GroupPrepareArgs {
    const float* k = nullptr;
    const float* v = nullptr;
    std::uint16_t* keys = nullptr;
    std::uint16_t* values = nullptr;
    std::int64_t kStride = 0, vStride = 0; // floats
    std::int32_t rows = 0;
    std::int32_t firstHead = 0, heads = 0, headSize = 0;
};

struct GroupAttentionArgs {
    const float* q = nullptr;
    const std::uint16_t* keys = nullptr; // of the heads of this launch
    const std::uint16_t* values = nullptr;
    float* out = nullptr;
    std::int64_t qStride = 0, outStride = 0; // floats
    std::int32_t rows = 0;                   // of keys and values
    std::int32_t firstHead = 0, heads = 0;
    std::int32_t groups = 0;
    std::int32_t ringPlaces = 2;
    float scale = 0;
    std::int32_t start[kMostGroups + 1] = {};      // first row of each group, then the end
    std::int32_t firstBlock[kMostGroups + 1] = {}; // of the grid, then the number of blocks
};
static_assert(sizeof(GroupAttentionArgs) <= 4096);

} // namespace cuda

#pragma once
// What the kernels of gemm_prefill.cu are launched with. Plain C++, shared with the host.

#include "cuda/kernels/formats.h"

#include <cstdint>

namespace cuda {

inline constexpr int kMaxPrefillWarps = 8;       // of a block, 255 registers a thread
inline constexpr int kMaxPrefillStages = 4;      // of weights and activations on their way
inline constexpr int kMaxPrefillJobs = 8;        // of one launch
inline constexpr int kPrefillControlBytes = 256; // shared memory besides the stages

// What a warp makes of a unit: products of so many row tiles (16 weight rows) and tiles (8 rows of
// activations).
inline constexpr int kPrefillWarpRowTiles = 2;
inline constexpr int kPrefillWarpTiles = 8;

struct GemmPrefillJob {
    const std::uint8_t* units = nullptr;
    float* out = nullptr; // [row of the activations][weight row], rows outStride floats apart
    const float* bias = nullptr; // [weight row], added after the last segment; null: none
    std::int64_t rowTileBytes = 0;
    std::int64_t outStride = 0;
    std::int32_t weightRows = 0;
    std::int32_t rowTiles = 0;
    std::int32_t firstBlock = 0; // row blocks of the jobs before
    std::int32_t unused = 0;
};

// The out matrices of all jobs are cut into tiles of blockRowTiles x 16 weight rows and blockTiles
// x 8 rows of activations. Item = a tile and one segment of K, or all of them (`split` or not);
// tile = row block * columnBlocks + column block; item = segment * tiles + tile. Blocks take items
// in ascending order.
struct GemmPrefillArgs {
    GemmPrefillJob jobs[kMaxPrefillJobs];
    const ActivationTile* activations = nullptr; // [unit][tile]
    // [0] next item, [1] blocks that have found no more, [2 + tile] warps that have added their
    // part to the tile. All zero between launches.
    std::uint32_t* turns = nullptr;
    std::int32_t jobCount = 0;
    std::int32_t rows = 0; // of activations
    std::int32_t segments = 0, segmentUnits = 0, lastSegmentUnits = 0;
    std::int32_t itemBytes = 0; // of weights: a row tile and a segment
    std::int32_t split = 0;
    std::int32_t items = 0, tiles = 0, columnBlocks = 0;
    std::int32_t blockRowTiles = 0; // a multiple of kPrefillWarpRowTiles
    std::int32_t blockTiles = 0;    // a multiple of kPrefillWarpTiles
    std::int32_t stages = 0;        // 2 or more
    std::int32_t stageBytes = 0;
};

} // namespace cuda

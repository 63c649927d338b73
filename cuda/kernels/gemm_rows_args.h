#pragma once
// What the kernels of gemm_rows.cu and repack.cu are launched with. Plain C++, shared with the
// host.

#include "cuda/kernels/formats.h"
#include "cuda/unit_layout.h"

#include <cstdint>

namespace cuda {

inline constexpr int kMaxRowJobs = 4;
inline constexpr int kMaxStages = 8;
inline constexpr int kRingHeadBytes = 256; // barriers before the stages, in the shared memory
inline constexpr int kMaxRowThreads = 512; // of gemm_rows kernels
// What the compiler is told up to 8 rows and around attention, so that it takes at most 96
// registers.
inline constexpr int kFewRowThreads = 640;

struct GemmRowsJob {
    const std::uint8_t* units = nullptr;
    float* sums = nullptr;      // [segment, or one][tile][row of the activations][16]
    std::int32_t firstTile = 0; // among the tiles of its group
    std::int32_t tiles = 0;
};

// Matrices of one type and one K, which the blocks of a group work through: items = segments x
// tiles, cut into `blocks` runs. Either all items in a row, the tile changing faster; or
// (wholeTiles) the tiles, and a block goes through the segments of its own and leaves one sum for
// all of them.
struct GemmRowsGroup {
    GemmRowsJob jobs[kMaxRowJobs];
    std::int32_t jobCount = 0;
    std::int32_t tiles = 0;  // of all jobs
    std::int32_t blocks = 0; // at most the items
    std::int32_t wholeTiles = 0;
    // Items (or tiles) of a block; the first longerRuns blocks have one more.
    std::int32_t runLength = 0, longerRuns = 0;
    std::int32_t itemBytes = 0, lastItemBytes = 0;
    std::int64_t rowTileBytes = 0;
    std::int32_t stages = 0; // of the ring, at most kMaxStages
    std::int32_t sumsAt = 0; // in the shared memory; only for whole tiles
    // Items whose copies may be under way at a time, until the kernel before has finished and
    // from then on; 1..stages, and the second at least the first.
    std::int32_t copiesBefore = 0, copiesAfter = 0;
    std::int32_t turns = 0; // warps that take turns at the last unit of a segment; divides stages
};

struct GemmRowsArgs {
    const ActivationTile* activations = nullptr; // [unit][tile], ceil(rows / 8) tiles
    std::int32_t rows = 0;                       // of activations, 1..16
    std::int32_t segmentUnits = 0, segments = 0, lastSegmentUnits = 0;
    GemmRowsGroup groups[2]; // the second only in kernels for two types
};

struct GemmReduceArgs {
    PartialSums sums;
    float* out = nullptr; // [row of the activations][weight row], rows outStride floats apart
    std::int64_t outStride = 0;
    std::int32_t weightRows = 0;
};

struct RepackArgs {
    const std::uint8_t* rows = nullptr; // of the file, from row 16 * firstTile of the matrix on
    std::uint8_t* units = nullptr;      // of the whole matrix
    std::int64_t rowBytes = 0;
    std::int64_t rowTileBytes = 0;
    std::int32_t rowCount = 0; // rows at hand
    std::int32_t firstTile = 0;
    std::int32_t rowUnits = 0;  // units of a row tile: block b makes unit b % rowUnits of tile
    std::int32_t rowBlocks = 0; // blocks of the type in a row
    std::int32_t segmentUnits = 0;
    std::int32_t itemBytes = 0;
};

} // namespace cuda

#pragma once
// What the kernels of gemm_float.cu are launched with, and how large their tiles are. Plain C++.

#include "cuda/kernels/formats.h"

#include <cstdint>

namespace cuda {

struct GemmFloatArgs {
    const void* weights = nullptr; // [weightRows][columns] as in the file: F32, F16 or BF16
    const float* x = nullptr;      // [rows][columns], rows xStride floats apart
    float* out = nullptr;          // [rows][weightRows], rows outStride floats apart
    std::int64_t xStride = 0;
    std::int64_t outStride = 0;
    std::int32_t weightRows = 0;
    std::int32_t columns = 0;
    std::int32_t rows = 0;
    std::int32_t rowTiles = 0; // block b makes row tile b % rowTiles, weight tile b / rowTiles
    std::int32_t alignedWeights = 0; // every row of weights starts at a multiple of 16 bytes
    std::int32_t alignedX = 0;       // likewise for x
};

// The tile kernels: a block of 16 warps makes 48 weight rows x 32 rows.
struct GemmFloatTile {
    static constexpr int kWarpWeightRows = 12;
    static constexpr int kWarpRows = 8;
    static constexpr int kWarpsAlongWeights = 4;
    static constexpr int kWarpsAlongRows = 4;
    static constexpr int kWeightRows = kWarpWeightRows * kWarpsAlongWeights;
    static constexpr int kRows = kWarpRows * kWarpsAlongRows;
    static constexpr int kThreads = 32 * kWarpsAlongWeights * kWarpsAlongRows;
    static constexpr int kChunk = 64; // of K in one stage
    static constexpr int kStages = 3;

    GLINT_HOST_DEVICE static constexpr int stageBytes(int weightBytes) {
        return kChunk * (kWeightRows * weightBytes + kRows * 4);
    }
    static constexpr int sharedBytes(int weightBytes) { return kStages * stageBytes(weightBytes); }
};
static_assert(GemmFloatTile::sharedBytes(4) == 61440, "kernel_list.inc states it; sm_75 has 65536");
static_assert(GemmFloatTile::sharedBytes(2) == 43008, "kernel_list.inc states it");

// The row kernels: a warp makes 4 weight rows x up to 8 rows.
struct GemmFloatRows {
    static constexpr int kWarpWeightRows = 4;
    static constexpr int kRows = 8;
    static constexpr int kWarps = 8;
    static constexpr int kThreads = 32 * kWarps;
    static constexpr int kMostRows = 16; // more are faster with the tile kernels
};

} // namespace cuda

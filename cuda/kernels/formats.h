#pragma once
// Memory layouts that kernels and host code share. Plain C++, no CUDA types.
// The arithmetic behind them: engine/backend/int8_format.h.

#include <cstdint>

#if defined(__CUDACC__)
#    define GLINT_HOST_DEVICE __host__ __device__
#else
#    define GLINT_HOST_DEVICE
#endif

namespace cuda {

// Rows of activations (the columns of a GEMM) come in tiles of 8, K in units of 256. tile = row /
// 8; records lie as [unit][tile], tiles of the call. Rows that the last tile lacks hold anything:
// whoever reads a tile ignores what comes of them. K beyond the columns is zero.
//
// Fragment coordinates of mma m16n8k32 and m16n8k16: lane = 4 g + t; the lane holds activation row
// g (of its tile of 8) and K bytes 4 t .. 4 t + 3 of a step of 16.
struct ActivationTile {
    // [group of 64][lane][16]: byte 4 j + b is q of K = 64 group + 16 j + 4 t + b, row g.
    std::int8_t q[4][32][16];
    float dx[8][4]; // [row][group of 64]
    // The block sums S of int8_format.h as S = 128 high + low, low in 0..127, in the B fragment of
    // an m16n8k16: byte b of a lane is block 4 t + b of row g. Blocks of 32 fill the lanes t = 0,
    // 1; the others are zero.
    std::int8_t high32[32][4];
    std::int8_t low32[32][4];
    std::int8_t high16[32][4];
    std::int8_t low16[32][4];
    float ds32[8];            // [row]
    float ds16[8];            // [row]
    std::int16_t sum32[8][8]; // [row][block of 32]: plain sums of q, for Q4_1 and Q5_1
};
static_assert(sizeof(ActivationTile) == 2880);

inline constexpr int kTileRows = 8; // activation rows of one ActivationTile
inline constexpr int kMaxStepRows =
    16; // most activation rows of the row kernels: decode and verify

// What a row GEMM (1..16 activation rows) writes, F32 [segment][row tile of 16][column][16 rows]:
// column = row of the activations. The consumer adds the segments in ascending order.
struct PartialSums {
    const float* data = nullptr;
    int segments = 0;
    int rowTiles = 0; // weight rows / 16, rounded up
    int columns = 0;  // rows of the activations, 1..16

    GLINT_HOST_DEVICE std::int64_t index(int segment, int weightRow, int column) const {
        return ((std::int64_t(segment) * rowTiles + weightRow / 16) * columns + column) * 16 +
               weightRow % 16;
    }
};

} // namespace cuda

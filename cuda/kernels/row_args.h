#pragma once
// What the kernels of rows.cu, glue.cu and logits.cu are launched with. Plain C++.
// Rows are F32 unless said otherwise; strides are in floats. Pointers may be null where it is said.

#include "cuda/kernels/formats.h"

#include <cstdint>

namespace cuda {

inline constexpr int kUnitColumns = 256; // of int8_format.h

GLINT_HOST_DEVICE constexpr std::int64_t unitsOf(std::int64_t columns) {
    return (columns + kUnitColumns - 1) / kUnitColumns;
}

// Where quantised rows go. Records lie as [unit][tile].
struct RecordRows {
    ActivationTile* tiles = nullptr; // null: no records are wanted
    float* floats = nullptr;         // the rows as they are; null: they are not wanted
    std::int64_t floatStride = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t tilesPerUnit = 0; // rows / 8, rounded up
};

// The norms of a row by one block keep the sum of every unit in shared memory.
inline constexpr int kMaxNormUnits = 1024;

struct RowNormArgs {
    const float* x = nullptr;
    const float* gamma = nullptr; // null: none
    const float* beta = nullptr;  // layer norm only; null: none
    float* out = nullptr;         // may be x; the post norm adds to it
    std::int64_t xStride = 0, outStride = 0;
    std::int64_t rows = 0;
    std::int32_t columns = 0;
    float eps = 0;
};

struct RowNormQuantizeArgs {
    const float* x = nullptr;
    const float* gamma = nullptr; // null: none
    const float* beta = nullptr;  // of a layer norm; null: none
    std::int64_t xStride = 0;
    RecordRows out;
    float eps = 0;
};

// x += y, or + rms norm of y; then perhaps the 8-bit form of rms norm of x.
struct RowResidualArgs {
    float* x = nullptr;
    const float* y = nullptr;
    const float* postGamma = nullptr; // null: none
    const float* nextGamma = nullptr; // null: none
    std::int64_t xStride = 0, yStride = 0;
    std::int64_t rows = 0;
    std::int32_t columns = 0;
    std::int32_t hasPost = 0, hasNext = 0;
    float postEps = 0, nextEps = 0;
    RecordRows out; // where hasNext is set
};
inline constexpr int kMaxResidualUnits = 32; // a warp of the row's block each

// The 8-bit form of x, or of f(x, y).
struct RowQuantizeArgs {
    const float* x = nullptr;
    const float* y = nullptr; // where f has two operands
    std::int64_t xStride = 0, yStride = 0;
    RecordRows out;
};

// Element by element: out = f(x, y).
struct RowElementArgs {
    const float* x = nullptr;
    const float* y = nullptr; // where f has two operands
    float* out = nullptr;     // may be x
    std::int64_t xStride = 0, yStride = 0, outStride = 0;
    std::int64_t rows = 0, columns = 0;
    float scale = 0, cap = 0; // softcap
};

struct RowEmbedArgs {
    const std::uint8_t* table = nullptr; // rows of the file, in memory that the card can read
    const std::int32_t* ids = nullptr;
    float* out = nullptr;
    std::int64_t idStride = 0; // in numbers
    std::int64_t outStride = 0;
    std::int64_t tableRows = 0, rowBytes = 0;
    std::int32_t columns = 0;
    std::uint32_t type = 0;     // QuantType
    std::int32_t unitBytes = 0; // of 256 weights
};

struct RowGatherArgs {
    const float* x = nullptr;
    const std::int32_t* indices = nullptr; // [rows][group]
    float* out = nullptr;                  // [rows][group * columns]
    std::int64_t xStride = 0, indexStride = 0, outStride = 0;
    std::int64_t xRows = 0, rows = 0;
    std::int64_t columns = 0; // of x
    std::int32_t group = 0;
};

struct RowCopyArgs {
    const std::uint8_t* from = nullptr;
    std::uint8_t* to = nullptr;
    std::int64_t fromStride = 0, toStride = 0; // bytes
    std::int64_t rows = 0, rowBytes = 0;
    std::int32_t wordBytes = 0; // 16, 4 or 2: divides everything above
};

// x += norm(sum of the segments of y), and a copy of x; out = records of norm(x).
struct GlueResidualArgs {
    PartialSums y;
    float* x = nullptr;
    float* tap = nullptr;             // null: no copy
    const float* postGamma = nullptr; // null: none (but the norm itself where hasPost)
    const float* nextGamma = nullptr;
    std::int64_t xStride = 0, tapStride = 0;
    RecordRows out; // columns: of x; rows; the rest only where hasNext
    float postEps = 0, nextEps = 0;
    std::int32_t hasPost = 0, hasNext = 0;
};
inline constexpr int kGlueCluster = 4;   // blocks that share a row where the card has clusters
inline constexpr int kMaxGlueUnits = 32; // of a row: one warp each

// out = records of swiglu(sum of gate's segments, sum of up's).
struct GlueSwigluArgs {
    PartialSums gate, up;
    RecordRows out;
};

// ---- logits: rows are cut into parts of kLogitPart columns, one block each.
inline constexpr int kLogitThreads = 256;
inline constexpr int kLogitPerThread = 32;
inline constexpr int kLogitPart = kLogitThreads * kLogitPerThread;
inline constexpr int kLogitRows = 32;      // of one launch
inline constexpr int kMaxLogitParts = 128; // of a row: up to a million columns
inline constexpr int kMaxTopValues = 64;   // Backend::kMaxTop
static_assert(kMaxLogitParts * kMaxTopValues <= kLogitPart, "one block takes the keys of a row");

// Between the blocks of a launch. Zero at first; every launch leaves `arrived` zero.
struct LogitScratch {
    std::uint32_t arrived[kLogitRows];
    unsigned long long keys[kLogitRows][kMaxLogitParts * kMaxTopValues];
};

struct LogitArgs {
    const float* z = nullptr;
    float* values = nullptr;     // [rows][n]; largest only
    std::int32_t* ids = nullptr; // [rows][n]
    LogitScratch* scratch = nullptr;
    std::int64_t zStride = 0, valueStride = 0, idStride = 0;
    std::int32_t columns = 0;
    std::int32_t n = 0; // 1..kMaxTopValues
};

// The same of z = softcap(sum of the segments, scale, cap), which takes more work: smaller parts.
inline constexpr int kHeadPerThread = 16;
inline constexpr int kHeadPart = kLogitThreads * kHeadPerThread;
static_assert(kHeadPerThread <= kLogitPerThread, "room for candidates");
struct HeadArgs {
    LogitArgs logits; // without z
    PartialSums sums; // columns: rows of z
    float scale = 0, cap = 0;
};

} // namespace cuda

#pragma once
// The functions that exist once per instruction set. They work on plain pointers and know nothing
// of tensors and threads; CpuBackend divides the work. Each table is filled in its own file
// (ops_*.cpp) from the same templates, and all three give the same bits.
//
// This header is included by files that are compiled for newer processors: it must hold no inline
// function that the linker could share.

#include "engine/backend/int8_format.h"
#include "engine/quant/quant_types.h"

#include <cstdint>

namespace engine {

inline constexpr int kTileRows = 16;    // weight rows side by side in the lanes
inline constexpr int kTileColumns = 16; // rows of activations that share unpacked weights
inline constexpr int kKeyTile = 64; // cached keys handled together, aligned by absolute position

// One tile of 16 weight rows times 1..16 rows of activations, integer arithmetic.
struct Int8Tile {
    const std::uint8_t*
        weights; // the tile: units, then what does not fit a multiple of 64 (weight_layout.h)
    std::int64_t units;
    const ActivationUnit* x; // unit u of column c at x[u * columns + c]
    int columns;
    float* out; // column c at out + c * outStride, 16 rows
    std::int64_t outStride;
    int rows; // of the tile, to be written: 16 but for the last tile of a matrix
};

// `rows` rows of float weights times `columns` rows of activations in the 32-lane order.
struct FloatBlock {
    const float* weights; // row r at weights + r * weightStride
    std::int64_t weightStride;
    int rows;
    const float* x; // column c at x + c * xStride
    std::int64_t xStride;
    std::int64_t columns;
    std::int64_t k;
    float* out; // value of row r, column c at out[c * outStride + r]
    std::int64_t outStride;
};

// The cached keys of one tile against rows of queries; the running state of each row is updated.
struct AttentionTile {
    const float* keys; // kKeyTile rows of headStride floats, padded with zeros
    const float* values;
    std::int64_t headStride; // head size rounded up to 32
    const float* queries;    // scaled, rows of headStride floats, padded with zeros
    int ranges;              // groups of rows that see the same keys
    int rowsPerRange;
    const std::int32_t* begin; // per range: keys begin .. end-1 of the tile are seen
    const std::int32_t* end;
    float* maximum; // per row: -infinity at first
    float* sum;     // 0 at first
    float* out;     // rows of headStride floats, 0 at first
};

using Int8TileFn = void (*)(const Int8Tile&);

struct KernelTable {
    const char* name;
    // Null for types that have no integer form (F32, F16, BF16).
    Int8TileFn (*int8Tile)(QuantType type);
    void (*quantizeRow)(const float* x, std::int64_t columns, ActivationUnit* first,
                        std::int64_t stride, std::int64_t units);
    void (*floatBlock)(const FloatBlock& block);
    void (*halfToFloatRow)(const std::uint16_t* x, std::int64_t n, float* out);
    void (*bfloatToFloatRow)(const std::uint16_t* x, std::int64_t n, float* out);
    void (*floatToHalfRow)(const float* x, std::int64_t n, std::uint16_t* out);
    // Blocks of 32 in 34 bytes: half d = max |x| / 127, q = rint(x / float(d)) within [-127, 127].
    void (*floatToQ8Row)(const float* x, std::int64_t n, std::uint8_t* out);
    void (*q8ToFloatRow)(const std::uint8_t* x, std::int64_t n, float* out); // d * float(q)
    void (*rmsNorm)(const float* x, const float* gammaOrNull, float eps, std::int64_t n,
                    float* out);
    void (*layerNorm)(const float* x, const float* gammaOrNull, const float* betaOrNull, float eps,
                      std::int64_t n, float* out);
    void (*rotateAdjacent)(float* x, const float* cosine, const float* sine, std::int64_t headSize);
    void (*rotateHalves)(float* x, const float* cosine, const float* sine, std::int64_t headSize);
    void (*scale)(const float* x, float factor, std::int64_t n, float* out);
    void (*add)(float* x, const float* y, std::int64_t n);
    void (*sigmoidGate)(float* x, const float* gate, std::int64_t n);
    void (*swiglu)(const float* gate, const float* up, std::int64_t n, float* out);
    void (*gelu)(float* x, std::int64_t n);
    void (*softcap)(float* z, float scale, float cap, std::int64_t n);
    std::int64_t (*argmax)(const float* z, std::int64_t n);
    void (*attentionTile)(const AttentionTile& tile);
    // Merges the state of a later split into the running one.
    void (*mergeSplit)(float* maximum, float* sum, float* out, float laterMaximum, float laterSum,
                       const float* laterOut, std::int64_t n);
    // For tests: the elementary functions.
    void (*exponential)(const float* x, std::int64_t n, float* out);
    void (*errorFunction)(const float* x, std::int64_t n, float* out);
    void (*hyperbolicTangent)(const float* x, std::int64_t n, float* out);
    void (*logistic)(const float* x, std::int64_t n, float* out);
};

const KernelTable& referenceKernels();
#if defined(GLINT_X86)
const KernelTable& avx2Kernels();
const KernelTable& avxVnniKernels();
const KernelTable& avx512Kernels();
const KernelTable& amxKernels();
#endif

} // namespace engine

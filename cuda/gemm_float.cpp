#include "cuda/gemm_float.h"

#include "cuda/kernels/gemm_float_args.h"

#include <limits>

namespace cuda {

namespace {

using engine::QuantType;
using engine::Tensor;

// Sizes are 32-bit numbers in the kernels; 64 leaves room for rounding up to whole tiles.
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - 64;

bool isAligned(const void* data, std::int64_t rowBytes) {
    return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && rowBytes % 16 == 0;
}

std::int64_t tiles(std::int64_t count, std::int64_t each) {
    return (count + each - 1) / each;
}

struct Kernels {
    KernelId rows, tile;
    int weightBytes;
};

Kernels kernelsOf(QuantType type) {
    switch (type) {
    case QuantType::F16: return {KernelId::gemm_float_rows_f16, KernelId::gemm_float_tile_f16, 2};
    case QuantType::BF16:
        return {KernelId::gemm_float_rows_bf16, KernelId::gemm_float_tile_bf16, 2};
    default:
        CHECK(type == QuantType::F32);
        return {KernelId::gemm_float_rows_f32, KernelId::gemm_float_tile_f32, 4};
    }
}

} // namespace

void GemmFloat::multiply(const FloatMatrix& weight, Tensor x, Tensor out) {
    CHECK(x.columns == weight.columns && out.rows == x.rows && out.columns == weight.rows);
    CHECK(x.strideBytes % 4 == 0 && out.strideBytes % 4 == 0);
    CHECK(weight.rows <= kMost && weight.columns <= kMost && x.rows <= kMost);
    const Kernels kernels = kernelsOf(weight.type);

    GemmFloatArgs args;
    args.weights = weight.data;
    args.xStride = x.strideBytes / 4;
    args.outStride = out.strideBytes / 4;
    args.weightRows = static_cast<std::int32_t>(weight.rows);
    args.columns = static_cast<std::int32_t>(weight.columns);
    args.alignedWeights = isAligned(weight.data, weight.columns * kernels.weightBytes);
    args.alignedX = isAligned(x.data, x.strideBytes);

    args.x = reinterpret_cast<const float*>(x.data);
    args.out = reinterpret_cast<float*>(out.data);
    args.rows = static_cast<std::int32_t>(x.rows);

    const bool few = x.rows <= GemmFloatRows::kMostRows;
    const std::int64_t rowTiles = tiles(x.rows, few ? GemmFloatRows::kRows : GemmFloatTile::kRows);
    const std::int64_t weightTiles =
        tiles(weight.rows, few ? GemmFloatRows::kWarpWeightRows * GemmFloatRows::kWarps
                               : GemmFloatTile::kWeightRows);
    CHECK(rowTiles * weightTiles <= kMost);
    args.rowTiles = static_cast<std::int32_t>(rowTiles);
    LaunchShape shape;
    shape.gridX = static_cast<unsigned>(rowTiles * weightTiles);
    if (shape.gridX == 0) return;
    if (few) {
        shape.threads = GemmFloatRows::kThreads;
        m_launcher.run(kernels.rows, shape, args);
    } else {
        shape.threads = GemmFloatTile::kThreads;
        shape.sharedBytes = static_cast<unsigned>(GemmFloatTile::sharedBytes(kernels.weightBytes));
        m_launcher.run(kernels.tile, shape, args);
    }
}

} // namespace cuda

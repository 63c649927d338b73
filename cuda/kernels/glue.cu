// What stands between two matrix products of a pass with at most 16 rows, each in one kernel.
//
// Math: glue_residual: y = the product's segments in ascending order; y = rms norm of y (optional);
//   x += y; a copy of x and the 8-bit form of rms norm of x (both optional). glue_swiglu: g and u =
//   the segments of two products; the 8-bit form of g * sigmoid(g) * u. All by the functions of
//   row_math.cuh, so the bits are those of the separate kernels in rows.cu; the 8-bit form is that
//   of int8_format.h.
// Shapes: PartialSums and ActivationTile (formats.h); x F32, any stride. glue_residual: up to 32
//   units of 256 columns (the model: 26).
// Traffic: per row glue_residual reads 4 bytes per segment and column (the model: 2 or 6 segments,
//   53 or 160 KB) and the row, writes the row and 1.41 bytes per column; all of it lies in the
//   second level cache, so time is latency. glue_swiglu reads 8 bytes per segment and
//   column (156 KB per row for one).
// Launch: a warp holds a unit of a row in registers from the loads to the last store; only the sums
//   of the units go through shared memory, and every thread adds them in the one order.
//   glue_residual_cluster (sm_90 and later): 4 blocks of up to 8 warps share a row, because one
//   multiprocessor alone takes more than a microsecond to fetch the segments; each warp sends its
//   sum to the shared memory of all 4. glue_residual: one block of up to 32 warps per row.
//   glue_swiglu: one block per record, one warp per row of it. Norm weights are fetched before the
//   wait for the product. With more than 8 rows the blocks ask, from sm_90 on, for shared memory
//   that they do not use, so that no more lie on a multiprocessor than must (RowOps::runEvenly).
// Needs: sm_75; clusters from sm_90.
// Measured: H200, glint-cuda-layer-bench, one row: glue_residual 2.1 us each time, glue_swiglu 3.1.

#include "cuda/kernels/copy.cuh"
#include "cuda/kernels/row_args.h"
#include "cuda/kernels/row_math.cuh"

namespace cuda {
namespace {

// How the warps of a row tell each other the sums of their units. share() gives every warp of the
// row `value` of each unit in sums[round][unit]; a round, 0 or 1, is used once per launch.

using RowSums = float[2][kMaxGlueUnits];

struct InBlock {
    static constexpr int kBlocks = 1;
    __device__ void begin(int) {} // zeros of other units: the first share() waits
    __device__ void ready() {}
    __device__ void share(RowSums& sums, int round, int unit, float value, int lane) {
        if (lane == 0) sums[round][unit] = value;
        __syncthreads();
    }
};

#if defined(GLINT_BULK_COPY)
// A sum and the news that it is there go to each block in one message: 0.2 us less than a store and
// a barrier of the cluster.
struct InCluster {
    static constexpr int kBlocks = kGlueCluster;
    SharedBarrier (&there)[2]; // of this block: all sums of a round have come

    // Nothing may be sent to a block that has not started: begin() says that this one has, ready()
    // waits for the others. `warps`: of a block.
    __device__ void begin(int warps) {
        if (threadIdx.x == 0) {
            for (SharedBarrier& barrier : there) initBarrier(barrier, 1);
            publishBarriers();
            for (SharedBarrier& barrier : there)
                arriveExpecting(barrier, sizeof(float) * kGlueCluster * warps);
        }
        // ".aligned" wants the warp's lanes together.
        __syncwarp();
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    }
    __device__ void ready() {
        __syncwarp();
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    }
    __device__ void share(RowSums& sums, int round, int unit, float value, int lane) {
        if (lane < kGlueCluster) {
            asm volatile("{\n.reg .b32 to, barrier;\n"
                         "mapa.shared::cluster.u32 to, %0, %2;\n"
                         "mapa.shared::cluster.u32 barrier, %1, %2;\n"
                         "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [to], %3, "
                         "[barrier];\n}" ::"r"(sharedAddress(&sums[round][unit])),
                         "r"(sharedAddress(&there[round])), "r"(lane), "r"(__float_as_uint(value))
                         : "memory");
        }
        waitForCluster(there[round], 0);
    }
};
#endif

// One unit of a row, by one warp. kBatch: segments whose loads are in flight together. All warps of
// the row, and all blocks of its cluster, go through the same exchanges.
template<int kBatch, class Exchange>
__device__ __forceinline__ void residualUnit(const GlueResidualArgs& a, std::int64_t row, int unit,
                                             Exchange exchange) {
    __shared__ __align__(16) RowSums sums;
    const int lane = threadIdx.x % 32;
    const int columns = static_cast<int>(a.out.columns);
    const int units = static_cast<int>(unitsOf(columns));
    const int first = unit * kUnitColumns;
    letNextStart();
    // Units that nobody sends count as zeros.
    const int sent = static_cast<int>(blockDim.x) / 32 * Exchange::kBlocks;
    for (int i = threadIdx.x; i < 2 * kMaxGlueUnits; i += blockDim.x)
        if (i % kMaxGlueUnits >= sent) sums[i / kMaxGlueUnits][i % kMaxGlueUnits] = 0.0f;
    exchange.begin(static_cast<int>(blockDim.x) / 32);
    // Warps beyond the row compute with zeros: every access is bounded by the columns.
    const UnitPart postGamma = loadGamma(a.postGamma, first, columns, lane);
    const UnitPart nextGamma = loadGamma(a.nextGamma, first, columns, lane);
    PartialUnit<kBatch> partial(a.y, static_cast<int>(row), first, columns, lane);
    float* xRow = a.x + row * a.xStride;
    waitForPrevious();
    partial.start();
    UnitPart x = loadUnit(xRow, first, columns, lane);
    UnitPart y = partial.sum();
    exchange.ready();
    if (a.hasPost) {
        exchange.share(sums, 0, unit, unitSquares(y), lane);
        const float factor = normFactor(paddedRowSum<kMaxGlueUnits>(sums[0]), columns, a.postEps);
#pragma unroll
        for (int i = 0; i < 8; ++i) y.v[i] = normed(y.v[i], factor, postGamma.v[i]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) x.v[i] = __fadd_rn(x.v[i], y.v[i]);
    storeUnit(xRow, first, columns, lane, x);
    if (a.tap) storeUnit(a.tap + row * a.tapStride, first, columns, lane, x);
    if (!a.hasNext) return;
    exchange.share(sums, 1, unit, unitSquares(x), lane);
    if (unit >= units) return;
    const float factor = normFactor(paddedRowSum<kMaxGlueUnits>(sums[1]), columns, a.nextEps);
#pragma unroll
    for (int i = 0; i < 8; ++i) x.v[i] = normed(x.v[i], factor, nextGamma.v[i]);
    writeQuantized(a.out, row, unit, lane, x);
}

} // namespace

extern "C" __global__ void __launch_bounds__(32 * kMaxGlueUnits)
    glue_residual(const __grid_constant__ GlueResidualArgs a) {
    residualUnit<2>(a, blockIdx.x, threadIdx.x / 32, InBlock());
}

// Grid (kGlueCluster, rows): the blocks of a row are one cluster.
#if defined(GLINT_BULK_COPY)
extern "C" __global__ void __cluster_dims__(kGlueCluster, 1, 1)
    __launch_bounds__(32 * kMaxGlueUnits / kGlueCluster)
        glue_residual_cluster(const __grid_constant__ GlueResidualArgs a) {
    const int warps = blockDim.x / 32;
    __shared__ SharedBarrier there[2];
    residualUnit<6>(a, blockIdx.y, blockIdx.x * warps + threadIdx.x / 32, InCluster{there});
}
#else
// Never launched there; the table of kernels wants every name in every image.
extern "C" __global__ void glue_residual_cluster(const __grid_constant__ GlueResidualArgs) {}
#endif

// Grid (tiles, units).
extern "C" __global__ void __launch_bounds__(32 * kTileRows)
    glue_swiglu(const __grid_constant__ GlueSwigluArgs a) {
    letNextStart();
    const int lane = threadIdx.x % 32, unit = blockIdx.y, first = unit * kUnitColumns;
    const int row = blockIdx.x * kTileRows + threadIdx.x / 32;
    const int columns = static_cast<int>(a.out.columns);
    PartialUnit<2> gateSums(a.gate, row, first, columns, lane);
    PartialUnit<2> upSums(a.up, row, first, columns, lane);
    waitForPrevious(); // every warp: what follows relies on all of them
    if (row >= a.out.rows) return;
    gateSums.start();
    upSums.start();
    UnitPart gate = gateSums.sum();
    const UnitPart up = upSums.sum();
#pragma unroll
    for (int i = 0; i < 8; ++i) gate.v[i] = swiglu(gate.v[i], up.v[i]);
    writeQuantized(a.out, row, unit, lane, gate);
}

} // namespace cuda

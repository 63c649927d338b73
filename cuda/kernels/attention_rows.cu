// Attention of up to 16 rows over the cache: decoding, verifying, the drafter's block.
//
// Math: attention.cuh. attention_rows leaves a state per unit (a split, or a tile where there are
//   few), key/value head and query tile; attention_merge merges them in ascending order, tiles
//   into splits and splits into the result, and attention_finish then multiplies by sigmoid(gate)
//   and writes the 8-bit form (row_math.cuh), all but the merge as the separate operations do it.
//   Reference: CpuBackend::attention, within what half precision of q, p and the keys means.
// Shapes: attention_args.h. q, out F32 [rows][heads * head size], aligned to 8 bytes, or q~ as
//   halves, aligned to 16; cache rows F16 (aligned to 16 bytes) or Q8_0 (2 bytes). Head sizes 32,
//   64, 96, 128; any number of heads.
// Traffic: every key and value a row sees is read once per four query tiles, that is once for 4
//   rows of 16 heads a group or for 16 rows of 4; 8.3 KB of states (head size 128) per unit, head
//   and query tile are written and read again: 1/16 (split of 256) or 1/32 (of 512) of the keys
//   and values for one row.
// Launch: attention_rows: persistent blocks of 128 threads, a query tile per warp; an item is
//   (unit, key/value head, four query tiles). The positions are read from memory, so a recorded
//   launch serves all positions; blocks without an item leave at once. With few items (planUnits),
//   the tiles themselves are the units, so that a short context still fills the card. Shared
//   memory: four tiles of keys and values on their way, and the queries: 87,040 bytes (head size
//   128; with two tiles, where there is less, 52,224). 255 registers, two blocks per
//   multiprocessor. attention_merge: a warp per 32 columns; attention_finish: a block of 8 warps
//   per unit of 256 columns and row.
// Needs: sm_75 (copies wait there); 16-byte copies in flight from sm_80 on.
// Measured: H200, glint-cuda-layer-bench: with attention_inputs 9.9 us a layer for one row at
//   1,024 tokens, 11.9 for 16 rows.

#include "cuda/kernels/attention.cuh"
#include "cuda/kernels/row_math.cuh"

namespace cuda {
namespace {

constexpr int kMergedAtOnce = 32; // units, a lane each

// How the keys that the call sees are cut into units. attention_rows and the merge agree on it.
struct UnitPlan {
    int firstPosition;
    int tilesPerUnit; // 1, or those of a split
    int firstUnit, endUnit;
};

__device__ __forceinline__ int itemBlocks(const AttentionArgs& a) {
    return (a.queryTiles + kRowWarps - 1) / kRowWarps;
}

__device__ __forceinline__ UnitPlan planUnits(const AttentionArgs& a) {
    UnitPlan plan;
    plan.firstPosition = __ldcg(a.positions); // maybe before waitForPrevious: not from the L1
    const int firstTile = max(0, plan.firstPosition - a.left) / kKeyTile;
    const int endTile = (plan.firstPosition + a.rows - 1) / kKeyTile + 1;
    const int tiles = endTile - firstTile, items = tiles * a.kvHeads * itemBlocks(a);
    plan.tilesPerUnit = items <= a.tileItems ? 1 : a.splitTiles;
    plan.firstUnit = firstTile / plan.tilesPerUnit;
    plan.endUnit = (endTile - 1) / plan.tilesPerUnit + 1;
    return plan;
}

__device__ __forceinline__ std::int64_t stateIndex(const AttentionArgs& a, int unitOfCall,
                                                   int kvHead, int queryTile) {
    return ((std::int64_t(unitOfCall) * a.kvHeads + kvHead) * a.queryTiles + queryTile) *
           stateFloats(a.headSize);
}

template<int D>
__device__ __forceinline__ void storeState(float* to, const TileState<D>& state, int lane) {
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int row = g + 8 * i;
        if (t == 0)
            *reinterpret_cast<float2*>(to + kQueryTile * D + 2 * row) =
                make_float2(state.m[i], state.l[i]);
        if (state.m[i] == minusInfinity()) continue; // the merge reads no more than that then
#pragma unroll
        for (int n = 0; n < D / 8; ++n)
            *reinterpret_cast<float2*>(to + row * D + 8 * n + 2 * t) =
                make_float2(state.o[n][2 * i], state.o[n][2 * i + 1]);
    }
}

template<int D, bool kEight> __device__ __forceinline__ void attentionRows(const AttentionArgs& a) {
    extern __shared__ __align__(16) std::uint8_t shared[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (!a.onlyInputsBefore) waitForPrevious();
    const UnitPlan plan = planUnits(a);
    const int blocks = itemBlocks(a);
    const int items = (plan.endUnit - plan.firstUnit) * a.kvHeads * blocks;
    bool waits = a.onlyInputsBefore != 0;
    if (!waits) letNextStart();
    for (int item = blockIdx.x; item < items; item += gridDim.x) {
        const int block = item % blocks, kvHead = item / blocks % a.kvHeads;
        const int unitOfCall = item / (blocks * a.kvHeads), unit = plan.firstUnit + unitOfCall;
        const SeenRange sees = seenByAny(a, block * kRowWarps * kQueryTile,
                                         (block + 1) * kRowWarps * kQueryTile, plan.firstPosition);
        const int first = max(unit * plan.tilesPerUnit, sees.from / kKeyTile);
        const int end = min((unit + 1) * plan.tilesPerUnit, (sees.to - 1) / kKeyTile + 1);
        TileRing<D, CacheFetch<D, kEight, 32 * kRowWarps>> ring(shared, a.ringPlaces,
                                                                {a, sees, kvHead});
        if (item != static_cast<int>(blockIdx.x)) __syncthreads(); // the last item's tiles are read
        // Tiles without positions of this call were complete before the previous kernel started;
        // copies of halves pass by the L1, which may hold what was there before.
        const int fetchedFirst = min(end, first + a.ringPlaces / 2);
        const bool early = !kEight && waits && fetchedFirst * kKeyTile <= plan.firstPosition;
        if (early) ring.start(first, end);
        const int queryTile = block * kRowWarps + warp;
        const bool hasQueries = queryTile < a.queryTiles;
        std::uint8_t* const ownQueries =
            shared + a.ringPlaces * tileBytes(D) + warp * queryTileBytes(D);
        const QueryRows rows = queryRows(a, queryTile, plan.firstPosition, lane);
        HalfRows halfRows;
        if (a.halves) halfRows = halfRowsOf<D>(a, queryTile, kvHead, lane);
        if (waits) {
            waitForPrevious();
            letNextStart();
            waits = false;
        }
        QueryTile<D> q[1];
        if (a.halves && first < end) q[0].startHalves(halfRows, ownQueries, lane);
        if (early)
            ring.follow();
        else
            ring.start(first, end);
        TileState<D> state;
        state.clear();
        if (first < end) {
            if (!a.halves) loadQueries(q[0], a, rows, kvHead, ownQueries, lane);
            walkTiles<D>(state, q, rows, ring, hasQueries, first, end, lane);
        }
        if (hasQueries)
            storeState<D>(a.states + stateIndex(a, unitOfCall, kvHead, queryTile), state, lane);
    }
    if (waits) waitForPrevious(); // a block without work; what follows relies on all of them
}

// How a unit is merged into its split, for all columns of a row and head. The lanes compute these
// for a unit each and leave them in shared memory: to shuffle them out of the registers takes four
// instructions a unit, in which 16 rows spend a microsecond.
struct alignas(16) UnitMerge {
    float keep, take, l;
    std::int32_t holds; // the row sees something in it
};

// One column of the result: row `row`, query head `head`, column `column` of it; called by a warp
// with 32 columns of one head. merges: shared memory of the warp's own.
__device__ __forceinline__ float mergedColumn(const AttentionArgs& a, const UnitPlan& plan, int row,
                                              int head, int column, int lane,
                                              UnitMerge (&merges)[kMergedAtOnce]) {
    const int kvHead = head / a.ratio, r = row * a.ratio + head % a.ratio;
    const int queryTile = r / kQueryTile, rowOfTile = r % kQueryTile;
    const float* const states = a.states + stateIndex(a, 0, kvHead, queryTile);
    const auto stride =
        static_cast<std::uint32_t>(a.kvHeads * a.queryTiles * stateFloats(a.headSize)); // of a unit
    const float* const values = states + rowOfTile * a.headSize + column;
    const float* const sums = states + kQueryTile * a.headSize + 2 * rowOfTile;
    const auto units = static_cast<unsigned>(plan.endUnit - plan.firstUnit);

    // Units that make a split. As many as there are lanes are looked at together, from the start of
    // a split; maxima up to a unit need no order, and give the factors of all merges at once.
    const int splitUnits = a.splitTiles / plan.tilesPerUnit;
    const int place = lane & (splitUnits - 1); // a power of two
    float totalM = minusInfinity(), totalL = 0.0f, total = 0.0f;
    float splitL = 0.0f, split = 0.0f;
    for (int base = plan.firstUnit / splitUnits * splitUnits; base < plan.endUnit;
         base += kMergedAtOnce) {
        // The first units may lie before those of the call. Few instructions: there are many loads,
        // and all of them are to be in flight.
        const int skipped = base - plan.firstUnit;
        float m = minusInfinity(), l = 0.0f;
        if (static_cast<unsigned>(skipped + lane) < units) {
            const float2 ml = *reinterpret_cast<const float2*>(sums + std::int64_t(skipped + lane) *
                                                                          std::int64_t(stride));
            m = ml.x, l = ml.y;
        }
        const float* const from = kept(values + std::int64_t(skipped) * std::int64_t(stride));
        float o[kMergedAtOnce]; // what an empty state holds is not used
#pragma unroll
        for (int i = 0; i < kMergedAtOnce; ++i)
            o[i] =
                static_cast<unsigned>(skipped + i) < units ? from[std::uint64_t(i) * stride] : 0.0f;

        float splitM = m; // of this unit and those before it in its split
        for (int step = 1; step < splitUnits; step *= 2) {
            const float before = __shfl_up_sync(kWholeWarp, splitM, step);
            if (place >= step) splitM = fmaxf(splitM, before);
        }
        float before = __shfl_up_sync(kWholeWarp, splitM, 1);
        if (place == 0) before = minusInfinity();
        const MergeFactors inSplit = mergeFactors(before, m);
        __syncwarp(); // the last ones have been read
        merges[lane] = {inSplit.keep, inSplit.take, l, m > minusInfinity()};
        __syncwarp();

        float all = m; // of this unit and all before it
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const float earlier = __shfl_up_sync(kWholeWarp, all, step);
            if (lane >= step) all = fmaxf(all, earlier);
        }
        all = fmaxf(all, totalM);
        // The total before this unit's split.
        float beforeSplit = __shfl_sync(kWholeWarp, all, max(0, lane - place - 1));
        if (lane == place) beforeSplit = totalM;
        const MergeFactors inTotal = mergeFactors(beforeSplit, splitM);

        const int count = min(kMergedAtOnce, plan.endUnit - base);
#pragma unroll
        for (int i = 0; i < kMergedAtOnce; ++i) {
            if (i >= count) break;
            const UnitMerge unit = merges[i];
            MergeFactors f;
            f.keep = unit.keep;
            f.take = unit.take;
            split = merged(split, unit.holds ? o[i] : 0.0f, f);
            splitL = merged(splitL, unit.l, f);
            if ((i & (splitUnits - 1)) == splitUnits - 1 || i == count - 1) {
                f.keep = __shfl_sync(kWholeWarp, inTotal.keep, i);
                f.take = __shfl_sync(kWholeWarp, inTotal.take, i);
                total = merged(total, split, f);
                totalL = merged(totalL, splitL, f);
                split = splitL = 0.0f;
            }
        }
        totalM = __shfl_sync(kWholeWarp, all, 31);
    }
    return __fmul_rn(total, finalShare(totalL));
}

} // namespace

extern "C" __global__ void __launch_bounds__(128)
    attention_merge(const __grid_constant__ AttentionArgs a) {
    __shared__ UnitMerge merges[4][kMergedAtOnce];
    waitForPrevious();
    letNextStart();
    const int lane = threadIdx.x % 32;
    const int columns = a.kvHeads * a.ratio * a.headSize;
    const int part = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int row = part / (columns / 32), first = part % (columns / 32) * 32;
    if (row >= a.rows) return;
    const UnitPlan plan = planUnits(a);
    const int head = first / a.headSize;
    a.out[row * a.outStride + first + lane] =
        mergedColumn(a, plan, row, head, first % a.headSize + lane, lane, merges[threadIdx.x / 32]);
}

// Registers such that a block of the product that follows (gemm_rows with 96) can start beside one
// of attention_finish: a quarter of a multiprocessor has 512 a lane, 3 warps take 96 and 2 these.
// Now it takes 72.
#if __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204
#    define GLINT_FINISH_BOUNDS __maxnreg__(112) // known from CUDA 12.4 on
#else
#    define GLINT_FINISH_BOUNDS __launch_bounds__(256)
#endif

// Block (unit of 256 columns, row).
extern "C" __global__ void GLINT_FINISH_BOUNDS
attention_finish(const __grid_constant__ AttentionFinishArgs f) {
    __shared__ __align__(16) float unitRow[kUnitColumns];
    __shared__ UnitMerge merges[8][kMergedAtOnce];
    const AttentionArgs& a = f.attention;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int unit = blockIdx.x, row = blockIdx.y;
    const int columns = static_cast<int>(f.out.columns);
    const int first = unit * kUnitColumns + warp * 32;
    // The positions and the gate's sums were complete before attention_inputs had finished, and so
    // before attention_rows let this kernel start. Not from the L1, which may hold what was there
    // before.
    const UnitPlan plan = planUnits(a);
    const auto gateOf = [&]() {
        if (!f.gate.data || first >= columns) return 0.0f;
        const float* const from = f.gate.data + f.gate.index(0, first + lane, row);
        const std::int64_t stride = std::int64_t(f.gate.rowTiles) * f.gate.columns * 16;
        float sum = __ldcg(from);
        for (int s = 1; s < f.gate.segments; ++s) sum = __fadd_rn(sum, __ldcg(from + s * stride));
        return sigmoid(sum);
    };
    float gate = f.attended ? 0.0f : gateOf();
    waitForPrevious();
    letNextStart();
    if (f.attended) gate = gateOf();
    float value = 0.0f;
    if (first < columns) {
        if (f.attended)
            value = f.attended[row * f.attendedStride + first + lane];
        else
            value = mergedColumn(a, plan, row, first / a.headSize, first % a.headSize + lane, lane,
                                 merges[warp]);
        if (f.gate.data) value = __fmul_rn(value, gate);
    }
    unitRow[warp * 32 + lane] = value;
    __syncthreads();
    if (warp > 0) return;
    const UnitPart part = loadUnit(unitRow, 0, kUnitColumns, lane);
    writeQuantized(f.out, row, unit, lane, part);
}

#define GLINT_ATTENTION_ROWS(name, size, eight)                                                    \
    extern "C" __global__ void __launch_bounds__(128, 2)                                           \
        name(const __grid_constant__ AttentionArgs args) {                                         \
        attentionRows<size, eight>(args);                                                          \
    }

GLINT_ATTENTION_ROWS(attention_rows_32_f16, 32, false)
GLINT_ATTENTION_ROWS(attention_rows_64_f16, 64, false)
GLINT_ATTENTION_ROWS(attention_rows_96_f16, 96, false)
GLINT_ATTENTION_ROWS(attention_rows_128_f16, 128, false)
GLINT_ATTENTION_ROWS(attention_rows_32_q8_0, 32, true)
GLINT_ATTENTION_ROWS(attention_rows_64_q8_0, 64, true)
GLINT_ATTENTION_ROWS(attention_rows_96_q8_0, 96, true)
GLINT_ATTENTION_ROWS(attention_rows_128_q8_0, 128, true)

} // namespace cuda

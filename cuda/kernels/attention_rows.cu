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
//   rows of 16 heads a group or for 16 rows of 4; 4.2 KB of states (head size 128) per unit, head
//   and query tile are written and read again: for one row 1/31 of the keys and values where units
//   are splits, 1/8 where they are tiles.
// Launch: attention_rows: persistent blocks of 128 threads, a query tile per warp; an item is
//   (unit, key/value head, four query tiles). The positions are read from memory, so a recorded
//   launch serves all positions; blocks without an item leave at once. With few items (planUnits),
//   the tiles themselves are the units, so that a short context still fills the card. Shared
//   memory: four tiles of keys and values on their way, and the queries: 87,040 bytes (head size
//   128; with two tiles, where there is less, 52,224). 255 registers, two blocks per
//   multiprocessor. attention_merge: a warp per 32 columns; attention_finish: a block of 8 warps
//   per unit of 256 columns and row.
// Needs: sm_75 (copies wait there); 16-byte copies in flight from sm_80 on.
// Measured: H200, glint-cuda-layer-bench: with attention_inputs 8.5 us a layer for one row at
//   1,024 tokens, 10.1 for 16 rows.

#include "cuda/kernels/attention.cuh"
#include "cuda/kernels/row_math.cuh"

namespace cuda {
namespace {

constexpr int kMergedAtOnce = 32; // units, a lane each
static_assert((kSplitTiles & (kSplitTiles - 1)) == 0 && kMergedAtOnce % kSplitTiles == 0);

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
    plan.tilesPerUnit = items <= a.tileItems ? 1 : kSplitTiles;
    plan.firstUnit = firstTile / plan.tilesPerUnit;
    plan.endUnit = (endTile - 1) / plan.tilesPerUnit + 1;
    return plan;
}

__device__ __forceinline__ std::int64_t stateAt(const AttentionArgs& a, int unitOfCall, int kvHead,
                                                int queryTile) {
    return ((std::int64_t(unitOfCall) * a.kvHeads + kvHead) * a.queryTiles + queryTile) *
           stateBytes(a.headSize);
}

// Of 32 columns of a row in memory, the i-th is this one, so that a lane stores 16 bytes at once.
__device__ __forceinline__ int storedColumn(int i) {
    return i % 8 / 2 * 8 + i / 8 * 2 + i % 2;
}

// Where rows g and g + 8 of a state lie in memory: columns 8 (n + j) + 2 t and the next, j = 0 ..
// 3, are 16 bytes.
template<int D> struct StateRows {
    std::uint8_t* to;
    int lane;

    __device__ __forceinline__ void storePairs(int n, int row, uint4 pairs) const {
        *reinterpret_cast<uint4*>(to + (lane / 4 + 8 * row) * 2 * D + 16 * n + 16 * (lane % 4)) =
            pairs;
    }
    __device__ __forceinline__ void storeSums(const TileState<D>& state, float share) const {
        if (lane % 4 != 0) return;
#pragma unroll
        for (int row = 0; row < 2; ++row)
            *reinterpret_cast<float2*>(to + kQueryTile * 2 * D + 8 * (lane / 4 + 8 * row)) =
                make_float2(state.m[row], __fmul_rn(state.l[row], share));
    }
    __device__ __forceinline__ void storeZeros() const {
#pragma unroll
        for (int n = 0; n < D / 8; n += 4)
#pragma unroll
            for (int row = 0; row < 2; ++row) storePairs(n, row, make_uint4(0, 0, 0, 0));
    }
    // o divided by kSplitScale, so that halves hold it.
    __device__ __forceinline__ void storeSplit(const TileState<D>& state) const {
        constexpr float share = 1.0f / kSplitScale;
#pragma unroll
        for (int row = 0; row < 2; ++row) {
            const auto pair = [&](int n) {
                return halves(__fmul_rn(state.o[n][2 * row], share),
                              __fmul_rn(state.o[n][2 * row + 1], share));
            };
#pragma unroll
            for (int n = 0; n < D / 8; n += 4)
                storePairs(n, row, make_uint4(pair(n), pair(n + 1), pair(n + 2), pair(n + 3)));
        }
    }
};

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
        const StateRows<D> to = {a.states + stateAt(a, unitOfCall, kvHead, queryTile), lane};
        const bool only = plan.tilesPerUnit == 1;
        if (first < end) {
            if (!a.halves) loadQueries(q[0], a, rows, kvHead, ownQueries, lane);
            walkTiles<D>(
                state, q, rows, ring, hasQueries, first, end, only,
                [&](int n, int row, uint4 pairs) { to.storePairs(n, row, pairs); }, lane);
        }
        if (hasQueries) {
            // l as a share like o, so that the merge has one factor for both.
            to.storeSums(state, only ? 1.0f : 1.0f / kSplitScale);
            if (!only)
                to.storeSplit(state);
            else if (!__any_sync(kWholeWarp, fmaxf(state.m[0], state.m[1]) > minusInfinity()))
                to.storeZeros(); // take() may not have been called
        }
    }
    if (waits) waitForPrevious(); // a block without work; what follows relies on all of them
}

// Factors for all columns of a row and head: of units in their split, of splits in the total. Lanes
// compute them for a unit each and leave them in shared memory, where each warp has its own: to
// shuffle them out of the registers takes four instructions a unit, in which 16 rows spend a
// microsecond.
struct alignas(16) MergeStep {
    float keep, take, l;
};
struct MergeSteps {
    MergeStep units[kMergedAtOnce], splits[kMergedAtOnce];
};

// One column of the result: of row `row` and the 32 columns from `first` on that storedColumn(lane)
// says; called by a whole warp. All that needs no state is done by the constructor.
class MergedColumn {
public:
    __device__ __forceinline__ MergedColumn(const AttentionArgs& a, const UnitPlan& plan, int row,
                                            int first, int lane)
        : m_plan(plan), m_lane(lane),
          m_stride(static_cast<std::uint32_t>(a.kvHeads * a.queryTiles * stateBytes(a.headSize))) {
        const int head = first / a.headSize, kvHead = head / a.ratio;
        const int r = row * a.ratio + head - kvHead * a.ratio, rowOfTile = r % kQueryTile;
        const std::uint8_t* const states = a.states + stateAt(a, 0, kvHead, r / kQueryTile);
        const int column = first - head * a.headSize + lane;
        m_values = kept(states + 2 * (rowOfTile * a.headSize + column));
        m_sums = kept(states + 2 * kQueryTile * a.headSize + 8 * rowOfTile);
    }

    __device__ __forceinline__ float get(MergeSteps& steps) const {
        const bool tiles = m_plan.tilesPerUnit == 1;
        const int splitUnits = tiles ? kSplitTiles : 1;
        Total total = {minusInfinity(), 0.0f, 0.0f};
        for (int base = m_plan.firstUnit & -splitUnits; base < m_plan.endUnit;
             base += kMergedAtOnce)
            take(total, steps, base, tiles);
        return __fmul_rn(total.o, finalShare(total.l));
    }

private:
    struct Total {
        float m, l, o;
    };

    // Units base .. base + 31, from the start of a split; the first ones and the last ones may not
    // be of the call, and count as such in which nothing is seen.
    __device__ __forceinline__ void take(Total& total, MergeSteps& steps, int base,
                                         bool tiles) const {
        const int skipped = base - m_plan.firstUnit;
        const auto units = static_cast<unsigned>(m_plan.endUnit - m_plan.firstUnit);
        float m = minusInfinity(), l = 0.0f;
        if (static_cast<unsigned>(skipped + m_lane) < units) {
            const float2 ml = *reinterpret_cast<const float2*>(
                m_sums + std::int64_t(skipped + m_lane) * std::int64_t(m_stride));
            m = ml.x, l = ml.y;
        }
        // Few instructions: there are many loads, and all of them are to be in flight.
        const std::uint8_t* const from =
            kept(m_values + std::int64_t(skipped) * std::int64_t(m_stride));
        const int count = m_plan.endUnit - base;
        std::uint16_t o[kMergedAtOnce]; // halves, of the splits that there are
#pragma unroll
        for (int i = 0; i < kMergedAtOnce; ++i) {
            if (i % kSplitTiles == 0 && i >= count) break;
            o[i] = static_cast<unsigned>(skipped + i) < units
                       ? *reinterpret_cast<const std::uint16_t*>(from + std::uint64_t(i) * m_stride)
                       : std::uint16_t(0);
        }

        // Maxima up to a unit need no order, and give the factors of all merges at once.
        const int place = tiles ? m_lane % kSplitTiles : 0;
        float splitM = m; // of this unit and those before it in its split
        __syncwarp();     // the last steps have been read
        if (tiles) {
#pragma unroll
            for (int step = 1; step < kSplitTiles; step *= 2) {
                const float earlier = __shfl_up_sync(kWholeWarp, splitM, step);
                if (place >= step) splitM = fmaxf(splitM, earlier);
            }
            float before = __shfl_up_sync(kWholeWarp, splitM, 1);
            if (place == 0) before = minusInfinity();
            const MergeFactors f = mergeFactors(before, m);
            steps.units[m_lane] = {f.keep, f.take, l};
        }
        float all = m; // of this unit and all before it
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const float earlier = __shfl_up_sync(kWholeWarp, all, step);
            if (m_lane >= step) all = fmaxf(all, earlier);
        }
        all = fmaxf(all, total.m);
        // The total before this unit's split.
        float beforeSplit = __shfl_sync(kWholeWarp, all, max(0, m_lane - place - 1));
        if (m_lane == place) beforeSplit = total.m;
        MergeFactors f = mergeFactors(beforeSplit, splitM);
        if (tiles) {
            __syncwarp();
            float splitL = 0.0f;
#pragma unroll
            for (int i = 0; i < kSplitTiles; ++i) {
                const MergeStep unit = steps.units[m_lane - place + i];
                splitL = merged(splitL, unit.l, {0.0f, unit.keep, unit.take});
            }
            if (place == kSplitTiles - 1)
                steps.splits[m_lane / kSplitTiles] = {f.keep, f.take, splitL};
        } else { // l and o are stored as a share
            steps.splits[m_lane] = {f.keep, __fmul_rn(f.take, kSplitScale), l};
        }
        __syncwarp();
        total.m = __shfl_sync(kWholeWarp, all, 31);

        const auto value = [&](int i) { return __half2float(__ushort_as_half(o[i])); };
        const auto add = [&](const MergeStep& split, float splitO) {
            f = {0.0f, split.keep, split.take};
            total.o = merged(total.o, splitO, f);
            total.l = merged(total.l, split.l, f);
        };
        if (tiles) {
#pragma unroll
            for (int j = 0; j < kMergedAtOnce / kSplitTiles; ++j) {
                if (j * kSplitTiles >= count) break;
                float split = 0.0f;
#pragma unroll
                for (int i = j * kSplitTiles; i < (j + 1) * kSplitTiles; ++i) {
                    const float2 unit = *reinterpret_cast<const float2*>(&steps.units[i]);
                    split = merged(split, value(i), {0.0f, unit.x, unit.y});
                }
                add(steps.splits[j], ofSplit(split));
            }
        } else {
#pragma unroll
            for (int i = 0; i < kMergedAtOnce; ++i) {
                if (i >= count) break;
                add(steps.splits[i], value(i));
            }
        }
    }

    UnitPlan m_plan;
    int m_lane;
    std::uint32_t m_stride; // of a unit
    const std::uint8_t* m_values;
    const std::uint8_t* m_sums;
};

} // namespace

extern "C" __global__ void __launch_bounds__(128)
    attention_merge(const __grid_constant__ AttentionArgs a) {
    __shared__ MergeSteps steps[4];
    waitForPrevious();
    letNextStart();
    const int lane = threadIdx.x % 32;
    const int columns = a.kvHeads * a.ratio * a.headSize;
    const int part = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int row = part / (columns / 32), first = part % (columns / 32) * 32;
    if (row >= a.rows) return;
    const UnitPlan plan = planUnits(a);
    a.out[row * a.outStride + first + storedColumn(lane)] =
        MergedColumn(a, plan, row, first, lane).get(steps[threadIdx.x / 32]);
}

// Registers such that a block of the product that follows (gemm_rows with 96) can start beside one
// of attention_finish: a quarter of a multiprocessor has 512 a lane, 3 warps take 96 and 2 these.
// Now it takes 77.
#if __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204
#    define GLINT_FINISH_BOUNDS __maxnreg__(112) // known from CUDA 12.4 on
#else
#    define GLINT_FINISH_BOUNDS __launch_bounds__(256)
#endif

// Block (unit of 256 columns, row).
extern "C" __global__ void GLINT_FINISH_BOUNDS
attention_finish(const __grid_constant__ AttentionFinishArgs f) {
    __shared__ __align__(16) float unitRow[kUnitColumns];
    __shared__ MergeSteps steps[8];
    const AttentionArgs& a = f.attention;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int unit = blockIdx.x, row = blockIdx.y;
    const int columns = static_cast<int>(f.out.columns);
    const int first = unit * kUnitColumns + warp * 32, column = storedColumn(lane);
    // The positions and the gate's sums were complete before attention_inputs had finished, and so
    // before attention_rows let this kernel start. Not from the L1, which may hold what was there
    // before.
    const UnitPlan plan = planUnits(a);
    const auto gateOf = [&]() {
        if (!f.gate.data || first >= columns) return 1.0f;
        const float* const from = f.gate.data + f.gate.index(0, first + column, row);
        const std::int64_t stride = std::int64_t(f.gate.rowTiles) * f.gate.columns * 16;
        float sum = __ldcg(from);
        for (int s = 1; s < f.gate.segments; ++s) sum = __fadd_rn(sum, __ldcg(from + s * stride));
        return sigmoid(sum);
    };
    const MergedColumn merge(a, plan, row, first, lane);
    float gate = f.attended ? 1.0f : gateOf();
    waitForPrevious();
    letNextStart();
    if (f.attended) gate = gateOf();
    float value = 0.0f;
    if (first < columns) {
        if (f.attended)
            value = f.attended[row * f.attendedStride + first + column];
        else
            value = merge.get(steps[warp]);
        value = __fmul_rn(value, gate);
    }
    unitRow[warp * 32 + column] = value;
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

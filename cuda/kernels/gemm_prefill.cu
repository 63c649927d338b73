// Products of many rows of activations with quantised weights.
//
// Math: the integers and floats of engine/backend/int8_format.h (tile_products.cuh), as
// gemm_rows.cu
//   has them: unit values are added in ascending order inside a segment, from -0, which leaves the
//   first value as it is; out = first segment, then out + segment in ascending order. So the bits
//   are the processor's and those of the row kernels.
// Shapes: weights as units (unit_layout.h), up to kMaxPrefillJobs matrices of one type and K;
//   activations as records [unit][tile of 8 rows] (formats.h); out F32 [rows][weight rows], any
//   stride. Everything may be ragged: a row tile beyond the matrix is computed and not stored.
// Traffic: per unit a block reads blockRowTiles units of weights and blockTiles records (2,880 B).
//   With 16 x 8 tiles of Q4_K that is 60 KB for 256 x 64 x 256 products. Blocks that take items one
//   after the other share the weights, so each weight comes from memory about once. A warp reads
//   2.3 KB of shared memory for 16 x 8 x 256 products.
// Launch: blocks stay and take items (GemmPrefillArgs) from a counter in ascending order, so that
// an
//   item's earlier segments are always done or in work and no block can wait for one that has not
//   begun. A warp makes 32 x 64 products of a unit: 64 sums and 64 floats of the unit in registers,
//   activations straight from shared memory. Stages hold a unit's weights and activations for the
//   block; the warps take turns at starting the copies into a stage that all have left. Up to 8
//   warps of 255 registers in a block; how many, and how many stages, the host chooses for the
//   matrix and the card. Q4_K: 2,100 instructions per warp and unit (160 products of the tensor
//   cores, 580 integer multiply-adds, 320 conversions, 128 16-byte shared reads), 366 of them four
//   times. Issue slots are the limit.
// Needs: sm_75; bulk copies from sm_90, asynchronous copies from sm_80.
// Measured: H200, glint-cuda-prefill-bench, 512 rows: Q4_K 210 to 279 TOPS, Q6_K 30 (256 rows of
//   weights) to 210.

#include "cuda/kernels/copy.cuh"
#include "cuda/kernels/gemm_prefill_args.h"
#include "cuda/kernels/tile_products.cuh"

namespace cuda {
namespace {

template<QuantType T> inline constexpr int kBytesOf = unitBytes(T);
constexpr int kNT = kPrefillWarpTiles, kRowTiles = kPrefillWarpRowTiles;

constexpr int kNoItem = -1;    // the end has been told
constexpr int kEndToTell = -2; // nothing is left to fetch, which the stages do not say yet

// What a stage holds.
struct Note {
    std::int32_t item;    // kNoItem: nothing more comes
    std::int32_t segment; // of K
    std::int32_t last;    // the last unit of its segment
};

// Where the loading stands: the next unit to fetch.
struct Cursor {
    std::int32_t item; // or kEndToTell, then kNoItem
    std::int32_t segment;
    std::int32_t unit; // of the segment
};

struct Control {
    SharedBarrier full[kMaxPrefillStages];
    SharedBarrier empty[kMaxPrefillStages]; // a phase: all warps have left the stage
    Note notes[kMaxPrefillStages];
    Cursor cursor;
};
static_assert(sizeof(Control) <= kPrefillControlBytes);

// A tile of the out matrices.
struct Place {
    int job;
    int rowTile; // first of the job's row tiles
    int column;  // first tile of activations
};

__device__ __forceinline__ Place placeOf(const GemmPrefillArgs& args, int item) {
    const int tile = item % args.tiles;
    const int block = tile / args.columnBlocks;
    Place place;
    place.column = (tile - block * args.columnBlocks) * args.blockTiles;
    place.job = 0;
    while (place.job + 1 < args.jobCount && args.jobs[place.job + 1].firstBlock <= block)
        ++place.job;
    place.rowTile = (block - args.jobs[place.job].firstBlock) * args.blockRowTiles;
    return place;
}

__device__ __forceinline__ int unitsOf(const GemmPrefillArgs& args, int segment) {
    return segment + 1 < args.segments ? args.segmentUnits : args.lastSegmentUnits;
}

__device__ __forceinline__ int firstSegment(const GemmPrefillArgs& args, int item) {
    return args.split && item >= 0 ? item / args.tiles : 0;
}

// The next item, or kEndToTell. By one lane, and not again after kEndToTell.
__device__ __forceinline__ int takeItem(const GemmPrefillArgs& args) {
    const unsigned item = atomicAdd(args.turns, 1u);
    if (item < unsigned(args.items)) return int(item);
    // The last block to learn that there is nothing left puts the counters back.
    if (atomicAdd(args.turns + 1, 1u) + 1 == gridDim.x) {
        args.turns[0] = 0;
        args.turns[1] = 0;
    }
    return kEndToTell;
}

// Weights are read by the blocks of a row of tiles at about the same time, activations by all.
__device__ __forceinline__ std::uint64_t readAgainPolicy() {
    std::uint64_t policy = 0;
#if defined(GLINT_BULK_COPY) || defined(GLINT_ASYNC_COPY)
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
#endif
    return policy;
}

// Copies of one stage: each row tile's unit, and the activations.
__device__ __forceinline__ int copiesOf(const GemmPrefillArgs& args) {
    return args.blockRowTiles + 1;
}
// Arrivals that complete a stage: the copies', and one of whoever started them.
__device__ __forceinline__ unsigned arrivalsOf(const GemmPrefillArgs& args) {
    return unsigned(copiesOf(args)) * copyArrivals() + 1;
}

// Fetches the cursor's unit into a stage that nobody uses, and moves the cursor on. By one warp,
// while no other does. A function of its own: inside the loop it would take registers from the
// sums.
template<QuantType T>
__device__ __noinline__ void refill(const GemmPrefillArgs& args, unsigned char* stages,
                                    Control& control, int stage, int lane) {
    constexpr int kBytes = kBytesOf<T>;
    const Cursor at = control.cursor;
    SharedBarrier& full = control.full[stage];
    __syncwarp(); // all lanes have read what lane 0 changes below
    if (at.item == kNoItem) return;
    if (at.item == kEndToTell) {
        if (lane == 0) {
            control.notes[stage] = {kNoItem, 0, 0};
            control.cursor.item = kNoItem;
            for (unsigned i = arrivalsOf(args); i > 0; --i) arrive(full);
        }
        __syncwarp();
        return;
    }

    const bool last = at.unit + 1 == unitsOf(args, at.segment);
    if (lane == 0) {
        control.notes[stage] = {at.item, at.segment, last};
        arrive(full);
    }
    __syncwarp();

    const Place place = placeOf(args, at.item);
    const GemmPrefillJob& job = args.jobs[place.job];
    const std::uint8_t* weights =
        job.units + std::int64_t(at.segment) * args.itemBytes + std::int64_t(at.unit) * kBytes;
    const int allTiles = (args.rows + kTileRows - 1) / kTileRows;
    const ActivationTile* activations =
        args.activations + std::int64_t(at.segment * args.segmentUnits + at.unit) * allTiles +
        place.column;
    const unsigned activationBytes =
        unsigned(min(args.blockTiles, allTiles - place.column)) * unsigned(sizeof(ActivationTile));
    unsigned char* to = stages + stage * args.stageBytes;
    const std::uint64_t policy = readAgainPolicy();
    const auto copy = [&](int i, int asLane) {
        if (i < args.blockRowTiles) {
            // Beyond the matrix its last row tile comes again: barriers count copies.
            const int tile = min(place.rowTile + i, job.rowTiles - 1);
            copyToShared(to + i * kBytes, weights + tile * job.rowTileBytes, kBytes, full, policy,
                         asLane);
        } else {
            copyToShared(to + args.blockRowTiles * kBytes, activations, activationBytes, full,
                         policy, asLane);
        }
    };
#if defined(GLINT_BULK_COPY)
    // A bulk copy is the work of one lane; here each lane starts its own.
    if (lane < copiesOf(args)) copy(lane, 0);
    __syncwarp();
#else
    for (int i = 0; i < copiesOf(args); ++i) copy(i, lane);
#endif

    if (lane == 0) {
        Cursor next = {at.item, at.segment, at.unit + 1};
        if (last) {
            next.unit = 0;
            if (!args.split && at.segment + 1 < args.segments) {
                ++next.segment;
            } else {
                next.item = takeItem(args);
                next.segment = firstSegment(args, next.item);
            }
        }
        control.cursor = next;
    }
    __syncwarp();
}

// Until `needed` warps have added their segments to the tile; their writes can be seen then.
__device__ __forceinline__ void awaitTurn(std::uint32_t* turn, unsigned needed, int lane) {
    if (lane == 0) {
        while (*static_cast<volatile std::uint32_t*>(turn) < needed) {
            __nanosleep(100);
        }
        __threadfence();
    }
    __syncwarp();
}

// This warp has added its segment; `all` warps do so in a launch, and the last puts the counter
// back.
__device__ __forceinline__ void passTurn(std::uint32_t* turn, unsigned all, int lane) {
    __syncwarp();
    if (lane == 0) {
        __threadfence();
        if (atomicAdd(turn, 1u) + 1 == all) *turn = 0;
    }
}

// Sums of a segment into out, or onto what is there, and at the end the bias. `row`, `column`: the
// lane's first element.
__device__ __forceinline__ void store(const float (&sum)[kRowTiles][kNT][4],
                                      const GemmPrefillJob& job, int rows, int row, int column,
                                      bool onto, bool end) {
    float* const out = job.out + column * job.outStride + row;
    const auto isThere = [&](int r, int c, int i) {
        return row + kUnitRows * r + 8 * (i >> 1) < job.weightRows &&
               column + 8 * c + (i & 1) < rows;
    };
    const auto place = [&](int r, int c, int i) {
        return out + (8 * c + (i & 1)) * job.outStride + kUnitRows * r + 8 * (i >> 1);
    };
    // All loads are in flight together, for they come from the second-level cache.
    float all[kRowTiles][kNT][4], bias[kRowTiles][2];
    const bool biased = end && job.bias;
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r)
#pragma unroll
        for (int i = 0; i < 2; ++i)
            bias[r][i] = biased && row + kUnitRows * r + 8 * i < job.weightRows
                             ? job.bias[row + kUnitRows * r + 8 * i]
                             : 0.0f;
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r)
#pragma unroll
        for (int c = 0; c < kNT; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                all[r][c][i] = onto && isThere(r, c, i) ? __ldcg(place(r, c, i)) : -0.0f;
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r)
#pragma unroll
        for (int c = 0; c < kNT; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                if (isThere(r, c, i)) {
                    const float value = __fadd_rn(all[r][c][i], sum[r][c][i]);
                    *place(r, c, i) = biased ? __fadd_rn(value, bias[r][i >> 1]) : value;
                }
}

template<QuantType T> __device__ __forceinline__ void prefillKernel(const GemmPrefillArgs& args) {
    extern __shared__ __align__(128) unsigned char shared[];
    Control& control = *reinterpret_cast<Control*>(shared);
    unsigned char* stages = shared + kPrefillControlBytes;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;

    if (threadIdx.x == 0) {
        for (int i = 0; i < args.stages; ++i) {
            initBarrier(control.full[i], arrivalsOf(args));
            initBarrier(control.empty[i], unsigned(warps));
        }
        publishBarriers();
    }
    waitForPrevious();
    letNextStart();
    if (threadIdx.x == 0) {
        const int item = takeItem(args);
        control.cursor = {item, firstSegment(args, item), 0};
    }
    __syncthreads();
    if (warp == 0)
        for (int i = 0; i < args.stages; ++i) refill<T>(args, stages, control, i, lane);

    const int rowWarps = args.blockRowTiles / kRowTiles;
    const int warpRow = warp % rowWarps * kRowTiles, warpColumn = warp / rowWarps * kNT;
    float sum[kRowTiles][kNT][4];
    fill(sum, -0.0f); // x + -0 is x, of both zeros too

    int before = -1; // the stage of the unit before
    unsigned beforeParity = 0;
    int duty = 0; // the warp that refills at the end of this unit
    for (int stage = 0, parity = 0;;) {
        wait(control.full[stage], parity);
        if (control.notes[stage].item == kNoItem) break;
        const unsigned char* from = stages + stage * args.stageBytes;
        const auto* tiles =
            reinterpret_cast<const ActivationTile*>(from + args.blockRowTiles * kBytesOf<T>) +
            warpColumn;
        const auto refillBefore = [&] {
            if (warp != duty || before < 0) return;
            wait(control.empty[before], beforeParity);
            refill<T>(args, stages, control, before, lane);
        };
        if (args.stages == 2) refillBefore();
        addUnits<T>(sum, from + warpRow * kBytesOf<T>, tiles, lane);

        // The warps take turns at filling the stage of the unit before again. By now all have left
        // it, as good as always, and with three stages there is time until they need it.
        if (args.stages > 2) refillBefore();
        if (++duty == warps) duty = 0;
        const Note note = control.notes[stage]; // not earlier: registers are short above
        __syncwarp();
        if (lane == 0) arrive(control.empty[stage]);
        before = stage;
        beforeParity = unsigned(parity);
        if (++stage == args.stages) stage = 0, parity ^= 1;
        if (!note.last) continue;

        const Place place = placeOf(args, note.item);
        const GemmPrefillJob& job = args.jobs[place.job];
        std::uint32_t* turn = args.turns + 2 + note.item % args.tiles;
        if (args.split && note.segment > 0) awaitTurn(turn, unsigned(note.segment * warps), lane);
        store(sum, job, args.rows, (place.rowTile + warpRow) * kUnitRows + (lane >> 2),
              (place.column + warpColumn) * kTileRows + 2 * (lane & 3), note.segment > 0,
              note.segment + 1 == args.segments);
        fill(sum, -0.0f);
        if (args.split) passTurn(turn, unsigned(args.segments * warps), lane);
    }
    finishCopies();
}

} // namespace

extern "C" {
#define GLINT_PREFILL(name, type)                                                                  \
    __global__ void __launch_bounds__(32 * kMaxPrefillWarps, 1)                                    \
        gemm_prefill_##name(const __grid_constant__ GemmPrefillArgs args) {                        \
        prefillKernel<QuantType::type>(args);                                                      \
    }
GLINT_PREFILL(q4_k, Q4_K)
GLINT_PREFILL(q5_k, Q5_K)
GLINT_PREFILL(q6_k, Q6_K)
GLINT_PREFILL(q2_k, Q2_K)
GLINT_PREFILL(q3_k, Q3_K)
GLINT_PREFILL(iq4_xs, IQ4_XS)
GLINT_PREFILL(q4_0, Q4_0)
GLINT_PREFILL(q4_1, Q4_1)
GLINT_PREFILL(q5_0, Q5_0)
GLINT_PREFILL(q5_1, Q5_1)
GLINT_PREFILL(q8_0, Q8_0)
GLINT_PREFILL(iq4_nl, IQ4_NL)
}
} // namespace cuda

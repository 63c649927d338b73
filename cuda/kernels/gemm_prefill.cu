// Products of many rows of activations with quantised weights.
//
// Math: the integers and floats of engine/backend/int8_format.h through unitProduct
//   (unit_product.cuh), as gemm_rows.cu has them: unit values are added in ascending order inside a
//   segment, from -0, which leaves the first value as it is; out = first segment, then out +
//   segment in ascending order. So the bits are the processor's and those of the row kernels.
// Shapes: weights as units (unit_layout.h), up to kMaxPrefillJobs matrices of one type and K;
//   activations as records [unit][tile of 8 rows] (formats.h); out F32 [rows][weight rows], any
//   stride. Everything may be ragged: a row tile beyond the matrix is computed and not stored.
// Traffic: per unit a block reads blockRowTiles units of weights and blockTiles records (2,880 B).
//   With 8 x 16 tiles of Q4_K that is 64 KB for 128 x 128 x 256 products, 11 bytes per clock and
//   multiprocessor from the second-level cache at 5,900 clocks per unit. Blocks that take items one
//   after the other share the weights, so each weight comes from memory about once. Shared memory
//   gives a warp 17 reads per 16 x 8 x 256 products, 28 of its 142 / 4 clocks.
// Launch: blocks stay and take items (GemmPrefillArgs) from a counter in ascending order, so that
// an
//   item's earlier segments are always done or in work and no block can wait for one that has not
//   begun. A warp makes 16 x 64 products of a unit: 32 sums and 32 floats of the unit in registers,
//   activations straight from shared memory. Stages hold a unit's weights and activations for the
//   block; the warp that leaves a stage last starts the copies of what comes next into it, so no
//   warp waits for another, nor is one lost to copying. 512 threads of 128 registers or fewer; how
//   many, and how many stages, the host chooses for the matrix and the card. Q4_K: 1,080
//   instructions per warp and unit (80 products of the tensor cores, 282 integer multiply-adds, 160
//   conversions, 288 float operations, 137 shared reads, the rest unpacks 16 rows for 8 tiles),
//   1,140 with the loop. Issue slots are the limit; the multiply pipes and the tensor cores are
//   about half busy then.
// Needs: sm_75; bulk copies from sm_90, asynchronous copies from sm_80.

#include "cuda/kernels/copy.cuh"
#include "cuda/kernels/gemm_prefill_args.h"
#include "cuda/kernels/unit_product.cuh"

namespace cuda {
namespace {

constexpr int kNT = kPrefillWarpTiles;
template<QuantType T> inline constexpr int kBytesOf = unitBytes(T);

// Activations of one unit where the copy has put them: records of kNT tiles in shared memory. They
// are read when they are needed; registers are for sums.
template<QuantType T> struct SharedActs {
    const ActivationTile* m_tiles;
    int m_lane;

    __device__ __forceinline__ uint4 fragment(int c, int s) const {
        return *reinterpret_cast<const uint4*>(m_tiles[c].q[s][m_lane]);
    }
    __device__ __forceinline__ float dx(int c, int i, int s) const {
        return m_tiles[c].dx[2 * (m_lane & 3) + i][s];
    }
    __device__ __forceinline__ std::uint32_t high(int c) const {
        if constexpr (kBlockSums<T> == BlockSums::Scaled16)
            return *reinterpret_cast<const std::uint32_t*>(m_tiles[c].high16[m_lane]);
        return *reinterpret_cast<const std::uint32_t*>(m_tiles[c].high32[m_lane]);
    }
    __device__ __forceinline__ std::uint32_t low(int c) const {
        if constexpr (kBlockSums<T> == BlockSums::Scaled16)
            return *reinterpret_cast<const std::uint32_t*>(m_tiles[c].low16[m_lane]);
        return *reinterpret_cast<const std::uint32_t*>(m_tiles[c].low32[m_lane]);
    }
    __device__ __forceinline__ float ds(int c, int i) const {
        const float* all = kBlockSums<T> == BlockSums::Scaled16 ? m_tiles[c].ds16 : m_tiles[c].ds32;
        return all[2 * (m_lane & 3) + i];
    }
    __device__ __forceinline__ int sum(int c, int i, int block) const {
        return m_tiles[c].sum32[2 * (m_lane & 3) + i][block];
    }
};

constexpr int kNoItem = -1;    // the end has been told
constexpr int kEndToTell = -2; // nothing is left to fetch, the consumers do not know yet

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
    Note notes[kMaxPrefillStages];
    unsigned left[kMaxPrefillStages]; // warps that need the stage no more
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

// The next item, or kEndToTell. By one lane.
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

// Fetches the cursor's unit into a stage that nobody uses, and moves the cursor on. By one warp. A
// function of its own: inside the loop it would take registers from the sums.
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
        return;
    }

    const bool last = at.unit + 1 == unitsOf(args, at.segment);
    if (lane == 0) {
        control.left[stage] = 0;
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

template<QuantType T> __device__ __forceinline__ void prefillKernel(const GemmPrefillArgs& args) {
    extern __shared__ __align__(128) unsigned char shared[];
    Control& control = *reinterpret_cast<Control*>(shared);
    unsigned char* stages = shared + kPrefillControlBytes;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int warpRow = warp % args.blockRowTiles,
              warpColumn = warp / args.blockRowTiles * kPrefillWarpTiles;

    if (threadIdx.x == 0) {
        for (int i = 0; i < args.stages; ++i) initBarrier(control.full[i], arrivalsOf(args));
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
        for (int i = 0; i < args.stages; ++i) {
            refill<T>(args, stages, control, i, lane);
            __syncwarp();
        }

    float sum[kNT][4];
#pragma unroll
    for (int c = 0; c < kNT; ++c)
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[c][i] = -0.0f; // x + -0 is x, of both zeros too

    for (int stage = 0, parity = 0;;) {
        wait(control.full[stage], parity);
        if (control.notes[stage].item == kNoItem) break;
        const unsigned char* from = stages + stage * args.stageBytes;
        const auto* tiles =
            reinterpret_cast<const ActivationTile*>(from + args.blockRowTiles * kBytesOf<T>);
        float v[kNT][4];
        unitProduct<T>(v, from + warpRow * kBytesOf<T>, SharedActs<T>{tiles + warpColumn, lane},
                       lane);
#pragma unroll
        for (int c = 0; c < kNT; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i) sum[c][i] = __fadd_rn(sum[c][i], v[c][i]);

        const Note note = control.notes[stage]; // not earlier: registers are short above
        // Whoever leaves a stage last fetches what comes next into it.
        __syncwarp();
        unsigned before = 0;
        if (lane == 0) {
            __threadfence_block();
            before = atomicAdd(&control.left[stage], 1u);
            __threadfence_block();
        }
        if (__shfl_sync(0xffffffffu, before, 0) + 1 == unsigned(warps))
            refill<T>(args, stages, control, stage, lane);
        if (++stage == args.stages) stage = 0, parity ^= 1;
        if (!note.last) continue;

        const Place place = placeOf(args, note.item);
        const GemmPrefillJob& job = args.jobs[place.job];
        std::uint32_t* turn = args.turns + 2 + note.item % args.tiles;
        if (args.split && note.segment > 0) awaitTurn(turn, unsigned(note.segment * warps), lane);
        const int firstRow = (place.rowTile + warpRow) * kUnitRows + (lane >> 2);
        const int firstColumn = (place.column + warpColumn) * kTileRows + 2 * (lane & 3);
#pragma unroll
        for (int c = 0; c < kNT; ++c)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int row = firstRow + 8 * (i >> 1), column = firstColumn + 8 * c + (i & 1);
                if (row < job.weightRows && column < args.rows) {
                    float* to = job.out + column * job.outStride + row;
                    *to = note.segment == 0 ? sum[c][i] : __fadd_rn(__ldcg(to), sum[c][i]);
                }
                sum[c][i] = -0.0f;
            }
        if (args.split) passTurn(turn, unsigned(args.segments * warps), lane);
    }
    finishCopies();
}

} // namespace

extern "C" {
#define GLINT_PREFILL(name, type)                                                                  \
    __global__ void __launch_bounds__(kMaxPrefillThreads, 1)                                       \
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

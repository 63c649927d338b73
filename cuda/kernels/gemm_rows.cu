// Quantised weights times 1..16 rows of activations: the GEMMs of decode and verify.
//
// Math. sums[segment][row][r] = sum of the unit values of weight row r in the segment, in ascending
//   order (engine/backend/int8_format.h). The segments are added in ascending order, by whoever
//   reads the sums or, where a block has all segments of its tiles, here: one sum is left for all.
//   So the bits depend neither on the number of rows nor on grid, ring or card.
// Shapes. Weights as unit_layout.h: units of 16 x 256, items of one row tile and segment. Up to
//   four matrices of one type and K form a group and count as one; a kernel for two types has two
//   groups, each with its own blocks. Activations: ActivationTile [unit][tile]. NT = 1 (up to 8
//   rows) or 2.
// Traffic. Every weight byte once, evict-first: gate and up of the 30B model, 149.5 MB, are 31.1 us
//   of an H200's 4,800 GB/s and 160 us of a 3090's 936. Per block and segment it touches, the
//   activations from L2: 2,464 B per unit and tile (of the bytes q only the rows that are there).
//   Partial sums: 64 B per row, tile of weights and segment (or once for all segments).
// Launch. One persistent block per multiprocessor, each with a contiguous run of items, segment by
//   segment, so that a warp keeps its activations in registers:
//     warps 0 .. W - 1         unit `warp` of every item's segment; W units are a segment
//     one more, when W = 13    takes turns with the last of them, for 13 warps load the four
//                              schedulers unevenly and 12 + 2 half ones do not
//     then the adder           sums the W tiles of an item in order and stores them
//     then the fetcher         one copy per item into the ring
//   A stage of the ring passes through three barriers: `arrived` (the copy), `multiplied` (all W
//   warps), `added` (the adder; the fetcher may fill it again). A warp leaves its 16 x 8 NT tile in
//   the place of the unit that it has just read: no buffers and no barriers for tiles, and the ring
//   can be as deep as the shared memory. The weights of the first stages are on their way before
//   waitForPrevious(): they do not depend on it, and so a deep ring hides the kernels in between.
//   But only as many copies are under way as the memory needs for its full rate: further ones would
//   stand in queues, and whatever the small kernels read or write would stand behind them.
//   512 threads, hence at most 128 registers; up to 8 rows, and around attention, 96
//   (kFewRowThreads). On sm_90 only Q2_K and Q3_K spill, 64 and 60 bytes for 16 rows. Shared
//   memory: 256 B of barriers, the ring, 30 KB a stage for Q4_K, 44 for Q6_K, and for whole tiles
//   512 B per tile of weights and of rows. Per unit a warp issues 187 (286 for 16 rows)
//   instructions for Q4_K, 279 (396) for Q6_K: with 16 rows an H200 waits for them as much as for
//   memory, smaller cards wait for memory.
// Needs. sm_75; copies run by themselves from sm_80, by bulk from sm_90 (copy.cuh).
// Measured. H200, 2026-12-01, glint-cuda-layer-bench: the four products of a layer 71.0 us for one
//   row, where reading alone takes 65, and 80.4 for 16. More: tests/bench/README.md.

#include "cuda/kernels/common.cuh"
#include "cuda/kernels/copy.cuh"
#include "cuda/kernels/gemm_rows_args.h"
#include "cuda/kernels/unit_product.cuh"

namespace cuda {
namespace {

extern __shared__ __align__(128) std::uint8_t sharedMemory[];

// Said so that the compiler keeps the warp in a uniform register and the lane in a register, and
// does not ask for them anew in every turn of a loop: 3 % fewer instructions.
__device__ __forceinline__ int warpIndex() {
    return __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
}
__device__ __forceinline__ int laneIndex() {
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

// The shared memory: barriers at fixed places, then the stages of the ring, then sums.
struct RingBarriers {
    SharedBarrier arrived[kMaxStages], multiplied[kMaxStages], added[kMaxStages];
    volatile int previousDone; // the kernel before has finished; the fetcher's advice
};
static_assert(sizeof(RingBarriers) <= kRingHeadBytes);

__device__ __forceinline__ RingBarriers& barriers() {
    return *reinterpret_cast<RingBarriers*>(sharedMemory);
}
__device__ __forceinline__ std::uint8_t* stageAt(const GemmRowsGroup& group, int stage) {
    return sharedMemory + kRingHeadBytes + stage * group.itemBytes;
}

// Where in the ring an item lies, and which use of that stage it is.
struct RingPlace {
    int stage;
    unsigned parity = 0;

    __device__ __forceinline__ void advance(int items, int stages) {
        stage += items;
        if (stage >= stages) {
            stage -= stages;
            parity ^= 1u;
        }
    }
};

// The run of items of one block: item i of it belongs to the segment (first + i) / tiles and to the
// tile firstTile + (first + i) % tiles.
struct Run {
    int firstTile, tiles, first, count;

    __device__ __forceinline__ Run(const GemmRowsArgs& args, const GemmRowsGroup& group,
                                   int block) {
        const int from = block * group.runLength + min(block, group.longerRuns);
        const int length = group.runLength + (block < group.longerRuns);
        if (group.wholeTiles) {
            firstTile = from;
            tiles = length;
            first = 0;
            count = length * args.segments;
        } else {
            firstTile = 0;
            tiles = group.tiles;
            first = from;
            count = length;
        }
    }
};

// Goes through the items of a run in order.
struct ItemWalk {
    int segment, tile, job;

    __device__ __forceinline__ ItemWalk(const GemmRowsGroup& group, const Run& run)
        : segment(run.first / run.tiles), tile(run.firstTile + run.first % run.tiles), job(0) {
        findJob(group);
    }
    __device__ __forceinline__ void advance(const GemmRowsGroup& group, const Run& run) {
        if (++tile == run.firstTile + run.tiles) {
            tile = run.firstTile;
            job = 0;
            ++segment;
        }
        findJob(group);
    }

private:
    __device__ __forceinline__ void findJob(const GemmRowsGroup& group) {
        while (job + 1 < group.jobCount && tile >= group.jobs[job + 1].firstTile) ++job;
    }
};

// ---- the warps that multiply

// What of its activations beside the bytes q a warp keeps in registers for a segment. The rest it
// reads anew for each unit, out of the first level cache (11 KB at most): two tiles leave no
// registers for all of it. 16 rows are 2 % faster by that, and slower by 4 with a copy in shared
// memory, since the first unit then waits for the copy. kFew: 96 registers instead of 128. Q2_K and
// Q3_K spill as it is.
template<QuantType T, int NT, bool kFew> struct KeptActs {
    static constexpr bool kRoom = !kFew && T != QuantType::Q2_K && T != QuantType::Q3_K;
    static constexpr bool kSums = NT == 1 || kRoom;
    static constexpr bool kFactors = NT == 1 || (kRoom && kBlockSums<T> == BlockSums::None);
};

// Where a warp finds its unit of an item, and the barriers of that stage. Goes `step` items on at a
// time, which divides the stages.
class UnitCursor {
public:
    __device__ __forceinline__ UnitCursor(const GemmRowsGroup& group, int unitOffset, int first,
                                          int step)
        : m_unit(kept(sharedAddress(stageAt(group, first)) + unitOffset)),
          m_barrier(kept(sharedAddress(&barriers().arrived[first]))), m_left(group.stages / step) {}

    // How many of `turns` come before the ring starts anew.
    __device__ __forceinline__ int inRow(int turns) const { return min(turns, m_left); }

    __device__ __forceinline__ std::uint8_t* waitForUnit() const {
        wait(sharedAt<SharedBarrier>(m_barrier), m_parity);
        return &sharedAt<std::uint8_t>(m_unit);
    }
    // Says that the unit has been worked on, and goes on; not beyond the end of the ring.
    __device__ __forceinline__ void next(const GemmRowsGroup& group, int step, int lane) {
        constexpr std::uint32_t kToMultiplied = sizeof(SharedBarrier) * kMaxStages;
        __syncwarp();
        if (lane == 0) arrive(sharedAt<SharedBarrier>(m_barrier + kToMultiplied));
        m_unit += step * group.itemBytes;
        m_barrier += step * sizeof(SharedBarrier);
    }
    // After `turns` in a row.
    __device__ __forceinline__ void passed(const GemmRowsGroup& group, int step, int turns) {
        m_left -= turns;
        if (m_left > 0) return;
        m_left = group.stages / step;
        m_unit -= group.stages * group.itemBytes;
        m_barrier -= group.stages * sizeof(SharedBarrier);
        m_parity ^= 1u;
    }

private:
    std::uint32_t m_unit, m_barrier;
    unsigned m_parity = 0;
    int m_left; // turns until the ring starts anew
};

template<QuantType T, int NT, bool kFew>
__device__ __forceinline__ void multiplyItems(const GemmRowsArgs& args, const GemmRowsGroup& group,
                                              const Run& run, int warp, int lane) {
    const int last = args.segmentUnits - 1;
    const int unit = min(warp, last); // inside the segment
    const int step = warp < last ? 1 : group.turns;
    UnitCursor cursor(group, unit * kUnitBytes<T>, warp - unit, step);
    UnitLane unitLane(lane);
    unitLane.quads = kept(unitLane.quads);
    unitLane.rows = kept(unitLane.rows);
    for (int item = warp - unit; item < run.count;) { // once per segment
        const int segment = (run.first + item) / run.tiles;
        const int end = min(run.count, (segment + 1) * run.tiles - run.first);
        const int turns = (end - item + step - 1) / step;
        item += turns * step;
        const auto eachTurn = [&](auto work) {
#pragma unroll 1
            for (int left = turns; left > 0;) {
                const int inRow = cursor.inRow(left);
                left -= inRow;
                int i = inRow;
#pragma unroll 1
                do {
                    work(cursor.waitForUnit());
                    cursor.next(group, step, lane);
                } while (--i > 0);
                cursor.passed(group, step, inRow);
            }
        };
        if (segment < args.segments - 1 || unit < args.lastSegmentUnits) {
            const ActivationTile* const tiles =
                args.activations + (std::int64_t(segment) * args.segmentUnits + unit) * NT;
            RegisterActs<T, NT> acts;
            acts.loadBytes(tiles, args.rows, lane);
            using Kept = KeptActs<T, NT, kFew>;
            if constexpr (Kept::kFactors) acts.loadFactors(tiles, lane);
            if constexpr (Kept::kSums) acts.loadSums(tiles, lane);
            eachTurn([&](std::uint8_t* at) {
                if constexpr (!Kept::kFactors) acts.loadFactors(tiles, lane);
                if constexpr (!Kept::kSums) acts.loadSums(tiles, lane);
                float v[NT][4];
                unitProduct<T>(v, UnitReader<T>(at, unitLane), acts);
                __syncwarp(); // all lanes have read the unit
#pragma unroll
                for (int c = 0; c < NT; ++c)
                    *reinterpret_cast<float4*>(at + 512 * c + unitLane.quads) =
                        make_float4(v[c][0], v[c][1], v[c][2], v[c][3]);
            });
        } else { // the last segment is shorter: this warp only keeps in step
            eachTurn([](std::uint8_t*) {});
        }
    }
}

// ---- the warp that adds the units of an item

__device__ __forceinline__ float4 plus(const float4& a, const float4& b) {
    return make_float4(__fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y), __fadd_rn(a.z, b.z),
                       __fadd_rn(a.w, b.w));
}

template<int NT>
__device__ __forceinline__ void addItems(const GemmRowsArgs& args, const GemmRowsGroup& group,
                                         const Run& run, int unitBytes, int lane) {
    RingBarriers& ring = barriers();
    auto* const sums = reinterpret_cast<float4*>(sharedMemory + group.sumsAt);
    const int g = lane >> 2, t = lane & 3;
    ring.previousDone = 1;
    RingPlace place{0};
    ItemWalk walk(group, run);
#pragma unroll 1
    for (int i = 0; i < run.count; ++i) {
        const int units =
            walk.segment < args.segments - 1 ? args.segmentUnits : args.lastSegmentUnits;
        wait(ring.multiplied[place.stage], place.parity);
        const std::uint8_t* at = stageAt(group, place.stage) + 16 * lane;
        float4 sum[NT];
#pragma unroll
        for (int c = 0; c < NT; ++c) sum[c] = *reinterpret_cast<const float4*>(at + 512 * c);
#pragma unroll 4
        for (int u = 1; u < units; ++u) {
            at += unitBytes;
#pragma unroll
            for (int c = 0; c < NT; ++c)
                sum[c] = plus(sum[c], *reinterpret_cast<const float4*>(at + 512 * c));
        }
        __syncwarp();
        if (lane == 0) arrive(ring.added[place.stage]);

        int segment = walk.segment; // of the output
        if (group.wholeTiles) {
            float4* const own = sums + (walk.tile - run.firstTile) * 32 * NT + lane;
#pragma unroll
            for (int c = 0; c < NT; ++c) {
                if (walk.segment > 0) sum[c] = plus(own[32 * c], sum[c]);
                own[32 * c] = sum[c];
            }
            segment = walk.segment - (args.segments - 1);
        }
        const GemmRowsJob& job = group.jobs[walk.job];
        float* const out =
            job.sums +
            (std::int64_t(segment) * job.tiles + walk.tile - job.firstTile) * args.rows * 16;
#pragma unroll
        for (int c = 0; c < NT; ++c) {
            if (segment < 0) break;        // not the last one yet
            const int row = 8 * c + 2 * t; // of the activations
            if (row < args.rows) {
                out[row * 16 + g] = sum[c].x;
                out[row * 16 + g + 8] = sum[c].z;
            }
            if (row + 1 < args.rows) {
                out[(row + 1) * 16 + g] = sum[c].y;
                out[(row + 1) * 16 + g + 8] = sum[c].w;
            }
        }
        place.advance(1, group.stages);
        walk.advance(group, run);
    }
}

// ---- the warp that fetches

__device__ __forceinline__ void fetchItem(const GemmRowsArgs& args, const GemmRowsGroup& group,
                                          int stage, const ItemWalk& walk, std::uint64_t policy,
                                          int lane) {
    const GemmRowsJob& job = group.jobs[walk.job];
    const std::uint8_t* const from = job.units + (walk.tile - job.firstTile) * group.rowTileBytes +
                                     std::int64_t(walk.segment) * group.itemBytes;
    copyToShared(stageAt(group, stage), from,
                 walk.segment < args.segments - 1 ? group.itemBytes : group.lastItemBytes,
                 barriers().arrived[stage], policy, lane);
}

__device__ __forceinline__ void fetchItems(const GemmRowsArgs& args, const GemmRowsGroup& group,
                                           const Run& run, int lane) {
    RingBarriers& ring = barriers();
    if (lane == 0) {
        for (int s = 0; s < group.stages; ++s) {
            initBarrier(ring.arrived[s], copyArrivals());
            initBarrier(ring.multiplied[s], args.segmentUnits);
            initBarrier(ring.added[s], 1);
        }
        ring.previousDone = 0;
        publishBarriers();
    }
    __syncwarp();
    letNextStart();
    __syncthreads(); // the others may use the barriers now
    const std::uint64_t policy = readOncePolicy();
    ItemWalk walk(group, run);
    RingPlace place{0};
#pragma unroll 1
    for (int i = 0; i < run.count; ++i) {
        if (i >= group.stages) wait(ring.added[place.stage], place.parity ^ 1u);
        const int most = ring.previousDone ? group.copiesAfter : group.copiesBefore;
        if (i >= most) { // the copy `most` items ago has arrived, and those before it
            const int stage = place.stage - most;
            wait(ring.arrived[stage < 0 ? stage + group.stages : stage],
                 place.parity ^ unsigned(stage < 0));
        }
        __syncwarp(); // only one lane starts copies: none may fall behind
        fetchItem(args, group, place.stage, walk, policy, lane);
        place.advance(1, group.stages);
        walk.advance(group, run);
    }
    finishCopies();
}

template<QuantType T, int NT, bool kFew>
__device__ __forceinline__ void multiplyGroup(const GemmRowsArgs& args, const GemmRowsGroup& group,
                                              int block) {
    const int warp = warpIndex(), lane = laneIndex();
    const int multipliers = args.segmentUnits - 1 + group.turns;
    const Run run(args, group, block);
    if (warp == multipliers + 1) {
        fetchItems(args, group, run, lane);
        return;
    }
    __syncthreads();
    waitForPrevious();
    if (warp < multipliers)
        multiplyItems<T, NT, kFew>(args, group, run, warp, lane);
    else
        addItems<NT>(args, group, run, kUnitBytes<T>, lane);
}

template<QuantType A, QuantType B, int NT>
__device__ __forceinline__ void multiplyTwoGroups(const GemmRowsArgs& args) {
    const int block = blockIdx.x, split = args.groups[0].blocks;
    if (block < split)
        multiplyGroup<A, NT, true>(args, args.groups[0], block);
    else
        multiplyGroup<B, NT, true>(args, args.groups[1], block - split);
}

} // namespace

#if __CUDA_ARCH__ >= 900
#    define GLINT_FEW_REGISTERS __launch_bounds__(kFewRowThreads, 1)
#else
#    define GLINT_FEW_REGISTERS __launch_bounds__(kMaxRowThreads, 1)
#endif

#define GLINT_GEMM_ROWS(name, T)                                                                   \
    extern "C" __global__ void GLINT_FEW_REGISTERS gemm_rows_##name##_8(                           \
        const __grid_constant__ GemmRowsArgs args) {                                               \
        multiplyGroup<QuantType::T, 1, true>(args, args.groups[0], blockIdx.x);                    \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(kMaxRowThreads, 1)                                \
        gemm_rows_##name##_16(const __grid_constant__ GemmRowsArgs args) {                         \
        multiplyGroup<QuantType::T, 2, false>(args, args.groups[0], blockIdx.x);                   \
    }

GLINT_GEMM_ROWS(q4_0, Q4_0)
GLINT_GEMM_ROWS(q4_1, Q4_1)
GLINT_GEMM_ROWS(q5_0, Q5_0)
GLINT_GEMM_ROWS(q5_1, Q5_1)
GLINT_GEMM_ROWS(q8_0, Q8_0)
GLINT_GEMM_ROWS(q2_k, Q2_K)
GLINT_GEMM_ROWS(q3_k, Q3_K)
GLINT_GEMM_ROWS(q4_k, Q4_K)
GLINT_GEMM_ROWS(q5_k, Q5_K)
GLINT_GEMM_ROWS(q6_k, Q6_K)
GLINT_GEMM_ROWS(iq4_nl, IQ4_NL)
GLINT_GEMM_ROWS(iq4_xs, IQ4_XS)

extern "C" __global__ void GLINT_FEW_REGISTERS
gemm_rows_q4_k_q6_k_8(const __grid_constant__ GemmRowsArgs args) {
    multiplyTwoGroups<QuantType::Q4_K, QuantType::Q6_K, 1>(args);
}

// With fewer registers than other kernels of 16 rows: the blocks of attention_inputs, which comes
// next, then start beside it and have read what does not depend on it when it ends: 3.7
// microseconds a layer. For o, which follows attention_finish, see GemmRows::run.
extern "C" __global__ void GLINT_FEW_REGISTERS
gemm_rows_q4_k_q6_k_16(const __grid_constant__ GemmRowsArgs args) {
    multiplyTwoGroups<QuantType::Q4_K, QuantType::Q6_K, 2>(args);
}

// The segments' sums become rows: one thread per weight row and row of the activations.
extern "C" __global__ void __launch_bounds__(256)
    gemm_reduce(const __grid_constant__ GemmReduceArgs args) {
    letNextStart();
    waitForPrevious();
    const int r = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y;
    if (r >= args.weightRows) return;
    float sum = args.sums.data[args.sums.index(0, r, row)];
    for (int s = 1; s < args.sums.segments; ++s)
        sum = __fadd_rn(sum, args.sums.data[args.sums.index(s, r, row)]);
    args.out[row * args.outStride + r] = sum;
}

} // namespace cuda

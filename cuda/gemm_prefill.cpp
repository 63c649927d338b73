#include "cuda/gemm_prefill.h"

#include "cuda/kernels/gemm_prefill_args.h"

#include <algorithm>
#include <array>
#include <limits>

namespace cuda {

namespace {

using engine::QuantType;

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() / 4; // of a count in args
constexpr std::int64_t kTurns = GemmPrefill::kTurnBytes / std::int64_t(sizeof(std::uint32_t)) - 2;

KernelId kernelOf(QuantType type) {
    switch (type) {
    case QuantType::Q5_K: return KernelId::gemm_prefill_q5_k;
    case QuantType::Q6_K: return KernelId::gemm_prefill_q6_k;
    case QuantType::Q2_K: return KernelId::gemm_prefill_q2_k;
    case QuantType::Q3_K: return KernelId::gemm_prefill_q3_k;
    case QuantType::IQ4_XS: return KernelId::gemm_prefill_iq4_xs;
    case QuantType::Q4_0: return KernelId::gemm_prefill_q4_0;
    case QuantType::Q4_1: return KernelId::gemm_prefill_q4_1;
    case QuantType::Q5_0: return KernelId::gemm_prefill_q5_0;
    case QuantType::Q5_1: return KernelId::gemm_prefill_q5_1;
    case QuantType::Q8_0: return KernelId::gemm_prefill_q8_0;
    case QuantType::IQ4_NL: return KernelId::gemm_prefill_iq4_nl;
    default: CHECK(type == QuantType::Q4_K); return KernelId::gemm_prefill_q4_k;
    }
}

std::int64_t pieces(std::int64_t count, std::int64_t each) {
    return (count + each - 1) / each;
}

// How the out matrices are cut.
struct Plan {
    int blockRowTiles = 0;
    int blockTiles = 0;
    int stages = 0;
    bool split = false;
    int blocksAtOnce = 0; // on a multiprocessor
    double clocks = 0;    // expected
};

int warpsOf(const Plan& plan) {
    return plan.blockRowTiles / kPrefillWarpRowTiles * (plan.blockTiles / kPrefillWarpTiles);
}
int stageBytes(const Plan& plan, int unitBytes) {
    return plan.blockRowTiles * unitBytes + plan.blockTiles * int(sizeof(ActivationTile));
}
int sharedBytes(const Plan& plan, int unitBytes) {
    return kPrefillControlBytes + plan.stages * stageBytes(plan, unitBytes);
}

// The jobs of one launch.
struct Work {
    std::span<const GemmPrefill::Job> jobs; // one type
    int allTiles = 0;                       // of activations
    int multiprocessors = 0;
    int sharedLimit = 0; // bytes of a block

    const UnitLayout& layout() const { return *jobs[0].layout; }
    std::int64_t rowBlocks(const Plan& plan) const {
        std::int64_t blocks = 0;
        for (const GemmPrefill::Job& job : jobs)
            blocks += pieces(job.layout->rowTiles, plan.blockRowTiles);
        return blocks;
    }
    std::int64_t tiles(const Plan& plan) const {
        return rowBlocks(plan) * pieces(allTiles, plan.blockTiles);
    }
};

// Clocks of one unit on a multiprocessor with so many warps at work: what the busiest of the four
// schedulers needs for its one or two, or what the copies need.
double unitClocks(int warps, double bytes) {
    constexpr double kOne = 3200, kTwo = 5300, kBytesPerClock = 18; // from the second-level cache
    return std::max(warps <= 4 ? kOne : kTwo, bytes / kBytesPerClock);
}

double expectedClocks(const Work& work, const Plan& plan) {
    const UnitLayout& layout = work.layout();
    const std::int64_t items = work.tiles(plan) * (plan.split ? layout.segments : 1);
    const std::int64_t atOnce = std::int64_t(work.multiprocessors) * plan.blocksAtOnce;
    const std::int64_t rounds = items / atOnce, left = pieces(items % atOnce, work.multiprocessors);
    // Of an item. At a segment's end sums are stored, mostly onto what is there.
    constexpr double kEndClocks = 3000;
    const double part = plan.split ? double(layout.segments) : 1.0;
    const auto clocks = [&](int blocks) {
        const double bytes = double(blocks) * stageBytes(plan, layout.unitBytes);
        return layout.units / part * unitClocks(blocks * warpsOf(plan), bytes) +
               layout.segments / part * kEndClocks;
    };
    double all = double(rounds) * clocks(plan.blocksAtOnce);
    if (left > 0) all += clocks(int(left));
    // Two stages hide less than three, and segments that are divided wait for each other.
    return all * (plan.stages == 2 ? 1.1 : 1.0) * (plan.split ? 1.01 : 1.0);
}

// The plan that should be fastest: whole rounds of blocks on all multiprocessors count as much as
// large tiles.
Plan bestPlan(const Work& work) {
    const UnitLayout& layout = work.layout();
    Plan best;
    for (int warpColumns = 1; warpColumns <= kMaxPrefillWarps; warpColumns *= 2)
        for (int warpRows = 1; warpRows * warpColumns <= kMaxPrefillWarps; ++warpRows)
            for (int stages = 2; stages <= kMaxPrefillStages; ++stages)
                for (const bool split : {false, true}) {
                    Plan plan{warpRows * kPrefillWarpRowTiles, warpColumns * kPrefillWarpTiles,
                              stages, split};
                    const int bytes = sharedBytes(plan, layout.unitBytes);
                    if (bytes > work.sharedLimit) continue;
                    if (split && (layout.segments == 1 || work.tiles(plan) > kTurns)) continue;
                    // A block takes 1 KiB more than it asks for, and a multiprocessor has that
                    // more.
                    plan.blocksAtOnce = std::min(kMaxPrefillWarps / warpsOf(plan),
                                                 (work.sharedLimit + 1024) / (bytes + 1024));
                    plan.clocks = expectedClocks(work, plan);
                    if (best.stages == 0 || plan.clocks < best.clocks) best = plan;
                }
    CHECK(best.stages > 0); // the smallest tile fits everywhere
    return best;
}

} // namespace

void GemmPrefill::run(std::span<const Job> jobs, const ActivationTile* activations,
                      std::int64_t rows) {
    if (jobs.empty() || rows == 0) return;
    CHECK(rows > 0 && rows <= kMost);

    // Jobs of one type together, in launches of at most kMaxPrefillJobs.
    std::array<Job, kMaxPrefillJobs> group;
    for (std::size_t first = 0; first < jobs.size(); ++first) {
        const QuantType type = jobs[first].layout->type;
        const auto sameType = [&](const Job& job) { return job.layout->type == type; };
        if (std::any_of(jobs.begin(), jobs.begin() + std::ptrdiff_t(first), sameType)) continue;
        std::size_t count = 0;
        for (std::size_t i = first; i < jobs.size(); ++i) {
            if (!sameType(jobs[i])) continue;
            group[count++] = jobs[i];
            if (count < group.size()) continue;
            runGroup({group.data(), count}, activations, rows);
            count = 0;
        }
        if (count > 0) runGroup({group.data(), count}, activations, rows);
    }
}

void GemmPrefill::runGroup(std::span<const Job> jobs, const ActivationTile* activations,
                           std::int64_t rows) {
    const UnitLayout& layout = *jobs[0].layout;
    const Work work{jobs, static_cast<int>(pieces(rows, kTileRows)), m_launcher.multiprocessors(),
                    m_launcher.sharedBytesPerBlock()};
    const Plan plan = bestPlan(work);

    GemmPrefillArgs args;
    args.activations = activations;
    args.turns = reinterpret_cast<std::uint32_t*>(m_turns);
    args.jobCount = static_cast<std::int32_t>(jobs.size());
    args.rows = static_cast<std::int32_t>(rows);
    args.segments = layout.segments;
    args.segmentUnits = layout.segmentUnits;
    args.lastSegmentUnits = layout.lastSegmentUnits;
    args.itemBytes = layout.itemBytes;
    args.split = plan.split;
    args.columnBlocks = static_cast<std::int32_t>(pieces(work.allTiles, plan.blockTiles));
    args.blockRowTiles = plan.blockRowTiles;
    args.blockTiles = plan.blockTiles;
    args.stages = plan.stages;
    args.stageBytes = stageBytes(plan, layout.unitBytes);

    std::int64_t blocks = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Job& job = jobs[i];
        CHECK(job.layout->columns == layout.columns && job.out.rows == rows &&
              job.out.columns == job.layout->rows && job.out.strideBytes % 4 == 0);
        GemmPrefillJob& to = args.jobs[i];
        to.units = reinterpret_cast<const std::uint8_t*>(job.units);
        to.out = reinterpret_cast<float*>(job.out.data);
        CHECK(!job.bias.data || (job.bias.rows == 1 && job.bias.columns == job.layout->rows));
        to.bias = reinterpret_cast<const float*>(job.bias.data);
        to.rowTileBytes = job.layout->rowTileBytes;
        to.outStride = job.out.strideBytes / 4;
        to.weightRows = static_cast<std::int32_t>(job.layout->rows);
        to.rowTiles = job.layout->rowTiles;
        to.firstBlock = static_cast<std::int32_t>(blocks);
        blocks += pieces(job.layout->rowTiles, plan.blockRowTiles);
    }
    const std::int64_t tiles = work.tiles(plan), items = tiles * (plan.split ? layout.segments : 1);
    CHECK(items <= kMost);
    args.tiles = static_cast<std::int32_t>(tiles);
    args.items = static_cast<std::int32_t>(items);

    LaunchShape shape;
    shape.gridX = static_cast<unsigned>(
        std::min<std::int64_t>(items, std::int64_t(work.multiprocessors) * plan.blocksAtOnce));
    shape.threads = static_cast<unsigned>(32 * warpsOf(plan));
    shape.sharedBytes = static_cast<unsigned>(sharedBytes(plan, layout.unitBytes));
    m_launcher.run(kernelOf(layout.type), shape, args);
}

} // namespace cuda

#include "cuda/gemm_rows.h"

#include "cuda/kernels/gemm_rows_args.h"
#include "engine/base/check.h"
#include "engine/quant/quant_table.h"

#include <algorithm>

namespace cuda {

namespace {

static_assert(GemmRows::kMaxJobs == kMaxRowJobs);

struct TypeKernels {
    QuantType type;
    KernelId upTo8, upTo16; // rows of activations
    KernelId repack;
};

constexpr TypeKernels kTypeKernels[] = {
    {QuantType::Q4_0, KernelId::gemm_rows_q4_0_8, KernelId::gemm_rows_q4_0_16,
     KernelId::repack_q4_0},
    {QuantType::Q4_1, KernelId::gemm_rows_q4_1_8, KernelId::gemm_rows_q4_1_16,
     KernelId::repack_q4_1},
    {QuantType::Q5_0, KernelId::gemm_rows_q5_0_8, KernelId::gemm_rows_q5_0_16,
     KernelId::repack_q5_0},
    {QuantType::Q5_1, KernelId::gemm_rows_q5_1_8, KernelId::gemm_rows_q5_1_16,
     KernelId::repack_q5_1},
    {QuantType::Q8_0, KernelId::gemm_rows_q8_0_8, KernelId::gemm_rows_q8_0_16,
     KernelId::repack_q8_0},
    {QuantType::Q2_K, KernelId::gemm_rows_q2_k_8, KernelId::gemm_rows_q2_k_16,
     KernelId::repack_q2_k},
    {QuantType::Q3_K, KernelId::gemm_rows_q3_k_8, KernelId::gemm_rows_q3_k_16,
     KernelId::repack_q3_k},
    {QuantType::Q4_K, KernelId::gemm_rows_q4_k_8, KernelId::gemm_rows_q4_k_16,
     KernelId::repack_q4_k},
    {QuantType::Q5_K, KernelId::gemm_rows_q5_k_8, KernelId::gemm_rows_q5_k_16,
     KernelId::repack_q5_k},
    {QuantType::Q6_K, KernelId::gemm_rows_q6_k_8, KernelId::gemm_rows_q6_k_16,
     KernelId::repack_q6_k},
    {QuantType::IQ4_NL, KernelId::gemm_rows_iq4_nl_8, KernelId::gemm_rows_iq4_nl_16,
     KernelId::repack_iq4_nl},
    {QuantType::IQ4_XS, KernelId::gemm_rows_iq4_xs_8, KernelId::gemm_rows_iq4_xs_16,
     KernelId::repack_iq4_xs},
};

const TypeKernels& kernelsOf(QuantType type) {
    const auto* const found =
        std::find_if(std::begin(kTypeKernels), std::end(kTypeKernels),
                     [&](const TypeKernels& each) { return each.type == type; });
    CHECK(found != std::end(kTypeKernels));
    return *found;
}

constexpr int ceilDivide(int value, int by) {
    return (value + by - 1) / by;
}

constexpr int kLongSegment = 13;   // units; short ones have 8 at most (int8_format.h)
constexpr int kSumBytes = 16 * 32; // of a tile of weights and one of rows

// Bytes that the copies of one multiprocessor need under way for the full rate of an H200: 4.4 TB/s
// times 0.8 us, by 132. A copy is followed by another when all of it is there, so one item more
// than that holds; what is more than this stands in queues, and whatever other kernels read or
// write stands behind it. Less while small kernels run before the product: they are what it waits
// for.
constexpr int kBytesUnderWay = 27 << 10;

int itemsOf(const GemmRowsGroup& group, int segments) {
    return group.tiles * segments;
}

// The jobs of one type.
GemmRowsGroup groupOf(std::span<const GemmRows::Job> jobs, QuantType type) {
    GemmRowsGroup group;
    for (const GemmRows::Job& job : jobs) {
        const UnitLayout& layout = *job.layout;
        if (layout.type != type) continue;
        group.itemBytes = layout.itemBytes;
        group.lastItemBytes = layout.lastItemBytes;
        group.rowTileBytes = layout.rowTileBytes;
        group.jobs[group.jobCount++] = {reinterpret_cast<const std::uint8_t*>(job.units), job.sums,
                                        group.tiles, layout.rowTiles};
        group.tiles += layout.rowTiles;
    }
    return group;
}

// Divides the multiprocessors so that the group that takes longest has the least to fetch.
void divideBlocks(GemmRowsGroup& a, GemmRowsGroup& b, int segments, int multiprocessors) {
    const auto longestRun = [&](const GemmRowsGroup& group, int blocks) {
        return std::int64_t(ceilDivide(itemsOf(group, segments), blocks)) * group.itemBytes;
    };
    std::int64_t best = 0;
    for (int blocks = 1; blocks < multiprocessors; ++blocks) {
        const std::int64_t longest =
            std::max(longestRun(a, multiprocessors - blocks), longestRun(b, blocks));
        if (blocks > 1 && longest >= best) continue;
        best = longest;
        a.blocks = std::min(multiprocessors - blocks, itemsOf(a, segments));
        b.blocks = std::min(blocks, itemsOf(b, segments));
    }
}

// Divides `length` items or tiles among the blocks.
void cut(GemmRowsGroup& group, int length) {
    group.runLength = length / group.blocks;
    group.longerRuns = length % group.blocks;
}

// Cuts the items of one launch's groups (one or two) into runs.
void planRuns(std::span<GemmRowsGroup> groups, int segments, int multiprocessors) {
    for (GemmRowsGroup& group : groups)
        group.blocks = std::min(multiprocessors, itemsOf(group, segments));
    if (groups.size() == 2) divideBlocks(groups[0], groups[1], segments, multiprocessors);
    for (GemmRowsGroup& group : groups) cut(group, itemsOf(group, segments));
}

// Gives the blocks whole tiles, where no block gets more to do by that and the sums fit: then one
// sum for all segments is written and read instead of one for each.
void planWholeTiles(GemmRowsGroup& group, int segments, int rowTiles, int sharedBytes) {
    const int blocks = std::min(group.blocks, group.tiles);
    const int longest = ceilDivide(group.tiles, blocks);
    if (segments == 1 || longest * segments > ceilDivide(itemsOf(group, segments), group.blocks) ||
        longest * rowTiles * kSumBytes > sharedBytes)
        return;
    group.wholeTiles = 1;
    group.blocks = blocks;
    cut(group, group.tiles);
}

// The types of the jobs, each once.
struct Types {
    QuantType list[kMaxRowJobs] = {};
    int count = 0;

    explicit Types(std::span<const GemmRows::Job> jobs) {
        for (const GemmRows::Job& job : jobs)
            if (std::find(list, list + count, job.layout->type) == list + count)
                list[count++] = job.layout->type;
    }
    // The mixture that the usual files have in the projections of attention: one launch.
    bool mixed(int multiprocessors) const {
        return count == 2 && std::min(list[0], list[1]) == QuantType::Q4_K &&
               std::max(list[0], list[1]) == QuantType::Q6_K && multiprocessors > 1;
    }
};

} // namespace

void GemmRows::run(std::span<const Job> jobs, const ActivationTile* activations, int rows,
                   std::span<PartialSums> sums) {
    CHECK(!jobs.empty() && jobs.size() <= kMaxJobs && rows >= 1 && rows <= kMaxStepRows);
    CHECK(sums.size() >= jobs.size());
    for (const Job& job : jobs) CHECK(job.layout->columns == jobs[0].layout->columns);
    const Types types(jobs);
    if (types.mixed(m_launcher.multiprocessors())) {
        launch(jobs, {QuantType::Q4_K, QuantType::Q6_K}, activations, rows,
               rows <= kTileRows ? KernelId::gemm_rows_q4_k_q6_k_8
                                 : KernelId::gemm_rows_q4_k_q6_k_16,
               sums);
        return;
    }
    for (int i = 0; i < types.count; ++i) {
        const TypeKernels& kernels = kernelsOf(types.list[i]);
        KernelId kernel = rows <= kTileRows ? kernels.upTo8 : kernels.upTo16;
        // Three or four jobs are the projections before attention, whose kernel for two types
        // leaves room for what follows (gemm_rows.cu). Its second group may be empty. And one of
        // short segments is o: with as few registers its blocks, of few warps, find room beside
        // those of attention_finish.
        if (kernel == KernelId::gemm_rows_q4_k_16 &&
            (jobs.size() > 2 || (jobs.size() == 1 && jobs[0].layout->segmentUnits < kLongSegment)))
            kernel = KernelId::gemm_rows_q4_k_q6_k_16;
        launch(jobs, {types.list[i]}, activations, rows, kernel, sums);
    }
}

void GemmRows::launch(std::span<const Job> jobs, std::initializer_list<QuantType> types,
                      const ActivationTile* activations, int rows, KernelId kernel,
                      std::span<PartialSums> sums) {
    const UnitLayout& shape = *jobs[0].layout; // what depends on K alone is the same for all
    GemmRowsArgs args;
    args.activations = activations;
    args.rows = rows;
    args.segmentUnits = shape.segmentUnits;
    args.segments = shape.segments;
    args.lastSegmentUnits = shape.lastSegmentUnits;

    const int most = std::min(m_ringBytes, m_launcher.sharedBytesPerBlock());
    int turns = 2, shared = 0;
    std::size_t count = 0;
    for (const QuantType type : types) {
        GemmRowsGroup& group = args.groups[count++] = groupOf(jobs, type);
        group.stages = std::clamp((most - kRingHeadBytes) / group.itemBytes, 1, kMaxStages);
        if (shape.segmentUnits < kLongSegment || group.stages == 1) turns = 1;
    }
    const std::span<GemmRowsGroup> groups(args.groups, count);
    planRuns(groups, args.segments, m_launcher.multiprocessors());
    for (GemmRowsGroup& group : groups) {
        group.turns = turns;
        group.stages -= group.stages % turns;
        const int enough = ceilDivide(kBytesUnderWay, group.itemBytes);
        group.copiesBefore = std::min(enough, group.stages);
        group.copiesAfter = std::min(enough + 1, group.stages);
        shared = std::max(shared, kRingHeadBytes + group.stages * group.itemBytes);
    }
    if (count == 1) {
        GemmRowsGroup& group = groups[0];
        const int rowTiles = ceilDivide(rows, int(kTileRows));
        group.sumsAt = shared; // a multiple of 128
        planWholeTiles(group, args.segments, rowTiles,
                       m_launcher.sharedBytesPerBlock() - group.sumsAt);
        if (group.wholeTiles)
            shared = group.sumsAt + ceilDivide(group.tiles, group.blocks) * rowTiles * kSumBytes;
    }
    CHECK(shared <= m_launcher.sharedBytesPerBlock());

    LaunchShape launchShape;
    launchShape.gridX = static_cast<unsigned>(args.groups[0].blocks + args.groups[1].blocks);
    launchShape.threads = static_cast<unsigned>(32 * (shape.segmentUnits - 1 + turns + 2));
    launchShape.sharedBytes = static_cast<unsigned>(shared);
    m_launcher.run(kernel, launchShape, args);

    for (std::size_t g = 0; g < count; ++g)
        for (std::size_t i = 0; i < jobs.size(); ++i)
            if (jobs[i].layout->type == types.begin()[g])
                sums[i] = {jobs[i].sums, groups[g].wholeTiles ? 1 : args.segments,
                           jobs[i].layout->rowTiles, rows};
}

void GemmRows::reduce(const PartialSums& sums, engine::Tensor out) {
    CHECK(out.rows == sums.columns && out.columns <= std::int64_t(sums.rowTiles) * kUnitRows &&
          out.strideBytes % 4 == 0);
    GemmReduceArgs args;
    args.sums = sums;
    args.out = reinterpret_cast<float*>(out.data);
    args.outStride = out.strideBytes / 4;
    args.weightRows = static_cast<std::int32_t>(out.columns);
    LaunchShape shape;
    shape.threads = 256;
    shape.gridX = static_cast<unsigned>((out.columns + 255) / 256);
    shape.gridY = static_cast<unsigned>(out.rows);
    m_launcher.run(KernelId::gemm_reduce, shape, args);
}

void GemmRows::repack(const UnitLayout& layout, const std::byte* rawRows, int firstTile,
                      std::int64_t rawRowCount, std::byte* units) {
    const engine::QuantFormat& format = engine::quantFormat(layout.type);
    const std::int64_t tiles = (rawRowCount + kUnitRows - 1) / kUnitRows;
    CHECK(rawRowCount > 0 && firstTile >= 0 && firstTile + tiles <= layout.rowTiles);
    RepackArgs args;
    args.rows = reinterpret_cast<const std::uint8_t*>(rawRows);
    args.units = reinterpret_cast<std::uint8_t*>(units);
    args.rowBytes = format.rowBytes(layout.columns);
    args.rowTileBytes = layout.rowTileBytes;
    args.rowCount = static_cast<std::int32_t>(rawRowCount);
    args.firstTile = firstTile;
    args.rowUnits = layout.units;
    args.rowBlocks = static_cast<std::int32_t>(layout.columns / format.blockWeights);
    args.segmentUnits = layout.segmentUnits;
    args.itemBytes = layout.itemBytes;
    LaunchShape shape;
    shape.threads = 256;
    shape.gridX = static_cast<unsigned>(tiles * layout.units);
    m_launcher.run(kernelsOf(layout.type).repack, shape, args);
}

} // namespace cuda

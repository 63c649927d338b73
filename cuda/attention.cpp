#include "cuda/attention.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace cuda {
namespace {

using engine::AttentionShape;
using engine::AttentionSpan;
using engine::ElementType;
using engine::Error;
using engine::ErrorCode;
using engine::KvLayer;
using engine::Result;
using engine::RopePairing;
using engine::RopeSpec;
using engine::Tensor;

constexpr int kHeadSizes[] = {32, 64, 96, 128};

// One kernel per head size.
struct Sizes {
    KernelId of[std::size(kHeadSizes)];
    KernelId at(int headSize) const { return of[headSize / 32 - 1]; }
};
constexpr Sizes kRowsHalf{{KernelId::attention_rows_32_f16, KernelId::attention_rows_64_f16,
                           KernelId::attention_rows_96_f16, KernelId::attention_rows_128_f16}};
constexpr Sizes kRowsEight{{KernelId::attention_rows_32_q8_0, KernelId::attention_rows_64_q8_0,
                            KernelId::attention_rows_96_q8_0, KernelId::attention_rows_128_q8_0}};
constexpr Sizes kPrefillHalf{
    {KernelId::attention_prefill_32_f16, KernelId::attention_prefill_64_f16,
     KernelId::attention_prefill_96_f16, KernelId::attention_prefill_128_f16}};
constexpr Sizes kPrefillEight{
    {KernelId::attention_prefill_32_q8_0, KernelId::attention_prefill_64_q8_0,
     KernelId::attention_prefill_96_q8_0, KernelId::attention_prefill_128_q8_0}};
constexpr Sizes kGroups{{KernelId::group_attention_32, KernelId::group_attention_64,
                         KernelId::group_attention_96, KernelId::group_attention_128}};

bool isEight(const KvLayer& layer) {
    return layer.keys.type == ElementType::Q8_0;
}

float scoreScale(int headSize) {
    return static_cast<float>(1.4426950408889634 / std::sqrt(static_cast<double>(headSize)));
}

template<class T> T ceilDivide(T value, T by) {
    return (value + by - 1) / by;
}

const std::uint8_t* bytes(const Tensor& t) {
    return reinterpret_cast<const std::uint8_t*>(t.data);
}
std::uint8_t* writableBytes(const Tensor& t) {
    return reinterpret_cast<std::uint8_t*>(t.data);
}
float* floats(const Tensor& t) {
    return reinterpret_cast<float*>(t.data);
}
const std::int32_t* ints(const Tensor& t) {
    return reinterpret_cast<const std::int32_t*>(t.data);
}

bool aligned(const Tensor& t, std::uintptr_t to) {
    return reinterpret_cast<std::uintptr_t>(t.data) % to == 0 &&
           static_cast<std::uintptr_t>(t.strideBytes) % to == 0;
}

Error unsupported(std::string what) {
    return {ErrorCode::Unsupported, std::move(what)};
}

Result<void> checkHeadSize(int headSize) {
    if (std::find(std::begin(kHeadSizes), std::end(kHeadSizes), headSize) == std::end(kHeadSizes))
        return unsupported("the graphics card computes attention with heads of 32, 64, 96 and 128, "
                           "not of " +
                           std::to_string(headSize));
    return {};
}

Result<void> checkCache(const KvLayer& layer) {
    CHECK(layer.keys.type == layer.values.type);
    CHECK(layer.capacity > 0 && layer.capacity < AttentionArgs::kFar);
    if (layer.keys.type != ElementType::F16 && layer.keys.type != ElementType::Q8_0)
        return unsupported("the graphics card keeps keys and values in 16 or 8 bits, not in 32");
    const std::uintptr_t alignment = isEight(layer) ? 2 : 16;
    CHECK(aligned(layer.keys, alignment) && aligned(layer.values, alignment));
    return {};
}

// Everything but q, out and the scratch.
AttentionArgs describe(const KvLayer& layer, Tensor positions, const AttentionShape& shape,
                       const AttentionSpan& span) {
    CHECK(shape.kvHeads > 0 && shape.heads > 0 && shape.heads % shape.kvHeads == 0);
    CHECK(layer.keys.columns == std::int64_t(shape.kvHeads) * shape.headSize &&
          layer.values.columns == layer.keys.columns);
    CHECK(positions.type == ElementType::I32 && span.left >= 0 && span.right >= 0);
    AttentionArgs a;
    a.keys = bytes(layer.keys);
    a.values = bytes(layer.values);
    a.positions = ints(positions);
    a.keyStride = layer.keys.strideBytes;
    a.valueStride = layer.values.strideBytes;
    a.rows = static_cast<std::int32_t>(positions.rows);
    a.headSize = shape.headSize;
    a.kvHeads = shape.kvHeads;
    a.ratio = shape.heads / shape.kvHeads;
    a.capacity = static_cast<std::int32_t>(layer.capacity);
    const auto limited = [](std::int64_t reach) {
        return static_cast<std::int32_t>(std::min<std::int64_t>(reach, AttentionArgs::kFar));
    };
    a.left = limited(span.left);
    a.right = limited(span.right);
    a.queryTiles = ceilDivide(a.rows * a.ratio, kQueryTile);
    a.scale = scoreScale(shape.headSize);
    return a;
}

// Most tiles or splits that a call can touch, for any position.
std::int64_t mostUnits(const AttentionArgs& a, std::int64_t tilesPerUnit) {
    const std::int64_t seen =
        std::min<std::int64_t>(a.capacity, std::int64_t(a.left) + a.right + a.rows);
    return seen / (tilesPerUnit * kKeyTile) + 2;
}

RopeTurns turnsOf(const RopeSpec& spec) {
    CHECK(spec.headSize > 0 && spec.headSize % 2 == 0 && spec.axes > 0 &&
          spec.headSize / 2 % spec.axes == 0);
    RopeTurns turns;
    turns.headSize = spec.headSize;
    turns.axes = spec.axes;
    turns.halves = spec.pairing == RopePairing::Halves;
    const int pairs = spec.headSize / 2 / spec.axes;
    CHECK(pairs <= kMostRopePairs);
    const double width = static_cast<double>(spec.headSize) / spec.axes;
    for (int j = 0; j < pairs; ++j) {
        const double turn = std::pow(spec.theta, -2.0 * j / width) / 6.283185307179586477;
        turns.perPosition[j] = static_cast<std::uint64_t>(std::ldexp(turn - std::floor(turn), 64));
    }
    return turns;
}

const float* gammaOf(const engine::NormSpec& norm, int headSize) {
    if (norm.gamma.empty()) return nullptr;
    CHECK(norm.gamma.type == ElementType::F32 && norm.gamma.columns == headSize);
    return floats(norm.gamma);
}

} // namespace

Attention::Attention(Launcher& launcher, engine::Buffer scratch, int tileItems)
    : m_launcher(launcher), m_scratch(std::move(scratch)), m_tileItems(tileItems) {}

std::int64_t Attention::scratchBytes(const AttentionShape& shape, std::int64_t positions) {
    if (!checkHeadSize(shape.headSize)) return 0;
    const std::int64_t queryTiles =
        ceilDivide(kMaxStepRows * (shape.heads / shape.kvHeads), kQueryTile);
    const std::int64_t splits = positions / (kSplitTiles * kKeyTile) + 2; // as mostUnits
    return splits * shape.kvHeads * queryTiles * stateBytes(shape.headSize);
}

Result<void> Attention::rope(Tensor x, Tensor positions, const RopeSpec& spec) {
    CHECK(x.type == ElementType::F32 && x.columns % spec.headSize == 0);
    CHECK(positions.type == ElementType::I32 && positions.rows == x.rows &&
          positions.columns == spec.axes);
    if (spec.headSize / 2 / spec.axes > kMostRopePairs) // a file may ask for it
        return unsupported("the graphics card turns heads of at most " +
                           std::to_string(2 * kMostRopePairs) + " columns, not of " +
                           std::to_string(spec.headSize));
    if (x.rows == 0) return {};
    RopeArgs a;
    a.turns = turnsOf(spec);
    a.x = floats(x);
    a.positions = ints(positions);
    a.xStride = x.strideBytes / 4;
    a.positionStride = positions.strideBytes / 4;
    a.rows = x.rows;
    a.heads = static_cast<std::int32_t>(x.columns / spec.headSize);
    LaunchShape launch;
    launch.threads = 256;
    launch.gridX = static_cast<unsigned>(x.rows);
    m_launcher.run(KernelId::rope, launch, a);
    return {};
}

Result<void> Attention::kvWrite(const KvLayer& layer, Tensor k, Tensor v, Tensor positions) {
    CHECK(k.type == ElementType::F32 && v.type == ElementType::F32);
    CHECK(k.rows == v.rows && positions.rows == k.rows && k.columns == layer.keys.columns &&
          v.columns == layer.values.columns && k.columns == v.columns);
    CHECK(positions.type == ElementType::I32);
    if (auto checked = checkCache(layer); !checked) return checked;
    CHECK(!isEight(layer) || k.columns % 32 == 0);
    if (k.rows == 0) return {};
    KvWriteArgs a;
    a.k = floats(k);
    a.v = floats(v);
    a.keys = writableBytes(layer.keys);
    a.values = writableBytes(layer.values);
    a.positions = ints(positions);
    a.kStride = k.strideBytes / 4;
    a.vStride = v.strideBytes / 4;
    a.positionStride = positions.strideBytes / 4;
    a.keyStride = layer.keys.strideBytes;
    a.valueStride = layer.values.strideBytes;
    a.rows = k.rows;
    a.columns = static_cast<std::int32_t>(k.columns);
    a.capacity = static_cast<std::int32_t>(layer.capacity);
    LaunchShape launch;
    launch.threads = 128;
    launch.gridX =
        static_cast<unsigned>(ceilDivide<std::int64_t>(2 * k.rows * unitsOf(k.columns), 4));
    m_launcher.run(isEight(layer) ? KernelId::kv_write_q8_0 : KernelId::kv_write_f16, launch, a);
    return {};
}

bool Attention::tilesAndSplits(AttentionArgs& a) const {
    const std::int64_t states = m_scratch.bytes() / stateBytes(a.headSize);
    if (mostUnits(a, kSplitTiles) * a.kvHeads * a.queryTiles > states) return false;
    a.states = reinterpret_cast<std::uint8_t*>(m_scratch.data());
    // An item has up to kRowWarps states.
    a.tileItems = static_cast<std::int32_t>(std::min<std::int64_t>(
        std::int64_t(m_tileItems) * m_launcher.multiprocessors(), states / kRowWarps));
    return true;
}

// As many as the card has room for; without copies in flight, more than two are of no use.
int Attention::ringPlaces(int headSize, int queryTiles) const {
    int places = m_launcher.computeCapability() < 80 ? 2 : kMostRingPlaces;
    while (places > 2 &&
           attentionSharedBytes(headSize, queryTiles, places) > m_launcher.sharedBytesPerBlock())
        --places;
    return places;
}

void Attention::runTiles(AttentionArgs& a, ElementType type) {
    const std::int64_t perUnit = std::int64_t(a.kvHeads) * ceilDivide(a.queryTiles, kRowWarps);
    const std::int64_t items =
        std::max(std::min<std::int64_t>(a.tileItems, mostUnits(a, 1) * perUnit),
                 mostUnits(a, kSplitTiles) * perUnit);
    a.ringPlaces = ringPlaces(a.headSize, kRowWarps);
    LaunchShape launch;
    launch.threads = 32 * kRowWarps;
    // Two blocks fit a multiprocessor.
    launch.gridX =
        static_cast<unsigned>(std::min<std::int64_t>(items, 2 * m_launcher.multiprocessors()));
    launch.sharedBytes =
        static_cast<unsigned>(attentionSharedBytes(a.headSize, kRowWarps, a.ringPlaces));
    m_launcher.run((type == ElementType::Q8_0 ? kRowsEight : kRowsHalf).at(a.headSize), launch, a);
}

void Attention::runPrefill(AttentionArgs& a, ElementType type) {
    const bool eight = type == ElementType::Q8_0;
    int warps = kPrefillWarps;
    KernelId kernel = (eight ? kPrefillEight : kPrefillHalf).at(a.headSize);
    if (attentionSharedBytes(a.headSize, warps, 2) > m_launcher.sharedBytesPerBlock()) {
        CHECK(a.headSize == 128);
        warps = kSmallPrefillWarps;
        kernel = eight ? KernelId::attention_prefill_small_128_q8_0
                       : KernelId::attention_prefill_small_128_f16;
    }
    a.ringPlaces = ringPlaces(a.headSize, warps);
    LaunchShape launch;
    launch.threads = static_cast<unsigned>(32 * warps);
    launch.gridX = static_cast<unsigned>(ceilDivide(a.queryTiles, warps));
    launch.gridY = static_cast<unsigned>(a.kvHeads);
    launch.sharedBytes =
        static_cast<unsigned>(attentionSharedBytes(a.headSize, warps, a.ringPlaces));
    m_launcher.run(kernel, launch, a);
}

Result<void> Attention::attention(Tensor q, const KvLayer& layer, Tensor positions,
                                  const AttentionShape& shape, const AttentionSpan& span,
                                  Tensor out) {
    CHECK(q.type == ElementType::F32 && out.type == ElementType::F32 && positions.rows == q.rows &&
          out.rows == q.rows);
    CHECK(q.columns == std::int64_t(shape.heads) * shape.headSize && out.columns == q.columns);
    CHECK(aligned(q, 8) && aligned(out, 8));
    if (auto checked = checkHeadSize(shape.headSize); !checked) return checked;
    if (auto checked = checkCache(layer); !checked) return checked;
    if (q.rows == 0) return {};
    AttentionArgs a = describe(layer, positions, shape, span);
    a.q = floats(q);
    a.qStride = q.strideBytes / 4;
    a.out = floats(out);
    a.outStride = out.strideBytes / 4;
    if (q.rows > kMaxStepRows || !tilesAndSplits(a)) {
        runPrefill(a, layer.keys.type);
        return {};
    }
    runTiles(a, layer.keys.type);
    LaunchShape launch;
    launch.threads = 128;
    launch.gridX = static_cast<unsigned>(ceilDivide<std::int64_t>(q.rows * q.columns / 32, 4));
    m_launcher.run(KernelId::attention_merge, launch, a);
    return {};
}

Result<void> Attention::attend(const engine::AttentionStep& step, const AttentionProjections& sums,
                               const QuantizedRows& out) {
    const AttentionShape& shape = step.shape;
    const std::int64_t rows = step.positions.rows;
    const std::int64_t columns = std::int64_t(shape.heads) * shape.headSize;
    CHECK(rows > 0 && rows <= kMaxStepRows);
    CHECK(sums.q.columns == rows && sums.k.columns == rows && sums.v.columns == rows);
    CHECK((step.gate != nullptr) == (sums.gate.data != nullptr));
    CHECK(step.qRows.rows >= rows && step.qRows.columns == columns && aligned(step.qRows, 16));
    if (auto checked = checkHeadSize(shape.headSize); !checked) return checked;
    if (auto checked = checkCache(step.cache); !checked) return checked;
    const ElementType type = step.cache.keys.type;

    AttentionFinishArgs finish;
    AttentionArgs& a = finish.attention;
    a = describe(step.cache, step.positions, shape, step.span);
    const bool byTiles = tilesAndSplits(a);

    AttentionInputsArgs inputs;
    inputs.q = sums.q;
    inputs.k = sums.k;
    inputs.v = sums.v;
    inputs.qGamma = gammaOf(step.qNorm, shape.headSize);
    inputs.kGamma = gammaOf(step.kNorm, shape.headSize);
    inputs.qEps = step.qNorm.eps;
    inputs.kEps = step.kNorm.eps;
    inputs.keys = writableBytes(step.cache.keys);
    inputs.values = writableBytes(step.cache.values);
    inputs.keyStride = step.cache.keys.strideBytes;
    inputs.valueStride = step.cache.values.strideBytes;
    inputs.positions = ints(step.positions);
    inputs.positionStride = step.positions.strideBytes / 4;
    inputs.rows = static_cast<std::int32_t>(rows);
    inputs.heads = shape.heads;
    inputs.kvHeads = shape.kvHeads;
    inputs.capacity = static_cast<std::int32_t>(step.cache.capacity);
    if (step.rope) {
        CHECK(step.rope->headSize == shape.headSize && step.rope->axes == 1);
        inputs.turns = turnsOf(*step.rope);
        inputs.turned = 1;
    }
    inputs.turns.headSize = shape.headSize;
    if (byTiles) {
        inputs.halves = reinterpret_cast<std::uint16_t*>(step.qRows.data);
        inputs.qStride = step.qRows.strideBytes / 2;
        inputs.scale = a.scale;
    } else {
        inputs.qRows = floats(step.qRows);
        inputs.qStride = step.qRows.strideBytes / 4;
    }
    LaunchShape launch;
    launch.threads = 128;
    launch.gridX = static_cast<unsigned>(ceilDivide(shape.heads + 2 * shape.kvHeads, 4));
    launch.gridY = static_cast<unsigned>(rows);
    m_launcher.run(type == ElementType::Q8_0 ? KernelId::attention_inputs_q8_0
                                             : KernelId::attention_inputs_f16,
                   launch, inputs);

    a.q = inputs.qRows;
    a.halves = inputs.halves;
    a.qStride = inputs.qStride;
    if (byTiles) {
        a.onlyInputsBefore = 1;
        runTiles(a, type);
    } else {
        CHECK(step.outRows.rows >= rows && step.outRows.columns == columns &&
              aligned(step.outRows, 8));
        a.out = floats(step.outRows);
        a.outStride = step.outRows.strideBytes / 4;
        runPrefill(a, type);
        finish.attended = a.out;
        finish.attendedStride = a.outStride;
    }

    finish.gate = sums.gate;
    finish.out.tiles = out.tiles;
    finish.out.floats = out.floats;
    finish.out.floatStride = out.floatStride;
    finish.out.rows = rows;
    finish.out.columns = columns;
    finish.out.tilesPerUnit = ceilDivide<std::int64_t>(rows, kTileRows);
    launch.threads = 256;
    launch.gridX = static_cast<unsigned>(unitsOf(columns));
    launch.gridY = static_cast<unsigned>(rows);
    m_launcher.run(KernelId::attention_finish, launch, finish);
    return {};
}

Result<void> Attention::groupAttention(Tensor q, Tensor k, Tensor v, const AttentionShape& shape,
                                       std::span<const std::int32_t> groupStarts, Tensor out) {
    const int size = shape.headSize;
    CHECK(shape.heads == shape.kvHeads && q.columns == std::int64_t(shape.heads) * size);
    CHECK(q.rows == k.rows && q.rows == v.rows && q.rows == out.rows && k.columns == q.columns &&
          v.columns == q.columns && out.columns == q.columns);
    CHECK(q.type == ElementType::F32 && k.type == ElementType::F32 && v.type == ElementType::F32 &&
          out.type == ElementType::F32);
    CHECK(!groupStarts.empty() && groupStarts.front() == 0 && groupStarts.back() == q.rows);
    CHECK(aligned(q, 8) && aligned(k, 16) && aligned(v, 16) && aligned(out, 8));
    if (auto checked = checkHeadSize(size); !checked) return checked;
    if (q.rows == 0) return {};

    const std::int64_t headBytes = q.rows * size * 2; // as halves, of keys or values
    const std::int64_t most = m_scratch.bytes() / (2 * headBytes);
    if (most == 0)
        return unsupported("the graphics card has no room for the keys of " +
                           std::to_string(q.rows) + " rows of a picture at a time");
    const int perPass = static_cast<int>(std::min<std::int64_t>(most, shape.heads));
    for (int firstHead = 0; firstHead < shape.heads; firstHead += perPass) {
        const int heads = std::min(perPass, shape.heads - firstHead);
        GroupPrepareArgs prepare;
        prepare.k = floats(k);
        prepare.v = floats(v);
        prepare.keys = reinterpret_cast<std::uint16_t*>(m_scratch.data());
        prepare.values = prepare.keys + std::int64_t(heads) * q.rows * size;
        prepare.kStride = k.strideBytes / 4;
        prepare.vStride = v.strideBytes / 4;
        prepare.rows = static_cast<std::int32_t>(q.rows);
        prepare.firstHead = firstHead;
        prepare.heads = heads;
        prepare.headSize = size;
        LaunchShape launch;
        launch.threads = 256;
        launch.gridX = static_cast<unsigned>(ceilDivide<std::int64_t>(q.rows * size / 8, 256));
        launch.gridY = static_cast<unsigned>(heads);
        launch.gridZ = 2;
        m_launcher.run(KernelId::group_prepare, launch, prepare);

        GroupAttentionArgs a;
        a.q = floats(q);
        a.keys = prepare.keys;
        a.values = prepare.values;
        a.out = floats(out);
        a.qStride = q.strideBytes / 4;
        a.outStride = out.strideBytes / 4;
        a.rows = prepare.rows;
        a.firstHead = firstHead;
        a.heads = heads;
        a.scale = scoreScale(size);
        const int queryTiles = kGroupWarps * groupQueryTiles(size);
        a.ringPlaces = ringPlaces(size, queryTiles);
        const int blockRows = queryTiles * kQueryTile;
        const std::size_t groups = groupStarts.size() - 1;
        for (std::size_t first = 0; first < groups; first += kMostGroups) {
            a.groups =
                static_cast<std::int32_t>(std::min<std::size_t>(kMostGroups, groups - first));
            std::int32_t blocks = 0;
            for (std::int32_t i = 0; i <= a.groups; ++i) {
                const std::int32_t start = groupStarts[first + static_cast<std::size_t>(i)];
                CHECK(i == 0 || start >= a.start[i - 1]);
                if (i > 0) blocks += ceilDivide(start - a.start[i - 1], blockRows);
                a.start[i] = start;
                a.firstBlock[i] = blocks;
            }
            if (blocks == 0) continue;
            launch.threads = 32 * kGroupWarps;
            launch.gridX = static_cast<unsigned>(blocks);
            launch.gridZ = 1;
            launch.sharedBytes =
                static_cast<unsigned>(attentionSharedBytes(size, queryTiles, a.ringPlaces));
            m_launcher.run(kGroups.at(size), launch, a);
        }
    }
    return {};
}

} // namespace cuda

// Attention on the card. Against the processor, within what half precision means: the card rounds
// scaled queries (2^-12 of each product's size, which moves a score of size s by about 3e-4 s and
// at most 5e-4 times the sum of its products' sizes) and softmax weights (2^-12 of each) to halves.
// What is seen is tested exactly, with weights that are all one. And on the card alone: a
// position's row has the same bits in every call.

#include "card_rows.h"
#include "products.h"

#include "cuda/attention.h"
#include "engine/quant/half.h"

namespace cuda::test {
namespace {

using engine::AttentionShape;
using engine::AttentionSpan;
using engine::AttentionStep;
using engine::KvLayer;
using engine::NormSpec;
using engine::RopePairing;
using engine::RopeSpec;
using engine::test::ascending;

// For outputs that average values near one, with scores near one: twelve times the typical error.
constexpr double kNear = 4e-3;

const char* nameOf(ElementType type) {
    return type == ElementType::F16 ? "F16" : type == ElementType::Q8_0 ? "Q8_0" : "F32";
}

AttentionSpan window(std::int64_t positions) {
    AttentionSpan span;
    span.left = positions - 1;
    return span;
}
AttentionSpan bothWays(std::int64_t reach) {
    AttentionSpan span;
    span.left = span.right = reach;
    return span;
}

Rows plainNoise(std::int64_t rows, std::int64_t columns, unsigned seed, float size = 1.0f) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, size);
    Rows r(rows, columns);
    for (float& v : r.values) v = normal(random);
    return r;
}

// Keys and values of one layer; what was never stored is no number.
class Cache {
public:
    Cache(Backend& backend, ElementType type, std::int64_t capacity, const AttentionShape& shape)
        : m_backend(backend) {
        const std::int64_t columns = std::int64_t(shape.kvHeads) * shape.headSize;
        const std::int64_t bytes = capacity * engine::elementBytes(type, columns);
        const std::vector<std::byte> poison(std::size_t(bytes), std::byte(0xff));
        for (Buffer* buffer : {&m_keys, &m_values}) {
            auto made = backend.allocate(bytes, "cache of a test");
            EXPECT_TRUE(made.ok());
            *buffer = std::move(*made);
            backend.copyIn(poison, buffer->tensor(type, capacity, columns));
        }
        layer = {m_keys.tensor(type, capacity, columns), m_values.tensor(type, capacity, columns),
                 capacity};
    }
    // Rows first .. end - 1 of k and v, at the positions of these numbers.
    void store(const Rows& k, const Rows& v, std::int64_t first, std::int64_t end) {
        if (first >= end) return;
        const CardRows ks(m_backend, rowsOf(k, first, end - first)),
            vs(m_backend, rowsOf(v, first, end - first));
        const CardNumbers at(m_backend, ascending(first, end - first));
        m_backend.kvWrite(layer, ks.tensor(), vs.tensor(), at.tensor());
    }
    std::vector<std::byte> bytes() const {
        std::vector<std::byte> all;
        for (const Tensor& t : {layer.keys, layer.values}) {
            std::vector<std::byte> part(std::size_t(t.rows * t.rowBytes()));
            EXPECT_TRUE(m_backend.copyOut(t, part).ok());
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    }

    KvLayer layer;

private:
    Backend& m_backend;
    Buffer m_keys, m_values;
};

// Rows first .. first + count - 1 of q, at the positions of these numbers.
Rows attend(Backend& backend, const Cache& cache, const AttentionShape& shape,
            const AttentionSpan& span, const Rows& q, std::int64_t first, std::int64_t count,
            std::int64_t gap = 0) {
    const CardRows in(backend, rowsOf(q, first, count), gap);
    const CardRows out(backend, count, q.columns, gap);
    const CardNumbers at(backend, ascending(first, count));
    backend.attention(in.tensor(), cache.layer, at.tensor(), shape, span, out.tensor());
    EXPECT_TRUE(out.gapsUntouched());
    return out.read();
}

class CardAttention : public testing::Test {
protected:
    static void SetUpTestSuite() { s_card = makeCard().release(); }
    static void TearDownTestSuite() { delete std::exchange(s_card, nullptr); }
    void SetUp() override {
        ASSERT_NE(s_card, nullptr);
        m_processor = makeProcessor();
    }
    void TearDown() override {
        const auto done = s_card->synchronize();
        EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    }
    CudaBackend& card() { return *s_card; }
    CpuBackend& processor() { return *m_processor; }
    Attention withScratch(std::int64_t bytes, int tileItems = Attention::kTileItems) {
        auto made = card().allocate(bytes, "scratch of a test");
        EXPECT_TRUE(made.ok());
        return Attention(card().launcher(), std::move(*made), tileItems);
    }

private:
    static inline CudaBackend* s_card = nullptr;
    std::unique_ptr<CpuBackend> m_processor;
};

constexpr ElementType kTypes[] = {ElementType::F16, ElementType::Q8_0};

// ---- what is seen

// out[d] = the share of the numbers from .. to - 1 that are d modulo the head size.
void addShares(float* out, std::int64_t headSize, std::int64_t from, std::int64_t to) {
    std::vector<int> counts(static_cast<std::size_t>(headSize));
    for (std::int64_t key = from; key < to; ++key)
        ++counts[static_cast<std::size_t>(key % headSize)];
    for (std::int64_t d = 0; d < headSize; ++d)
        out[d] =
            static_cast<float>(counts[static_cast<std::size_t>(d)]) / static_cast<float>(to - from);
}

TEST_F(CardAttention, SeesExactlyTheSpan) {
    // A query of zeros weighs all it sees alike, and value columns count keys by their position
    // modulo the head size; so the result says how many keys of each kind were seen.
    const AttentionShape shape{4, 2, 32};
    const std::int64_t size = shape.headSize, last = 5000;
    const Rows q(last, 128), k = plainNoise(last, 64, kSeed);
    Rows v(last, 64);
    for (std::int64_t p = 0; p < last; ++p) v.row(p)[p % size] = v.row(p)[size + p % size] = 1.0f;

    const struct {
        AttentionSpan span;
        std::int64_t capacity;
    } cases[] = {{{}, last},      {window(2048), 2304}, {window(300), 512},
                 {window(1), 64}, {bothWays(40), 100},  {bothWays(2048), 2560}};
    for (const ElementType type : kTypes)
        for (const auto& [span, capacity] : cases)
            for (const std::int64_t rows : {1, 16, 40})
                for (const std::int64_t p : {0, 1, 63, 64, 99, 255, 256, 257, 299, 300, 511, 512,
                                             2047, 2048, 2303, 2304, 4095, 4096, 4900}) {
                    const std::int64_t end = p + rows;
                    if (std::min(end, span.left + rows) > capacity) continue;
                    Cache cache(card(), type, capacity, shape);
                    cache.store(k, v, std::max<std::int64_t>(0, end - capacity), end);
                    const Rows got = attend(card(), cache, shape, span, q, p, rows);
                    Rows expected(rows, 128);
                    for (std::int64_t i = 0; i < rows; ++i) {
                        const std::int64_t from = std::max<std::int64_t>(0, p + i - span.left);
                        const std::int64_t to = std::min(end, p + i + span.right + 1);
                        for (int head = 0; head < 4; ++head)
                            addShares(expected.row(i) + head * size, size, from, to);
                    }
                    // Q8_0 stores 1 as 127 times a rounded 1/127.
                    EXPECT_EQ(tooFar(got, expected, type == ElementType::F16 ? 1e-5 : 1e-3), "")
                        << nameOf(type) << ", position " << p << ", " << rows << " rows, left "
                        << span.left << ", capacity " << capacity;
                }
}

// ---- against the processor

void expectNearProcessor(CudaBackend& card, CpuBackend& processor, ElementType type,
                         const AttentionShape& shape, const AttentionSpan& span,
                         std::int64_t capacity, std::int64_t first, std::int64_t rows, float size) {
    const std::int64_t end = first + rows;
    const std::int64_t kvColumns = std::int64_t(shape.kvHeads) * shape.headSize;
    const Rows q = plainNoise(end, std::int64_t(shape.heads) * shape.headSize, kSeed, size),
               k = plainNoise(end, kvColumns, kSeed + 1), v = plainNoise(end, kvColumns, kSeed + 2);
    Cache onCard(card, type, capacity, shape), here(processor, type, capacity, shape);
    for (Cache* cache : {&onCard, &here})
        cache->store(k, v, std::max<std::int64_t>(0, end - capacity), end);
    EXPECT_EQ(tooFar(attend(card, onCard, shape, span, q, first, rows, 6),
                     attend(processor, here, shape, span, q, first, rows), 0, kNear * size),
              "")
        << nameOf(type) << ", " << shape.heads << " heads on " << shape.kvHeads << " of "
        << shape.headSize << ", positions from " << first << ", " << rows << " rows, seed "
        << kSeed;
}

TEST_F(CardAttention, AgreesWithTheProcessorForEveryHeadSize) {
    for (const ElementType type : kTypes)
        for (const AttentionShape& shape :
             {AttentionShape{2, 1, 32}, AttentionShape{8, 2, 64}, AttentionShape{6, 2, 96},
              AttentionShape{16, 1, 128}, AttentionShape{20, 1, 32}, AttentionShape{4, 4, 128}})
            for (const std::int64_t rows : {1, 7, 16, 45}) {
                expectNearProcessor(card(), processor(), type, shape, {}, 1200, 700, rows, 1);
                expectNearProcessor(card(), processor(), type, shape, window(300), 512, 700, rows,
                                    4);
                expectNearProcessor(card(), processor(), type, shape, bothWays(300), 768, 700, rows,
                                    1);
            }
}

TEST_F(CardAttention, AgreesWithTheProcessorInALongContext) {
    for (const std::int64_t rows : {1, 16})
        expectNearProcessor(card(), processor(), ElementType::F16, {2, 1, 32}, {}, 20000, 19900,
                            rows, 1);
}

// ---- the same bits everywhere

struct BitsCase {
    AttentionShape shape;
    AttentionSpan span;
    std::int64_t capacity;
};

TEST_F(CardAttention, ARowHasTheSameBitsInEveryCall) {
    const std::int64_t last = 4400;
    const BitsCase cases[] = {{{32, 2, 128}, {}, last},         {{32, 2, 128}, window(2048), 2560},
                              {{8, 2, 64}, {}, last},           {{8, 2, 64}, window(256), 512},
                              {{16, 4, 128}, window(300), 512}, {{6, 2, 96}, window(2048), 2304},
                              {{4, 1, 32}, window(1000), 1280}};
    std::vector<std::int64_t> positions = {0,   1,   63,  64,   255,  256, 257,
                                           511, 512, 513, 2047, 2048, 4095};
    std::mt19937 random(kSeed);
    for (int i = 0; i < 4; ++i) positions.push_back(random() % 4200);
    for (const auto& [shape, span, capacity] : cases) {
        const std::int64_t columns = std::int64_t(shape.heads) * shape.headSize,
                           kvColumns = std::int64_t(shape.kvHeads) * shape.headSize;
        const Rows q = noise(last, columns, kSeed), k = noise(last, kvColumns, kSeed + 1),
                   v = noise(last, kvColumns, kSeed + 2);
        for (const ElementType type : kTypes)
            for (const std::int64_t p : positions) {
                const std::int64_t first16 = std::max<std::int64_t>(0, p - 7),
                                   first200 = std::max<std::int64_t>(0, p - 100),
                                   end = first200 + 200;
                Cache cache(card(), type, capacity, shape);
                cache.store(k, v, std::max<std::int64_t>(0, end - capacity), end);
                const Rows one = attend(card(), cache, shape, span, q, p, 1);
                const Rows sixteen = attend(card(), cache, shape, span, q, first16, 16);
                const Rows many = attend(card(), cache, shape, span, q, first200, 200);
                for (const float x : one.values) ASSERT_TRUE(std::isfinite(x));
                EXPECT_EQ(difference(rowsOf(sixteen, p - first16, 1), one), "")
                    << "16 rows, " << nameOf(type) << ", " << shape.heads << " heads of "
                    << shape.headSize << ", position " << p << ", left " << span.left;
                EXPECT_EQ(difference(rowsOf(many, p - first200, 1), one), "")
                    << "200 rows, " << nameOf(type) << ", " << shape.heads << " heads of "
                    << shape.headSize << ", position " << p << ", left " << span.left;
            }
    }
}

TEST_F(CardAttention, EveryDivisionOfTheWorkGivesTheSameBits) {
    // As much scratch as the backend has: tiles are the units where the context is short. Just
    // enough for splits: seldom so. Without any: the kernel for many rows does it all.
    struct Case {
        BitsCase bits;
        std::vector<std::int64_t> positions;
    };
    const std::vector<std::int64_t> few = {0, 60, 250, 500, 1500, 2900};
    const Case cases[] = {{{{32, 2, 128}, {}, 3000}, few},
                          {{{32, 8, 128}, bothWays(2048), 2560}, few},
                          {{{8, 2, 64}, window(256), 512}, few},
                          {{{6, 2, 96}, bothWays(300), 768}, few},
                          // More splits than a merge takes at a time.
                          {{{4, 1, 32}, {}, 9000}, {8190, 8900}}};
    for (const auto& [bits, positions] : cases) {
        const auto& [shape, span, capacity] = bits;
        const std::int64_t columns = std::int64_t(shape.heads) * shape.headSize,
                           kvColumns = std::int64_t(shape.kvHeads) * shape.headSize,
                           last = positions.back() + 16;
        const Rows q = noise(last, columns, kSeed), k = noise(last, kvColumns, kSeed + 1),
                   v = noise(last, kvColumns, kSeed + 2);
        for (const ElementType type : kTypes)
            for (const std::int64_t rows : {1, 5, 16}) {
                const std::int64_t seen =
                    std::min(capacity, std::min(span.left, capacity) + span.right + rows);
                const std::int64_t queryTiles = (rows * (shape.heads / shape.kvHeads) + 15) / 16;
                const std::int64_t states =
                    (seen / (kSplitTiles * kKeyTile) + 2) * shape.kvHeads * queryTiles;
                Attention whole = withScratch(Attention::kScratchBytes),
                          splits = withScratch(states * stateBytes(shape.headSize)),
                          onlySplits = withScratch(Attention::kScratchBytes, 0),
                          mostTiles = withScratch(Attention::kScratchBytes, 100),
                          none = withScratch(256);
                for (const std::int64_t p : positions) {
                    Cache cache(card(), type, capacity, shape);
                    cache.store(k, v, std::max<std::int64_t>(0, p + rows - capacity), p + rows);
                    const CardRows in(card(), rowsOf(q, p, rows));
                    const CardNumbers at(card(), ascending(p, rows));
                    const auto result = [&](Attention& attention) {
                        const CardRows out(card(), rows, columns);
                        EXPECT_TRUE(attention
                                        .attention(in.tensor(), cache.layer, at.tensor(), shape,
                                                   span, out.tensor())
                                        .ok());
                        return out.read();
                    };
                    const Rows expected = result(whole);
                    for (const float x : expected.values) ASSERT_TRUE(std::isfinite(x));
                    EXPECT_EQ(difference(result(onlySplits), expected), "")
                        << "splits alone, " << nameOf(type) << ", " << rows << " rows at " << p;
                    EXPECT_EQ(difference(result(mostTiles), expected), "")
                        << "tiles alone, " << nameOf(type) << ", " << rows << " rows at " << p;
                    EXPECT_EQ(difference(result(splits), expected), "")
                        << "splits, " << nameOf(type) << ", " << rows << " rows at " << p << ", "
                        << shape.heads << " heads of " << shape.headSize;
                    EXPECT_EQ(difference(result(none), expected), "")
                        << "many rows, " << nameOf(type) << ", " << rows << " rows at " << p << ", "
                        << shape.heads << " heads of " << shape.headSize;
                }
            }
    }
}

TEST_F(CardAttention, TheLargestValuesStayInTheRangeOfHalves) {
    // Equal scores: a tile's weights add up to as much as they can, and so do those of a split.
    const AttentionShape shape{4, 1, 64};
    const std::int64_t last = 700;
    const Rows q(last, 256), k(last, 64);
    Rows v(last, 64);
    for (float& x : v.values) x = 65504.0f;
    Cache cache(card(), ElementType::F16, last, shape);
    cache.store(k, v, 0, last);
    const CardRows in(card(), rowsOf(q, last - 16, 16)), out(card(), 16, 256);
    const CardNumbers at(card(), ascending(last - 16, 16));
    for (const int tileItems : {0, 100}) {
        for (const std::int64_t bytes : {std::int64_t(256), Attention::kScratchBytes}) {
            Attention attention = withScratch(bytes, tileItems);
            EXPECT_TRUE(
                attention.attention(in.tensor(), cache.layer, at.tensor(), shape, {}, out.tensor())
                    .ok());
            // The last tile is not seen as a whole, so that its sum is rounded.
            for (const float x : out.read().values)
                ASSERT_NEAR(x, 65504.0f, 65504.0f / 2048) << tileItems;
        }
    }
}

TEST_F(CardAttention, ARecordedCallServesOtherPositions) {
    const AttentionShape shape{32, 2, 128};
    const std::int64_t last = 4000, columns = 4096, rows = 16;
    const Rows q = noise(last, columns, kSeed), k = noise(last, 256, kSeed + 1),
               v = noise(last, 256, kSeed + 2);
    Cache cache(card(), ElementType::F16, last, shape);
    cache.store(k, v, 0, last);
    CardRows in(card(), rows, columns);
    const CardRows out(card(), rows, columns);
    const CardNumbers at(card(), ascending(0, rows));
    for (const std::int64_t p : {10, 3900, 0, 2040, 700}) {
        in.write(rowsOf(q, p, rows));
        const IntRows now = ascending(p, rows);
        card().copyIn(std::as_bytes(std::span(now.values)), at.tensor());
        EXPECT_TRUE(card().replay("attention", [&] {
            card().attention(in.tensor(), cache.layer, at.tensor(), shape, {}, out.tensor());
            return true;
        }));
        EXPECT_EQ(difference(out.read(), attend(card(), cache, shape, {}, q, p, rows)), "") << p;
    }
    EXPECT_EQ(card().recordedSteps(), 1u);
}

// ---- before attention

TEST_F(CardAttention, RopeIsRightAtEveryPosition) {
    // Sine and cosine are within 1e-7 and rounded products add as much again.
    const struct {
        RopePairing pairing;
        double theta;
        int size, axes;
    } cases[] = {{RopePairing::Adjacent, 500000, 128, 1}, {RopePairing::Halves, 500000, 128, 1},
                 {RopePairing::Halves, 10000, 96, 1},     {RopePairing::Adjacent, 10000, 96, 2},
                 {RopePairing::Adjacent, 10000, 64, 2},   {RopePairing::Halves, 10000, 32, 1}};
    for (const auto& each : cases) {
        const RopeSpec spec{each.pairing, each.theta, each.size, each.axes};
        std::vector<std::int32_t> numbers = {0,    1,    2,     3,      511,    512,
                                             2047, 4097, 65535, 131070, 131071, 262143};
        while (numbers.size() % std::size_t(each.axes) != 0) numbers.push_back(7);
        IntRows positions(numbers, each.axes);
        const std::int64_t rows = std::int64_t(numbers.size()) / each.axes;
        Rows x = plainNoise(rows, 3 * each.size, kSeed);
        for (const std::int64_t gap : {0, 5}) {
            const CardRows turned(card(), x, gap);
            card().rope(turned.tensor(), CardNumbers(card(), positions).tensor(), spec);
            Rows expected = x;
            processor().rope(expected.tensor(), positions.tensor(), spec);
            EXPECT_EQ(tooFar(turned.read(), expected, 0, 1.5e-6), "")
                << each.size << ", " << each.axes << " axes, seed " << kSeed;
            EXPECT_TRUE(turned.gapsUntouched());
        }
    }
}

TEST_F(CardAttention, StoresTheProcessorsBits) {
    for (const ElementType type : kTypes)
        for (const AttentionShape& shape : {AttentionShape{1, 1, 32}, AttentionShape{2, 2, 128},
                                            AttentionShape{3, 3, 96}, AttentionShape{8, 8, 64}}) {
            const std::int64_t columns = std::int64_t(shape.kvHeads) * shape.headSize;
            Rows k = noise(5, columns, kSeed), v = noise(5, columns, kSeed + 1, 30.0f);
            std::fill_n(k.row(1), 32, 0.0f);
            k.row(2)[0] = 1e30f; // beyond a half
            v.row(2)[5] = 1e-7f;
            v.row(3)[7] = -1e-5f;
            v.row(4)[1] = INFINITY;
            IntRows positions({9, 4, 2, 16, 15});
            Cache onCard(card(), type, 8, shape), here(processor(), type, 8, shape);
            processor().kvWrite(here.layer, k.tensor(), v.tensor(), positions.tensor());
            for (const std::int64_t gap : {0, 3}) {
                const CardRows ks(card(), k, gap), vs(card(), v, gap);
                card().kvWrite(onCard.layer, ks.tensor(), vs.tensor(),
                               CardNumbers(card(), positions).tensor());
                EXPECT_TRUE(onCard.bytes() == here.bytes())
                    << nameOf(type) << ", " << columns << " columns, seed " << kSeed;
            }
        }
}

// ---- the fused half layer

TEST_F(CardAttention, AttendGivesTheBitsOfItsParts) {
    const std::int64_t width = 512;
    const struct {
        AttentionShape shape;
        AttentionSpan span;
        std::int64_t capacity;
        bool gated, normed;
        int pairing; // -1: no rotation
        std::vector<std::int64_t> firsts = {0, 60, 500, 600};
    } cases[] = {{{8, 2, 64}, window(256), 512, true, true, 0},
                 {{32, 2, 128}, {}, 768, true, true, -1},
                 {{32, 8, 128}, bothWays(300), 768, false, true, 1},
                 {{6, 2, 96}, window(300), 512, true, false, 1},
                 {{4, 1, 32}, {}, 768, true, true, 0},
                 // More tiles than the merge takes at once, and where splits take their place.
                 {{32, 2, 128}, window(2048), 2560, true, true, 0, {2040, 2900, 2930}},
                 {{32, 2, 128}, {}, 2560, true, true, -1, {2100}}};
    for (const ElementType type : kTypes)
        for (const auto& each : cases) {
            const AttentionShape& shape = each.shape;
            const std::int64_t last = each.firsts.back() + 100;
            const std::int64_t columns = std::int64_t(shape.heads) * shape.headSize,
                               kvColumns = std::int64_t(shape.kvHeads) * shape.headSize;
            const auto matrix = [&](std::int64_t rows, std::int64_t from, unsigned seed) {
                return randomWeight(scalarType(QuantType::Q8_0), rows, from, seed).on(card());
            };
            const auto wq = matrix(columns, width, 1), wk = matrix(kvColumns, width, 2),
                       wv = matrix(kvColumns, width, 3), wg = matrix(columns, width, 4),
                       wo = matrix(64, columns, 5);
            const CardRows qGamma(card(), plainNoise(1, shape.headSize, 6)),
                kGamma(card(), plainNoise(1, shape.headSize, 7));
            const RopeSpec rope{each.pairing == 1 ? RopePairing::Halves : RopePairing::Adjacent,
                                500000, shape.headSize, 1};
            const Rows k = plainNoise(last, kvColumns, kSeed), v = plainNoise(last, kvColumns, 8);
            for (const std::int64_t rows : {1, 5, 16})
                for (const std::int64_t first : each.firsts) {
                    struct Run {
                        std::vector<std::byte> cache;
                        Rows product{0, 0};
                    } runs[2];
                    for (int fused = 0; fused < 2; ++fused) {
                        Cache cache(card(), type, each.capacity, shape);
                        cache.store(k, v, std::max<std::int64_t>(0, first - each.capacity), first);
                        const CardRows x(card(), plainNoise(rows, width, 9)),
                            qs(card(), rows, columns), gates(card(), rows, columns),
                            outs(card(), rows, columns), ks(card(), rows, kvColumns),
                            vs(card(), rows, kvColumns), y(card(), rows, 64);
                        const CardNumbers at(card(), ascending(first, rows));
                        auto made = card().makeActivations(rows, std::max(width, columns));
                        ASSERT_TRUE(made.ok());
                        engine::Activations& activations = **made;
                        card().quantize(x.tensor(), activations);
                        AttentionStep step;
                        step.q = wq.get();
                        step.k = wk.get();
                        step.v = wv.get();
                        step.gate = each.gated ? wg.get() : nullptr;
                        step.qNorm.eps = step.kNorm.eps = 1e-5f;
                        if (each.normed) {
                            step.qNorm.gamma = qGamma.tensor();
                            step.kNorm.gamma = kGamma.tensor();
                        }
                        step.rope = each.pairing < 0 ? nullptr : &rope;
                        step.positions = at.tensor();
                        step.cache = cache.layer;
                        step.shape = shape;
                        step.span = each.span;
                        step.qRows = qs.tensor();
                        step.gateRows = gates.tensor();
                        step.outRows = outs.tensor();
                        step.kRows = ks.tensor();
                        step.vRows = vs.tensor();
                        if (fused == 1)
                            card().attend(step, activations, activations);
                        else
                            card().engine::Backend::attend(step, activations, activations);
                        const MatmulJob job[] = {{wo.get(), y.tensor()}};
                        card().matmul(job, activations);
                        runs[fused].product = y.read();
                        runs[fused].cache = cache.bytes();
                    }
                    for (const float x : runs[0].product.values) ASSERT_TRUE(std::isfinite(x));
                    EXPECT_EQ(difference(runs[1].product, runs[0].product), "")
                        << nameOf(type) << ", " << shape.heads << " heads of " << shape.headSize
                        << ", " << rows << " rows at " << first;
                    EXPECT_TRUE(runs[1].cache == runs[0].cache)
                        << nameOf(type) << ", " << shape.heads << " heads of " << shape.headSize
                        << ", " << rows << " rows at " << first;
                }
        }
}

TEST_F(CardAttention, AttendWithoutRoomForStatesGivesTheSameBits) {
    const AttentionShape shape{32, 2, 128};
    const std::int64_t capacity = 1024, first = 700, columns = 4096, kvColumns = 256;
    const Rows k = plainNoise(first, kvColumns, kSeed), v = plainNoise(first, kvColumns, 2);
    const auto gate = randomWeight(scalarType(QuantType::Q8_0), 16, 256, 3).on(card());
    const RopeSpec rope{RopePairing::Adjacent, 500000, 128, 1};
    for (const std::int64_t rows : {1, 16}) {
        // What the products would leave: one segment, in any order.
        const CardRows q(card(), plainNoise(rows, columns, 4)),
            newK(card(), plainNoise(rows, kvColumns, 5)),
            newV(card(), plainNoise(rows, kvColumns, 6)),
            gates(card(), plainNoise(rows, columns, 7));
        const auto sums = [&](const CardRows& of) {
            return PartialSums{reinterpret_cast<const float*>(of.tensor().data), 1,
                               static_cast<int>(of.tensor().columns / 16), static_cast<int>(rows)};
        };
        const CardNumbers at(card(), ascending(first, rows));
        Rows results[2] = {{0, 0}, {0, 0}};
        for (const bool room : {false, true}) {
            Cache cache(card(), ElementType::F16, capacity, shape);
            cache.store(k, v, 0, first);
            const CardRows qs(card(), rows, columns), outs(card(), rows, columns),
                result(card(), rows, columns);
            Attention attention = withScratch(room ? Attention::kScratchBytes : 256);
            AttentionStep step;
            step.gate = gate.get();
            step.qNorm.eps = step.kNorm.eps = 1e-5f;
            step.rope = &rope;
            step.positions = at.tensor();
            step.cache = cache.layer;
            step.shape = shape;
            step.qRows = qs.tensor();
            step.outRows = outs.tensor();
            QuantizedRows out;
            out.floats = reinterpret_cast<float*>(result.tensor().data);
            out.floatStride = columns;
            EXPECT_TRUE(
                attention.attend(step, {sums(q), sums(newK), sums(newV), sums(gates)}, out).ok());
            results[room] = result.read();
        }
        for (const float x : results[0].values) ASSERT_TRUE(std::isfinite(x));
        EXPECT_EQ(difference(results[1], results[0]), "") << rows;
    }
}

// ---- groups

Rows attendInGroups(Backend& backend, const AttentionShape& shape, const Rows& q, const Rows& k,
                    const Rows& v, const std::vector<std::int32_t>& starts) {
    const CardRows qs(backend, q), ks(backend, k), vs(backend, v), out(backend, q.rows, q.columns);
    backend.groupAttention(qs.tensor(), ks.tensor(), vs.tensor(), shape, starts, out.tensor());
    return out.read();
}

TEST_F(CardAttention, GroupsAgreeWithTheProcessor) {
    std::vector<std::int32_t> manyStarts{0};
    for (int i = 0; i < 700; ++i) manyStarts.push_back(manyStarts.back() + i % 3);
    const std::vector<std::int32_t> groupings[] = {
        {0, 1, 66, 66, 230, 231}, {0, 500}, {0, 128, 256, 320, 577}, {0, 0, 63, 63}, manyStarts};
    for (const int size : {32, 64, 96, 128})
        for (const auto& starts : groupings) {
            const AttentionShape shape{3, 3, size};
            const Rows q = plainNoise(starts.back(), 3 * size, kSeed),
                       k = plainNoise(starts.back(), 3 * size, kSeed + 1),
                       v = plainNoise(starts.back(), 3 * size, kSeed + 2);
            EXPECT_EQ(tooFar(attendInGroups(card(), shape, q, k, v, starts),
                             attendInGroups(processor(), shape, q, k, v, starts), 0, kNear),
                      "")
                << "heads of " << size << ", " << starts.size() - 1 << " groups, seed " << kSeed;
        }
}

TEST_F(CardAttention, GroupsSeeExactlyThemselves) {
    const std::vector<std::int32_t> starts{0, 1, 65, 129, 129, 400, 1300};
    for (const int size : {32, 64, 96, 128}) {
        const AttentionShape shape{2, 2, size};
        const Rows q(1300, 2 * size), k = plainNoise(1300, 2 * size, kSeed);
        Rows v(1300, 2 * size), expected(1300, 2 * size);
        for (std::int64_t r = 0; r < 1300; ++r) v.row(r)[r % size] = v.row(r)[size + r % size] = 1;
        for (std::size_t g = 0; g + 1 < starts.size(); ++g)
            for (std::int64_t r = starts[g]; r < starts[g + 1]; ++r)
                for (int head = 0; head < 2; ++head)
                    addShares(expected.row(r) + head * size, size, starts[g], starts[g + 1]);
        EXPECT_EQ(tooFar(attendInGroups(card(), shape, q, k, v, starts), expected, 1e-5), "")
            << size;
    }
}

TEST_F(CardAttention, AGroupHasTheSameBitsAloneAndHeadByHead) {
    const AttentionShape shape{4, 4, 96};
    const std::vector<std::int32_t> starts{0, 37, 537, 600};
    const Rows q = noise(600, 384, kSeed), k = noise(600, 384, kSeed + 1),
               v = noise(600, 384, kSeed + 2);
    const Rows together = attendInGroups(card(), shape, q, k, v, starts);
    const Rows alone = attendInGroups(card(), shape, rowsOf(q, 37, 500), rowsOf(k, 37, 500),
                                      rowsOf(v, 37, 500), {0, 500});
    EXPECT_EQ(difference(rowsOf(together, 37, 500), alone), "");

    // Room for the keys of one head at a time.
    Attention small = withScratch(2 * 600 * 96 * 2 + 256);
    const CardRows qs(card(), q), ks(card(), k), vs(card(), v), out(card(), 600, 384);
    EXPECT_TRUE(
        small.groupAttention(qs.tensor(), ks.tensor(), vs.tensor(), shape, starts, out.tensor())
            .ok());
    EXPECT_EQ(difference(out.read(), together), "");
    Attention tiny = withScratch(256);
    const auto refused =
        tiny.groupAttention(qs.tensor(), ks.tensor(), vs.tensor(), shape, starts, out.tensor());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, engine::ErrorCode::Unsupported);

    // The result may take the queries' place.
    card().groupAttention(qs.tensor(), ks.tensor(), vs.tensor(), shape, starts, qs.tensor());
    EXPECT_EQ(difference(qs.read(), together), "");
}

// 16 rows of the full-size model at its longest context, as kScratchBytes says.
TEST(AttentionScratch, GrowsWithTheContext) {
    const AttentionShape shape{32, 2, 128};
    EXPECT_EQ(Attention::scratchBytes(shape, 131072), 16448 * 4224);
    EXPECT_LE(Attention::scratchBytes(shape, 131072), Attention::kScratchBytes);
    EXPECT_LE(Attention::scratchBytes(shape, 32768), Attention::kLeastScratchBytes);
    EXPECT_EQ(Attention::scratchBytes({32, 2, 40}, 4096), 0); // refused when it is computed
}

// ---- what the card does not do

TEST(CardAttentionLimits, OtherHeadsAndFloatCachesAreRefusedInWords) {
    for (const bool oddHead : {true, false}) {
        auto backend = makeCard();
        ASSERT_TRUE(backend);
        const AttentionShape shape{2, 1, oddHead ? 40 : 32};
        const std::int64_t columns = 2 * shape.headSize;
        Cache cache(*backend, oddHead ? ElementType::F16 : ElementType::F32, 64, shape);
        const CardRows q(*backend, noise(1, columns)), out(*backend, 1, columns);
        const CardNumbers at(*backend, ascending(0, 1));
        backend->attention(q.tensor(), cache.layer, at.tensor(), shape, {}, out.tensor());
        const auto done = backend->synchronize();
        ASSERT_FALSE(done.ok());
        EXPECT_EQ(done.error().code, engine::ErrorCode::Unsupported);
    }
}

} // namespace
} // namespace cuda::test

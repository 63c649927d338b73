// The 8-bit form of rows, field by field against the processor's own, and the fused steps against
// the operations that they are made of, bit for bit.

#include "card_rows.h"
#include "older_cards.h"

#include "cuda/cuda_activations.h"
#include "tests/engine/backend/scalar_int8.h"

namespace cuda::test {
namespace {

using engine::Activations;
using engine::ActivationUnit;
using engine::NormSpec;
using engine::QuantType;
using engine::Weight;
using engine::WeightSource;
using engine::WeightUse;

// The records of so many rows, as words.
Tensor recordWords(Activations& a, std::int64_t rows, std::int64_t columns) {
    const std::int64_t words =
        (rows + 7) / 8 * ((columns + 255) / 256) * std::int64_t(sizeof(ActivationTile)) / 4;
    return {reinterpret_cast<std::byte*>(static_cast<CudaActivations&>(a).tiles()),
            ElementType::I32, 1, words, words * 4};
}

// Poisoned, so that whatever is not written stays visible.
std::unique_ptr<Activations> makeActivations(Backend& card, std::int64_t rows,
                                             std::int64_t columns) {
    auto made = card.makeActivations(rows, columns);
    EXPECT_TRUE(made.ok());
    const Tensor words = recordWords(**made, rows, columns);
    card.copyIn(std::vector<std::byte>(std::size_t(words.rowBytes()), std::byte(0xee)), words);
    return std::move(*made);
}

// The records of the last quantize.
std::vector<ActivationTile> readRecords(Backend& card, Activations& a) {
    const Tensor words = recordWords(a, a.rows, a.columns);
    std::vector<ActivationTile> tiles(std::size_t(words.rowBytes()) / sizeof(ActivationTile));
    const auto done = card.copyOut(words, std::as_writable_bytes(std::span(tiles)));
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    return tiles;
}

class Quantize : public testing::Test {
protected:
    static void SetUpTestSuite() { s_card = makeCard().release(); }
    static void TearDownTestSuite() { delete std::exchange(s_card, nullptr); }
    void SetUp() override { ASSERT_NE(s_card, nullptr); }
    void TearDown() override {
        const auto done = card().synchronize();
        EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    }
    CudaBackend& card() { return *s_card; }

private:
    static inline CudaBackend* s_card = nullptr;
};

// What a record must hold of a row, by int8_format.h and formats.h, from the processor's unit.
void expectRow(const ActivationTile& tile, int g, const ActivationUnit& unit,
               const std::string& what) {
    const auto paired = [](int j) { return (j & ~3) | (j & 1) << 1 | (j & 2) >> 1; };
    for (int k = 0; k < 256; ++k) {
        const int group = k / 64, j = k % 64 / 16, t = k % 16 / 4, b = k % 4;
        ASSERT_EQ(tile.q[group][4 * g + t][4 * j + b], unit.q[k]) << what << ", column " << k;
    }
    for (int group = 0; group < 4; ++group)
        ASSERT_EQ(std::bit_cast<int>(tile.dx[g][group]), std::bit_cast<int>(unit.dx[group]))
            << what << ", group " << group;
    ASSERT_EQ(std::bit_cast<int>(tile.ds32[g]), std::bit_cast<int>(unit.ds32)) << what;
    ASSERT_EQ(std::bit_cast<int>(tile.ds16[g]), std::bit_cast<int>(unit.ds16)) << what;
    for (int block = 0; block < 16; ++block) {
        const int lane = 4 * g + block / 4, b = block % 4;
        ASSERT_EQ(128 * tile.high16[lane][b] + tile.low16[lane][b], unit.s16[paired(block)])
            << what << ", block of 16 " << block;
        const int s32 = block < 8 ? unit.s32[paired(block)] : 0;
        ASSERT_EQ(128 * tile.high32[lane][b] + tile.low32[lane][b], s32)
            << what << ", block of 32 " << block;
        ASSERT_GE(std::min(tile.low16[lane][b], tile.low32[lane][b]), 0) << what;
    }
    for (int block = 0; block < 8; ++block) {
        int sum = 0;
        for (int k = 0; k < 32; ++k) sum += unit.q[32 * block + k];
        ASSERT_EQ(tile.sum32[g][block], sum) << what << ", sum " << block;
    }
}

void expectRecords(const std::vector<ActivationTile>& tiles, const Rows& x) {
    const auto processor = makeProcessor();
    const std::int64_t units = (x.columns + 255) / 256, perUnit = (x.rows + 7) / 8;
    ASSERT_EQ(std::int64_t(tiles.size()), units * perUnit);
    for (std::int64_t row = 0; row < x.rows; ++row) {
        std::vector<ActivationUnit> expected(std::size_t(units), ActivationUnit{});
        processor->kernels().quantizeRow(x.row(row), x.columns, expected.data(), 1, units);
        for (std::int64_t u = 0; u < units; ++u)
            expectRow(tiles[std::size_t(u * perUnit + row / 8)], int(row % 8),
                      expected[std::size_t(u)],
                      std::to_string(x.rows) + "x" + std::to_string(x.columns) + ", row " +
                          std::to_string(row) + ", unit " + std::to_string(u));
    }
}

bool sameRecords(const std::vector<ActivationTile>& a, const std::vector<ActivationTile>& b) {
    return a.size() == b.size() &&
           std::memcmp(a.data(), b.data(), a.size() * sizeof(ActivationTile)) == 0;
}

TEST_F(Quantize, RecordsHoldTheIntegersOfTheProcessor) {
    for (const std::int64_t rows : {1, 5, 8, 9, 16, 33})
        for (const std::int64_t columns : {32, 256, 288, 1504, 6656}) {
            Rows x = noise(rows, columns, kSeed + unsigned(rows));
            auto a = makeActivations(card(), 40, 6656);
            CardRows onCard(card(), x, rows % 2 ? 0 : 3);
            card().quantize(onCard.tensor(), *a);
            EXPECT_EQ(a->rows, rows);
            EXPECT_EQ(a->columns, columns);
            expectRecords(readRecords(card(), *a), x);
        }
}

TEST_F(Quantize, ExtremesFollowTheRules) {
    Rows x = noise(12, 768);
    std::fill_n(x.row(0), 768, 0.0f);
    std::fill_n(x.row(1), 768, 3.0e38f);
    for (int k = 0; k < 768; ++k) x.row(2)[k] = k % 2 ? 127.0f : -127.0f;
    std::fill_n(x.row(3), 768, 1e-42f);
    std::fill_n(x.row(4), 768, 1e-45f); // its scale becomes zero
    x.row(5)[7] = INFINITY;
    x.row(6)[9] = NAN;
    x.row(7)[300] = -INFINITY;
    std::fill_n(x.row(8), 768, -127.0f);
    std::fill_n(x.row(9), 768, NAN);
    for (int k = 0; k < 768; ++k) x.row(10)[k] = float(k % 255 - 127) + 0.5f; // ties
    for (int k = 0; k < 64; ++k) x.row(11)[64 + k] = k % 2 ? INFINITY : -INFINITY;
    auto a = makeActivations(card(), 12, 768);
    card().quantize(CardRows(card(), x).tensor(), *a);
    expectRecords(readRecords(card(), *a), x);
}

// Each fused operation gives the records of its parts, through any form of the activations.
TEST_F(Quantize, FusedFormsAreTheirPartsThenTheIntegers) {
    for (const std::int64_t rows : {1, 8, 17, 70})
        for (const std::int64_t columns : {96, 515, 1536, 8960}) {
            const Rows x = noise(rows, columns, kSeed), y = noise(rows, columns, 2);
            const Rows gamma = noise(1, columns, 3), beta = noise(1, columns, 4);
            auto fused = makeActivations(card(), rows, columns),
                 apart = makeActivations(card(), rows, columns);
            CardRows a(card(), x, 1), b(card(), x, 1), other(card(), y), scratch(card(), x);
            CardRows g(card(), gamma), shift(card(), beta);
            const auto expectSame = [&](const char* what) {
                EXPECT_TRUE(sameRecords(readRecords(card(), *fused), readRecords(card(), *apart)))
                    << what << " of " << rows << "x" << columns;
            };

            card().layerNormQuantize(a.tensor(), g.tensor(), shift.tensor(), 1e-5f,
                                     scratch.tensor(), *fused);
            card().layerNorm(b.tensor(), g.tensor(), shift.tensor(), 1e-5f, scratch.tensor());
            card().quantize(scratch.tensor(), *apart);
            expectSame("layer norm");

            card().swigluQuantize(a.tensor(), other.tensor(), *fused);
            card().swiglu(b.tensor(), other.tensor(), scratch.tensor());
            card().quantize(scratch.tensor(), *apart);
            expectSame("swiglu");

            a.write(x);
            card().gateQuantize(a.tensor(), other.tensor(), *fused);
            card().sigmoidGate(b.tensor(), other.tensor());
            card().quantize(b.tensor(), *apart);
            expectSame("gate");

            a.write(x);
            b.write(x);
            card().geluQuantize(a.tensor(), *fused);
            card().gelu(b.tensor());
            card().quantize(b.tensor(), *apart);
            expectSame("gelu");
        }
}

TEST_F(Quantize, NormQuantizeIsTheNormThenTheIntegers) {
    for (const std::int64_t rows : {1, 5, 8, 9, 16, 70})
        for (const std::int64_t columns : {96, 515, 6656}) {
            Rows x = noise(rows, columns, kSeed), gamma = noise(1, columns, 2);
            CardRows onCard(card(), x, 1), g(card(), gamma), normed(card(), rows, columns);
            auto fused = makeActivations(card(), rows, columns),
                 apart = makeActivations(card(), rows, columns);
            card().normQuantize(onCard.tensor(), g.tensor(), 1e-5f, normed.tensor(), *fused);
            card().rmsNorm(onCard.tensor(), g.tensor(), 1e-5f, normed.tensor());
            card().quantize(normed.tensor(), *apart);
            EXPECT_TRUE(sameRecords(readRecords(card(), *fused), readRecords(card(), *apart)))
                << rows << "x" << columns;
            expectRecords(readRecords(card(), *fused), normed.read());
        }
}

// ---- fused steps

// A matrix of random blocks.
std::unique_ptr<Weight> makeWeight(Backend& card, QuantType type, std::int64_t rows,
                                   std::int64_t columns, unsigned seed) {
    for (const engine::test::ScalarType& each : engine::test::scalarTypes())
        if (each.type == type) {
            const auto bytes =
                engine::test::randomBlocks(each, rows * columns / each.blockWeights, seed);
            auto made =
                card.importWeight({"weight", type, rows, columns, bytes}, WeightUse::Matmul);
            EXPECT_TRUE(made.ok());
            return made.ok() ? std::move(*made) : nullptr;
        }
    return nullptr;
}

struct Shape {
    QuantType type;
    std::int64_t width, k; // of the output, of the sum
};
// One, two and six segments; ragged widths; as wide as the fused step takes, and wider.
const Shape kShapes[] = {
    {QuantType::Q4_K, 512, 512},   {QuantType::Q6_K, 520, 4096}, {QuantType::Q4_K, 1003, 19968},
    {QuantType::Q8_0, 6656, 6656}, {QuantType::Q5_0, 8192, 288}, {QuantType::Q4_0, 8448, 256},
    {QuantType::Q4_K, 19968, 256}, // more records of 16 rows than an H200 has multiprocessors
};

TEST_F(Quantize, MatmulAddIsItsParts) {
    for (const Shape& shape : kShapes) {
        const auto weight = makeWeight(card(), shape.type, shape.width, shape.k, kSeed);
        ASSERT_TRUE(weight);
        Rows input = noise(16, shape.k, 3), before = noise(16, shape.width, 4);
        CardRows postGamma(card(), noise(1, shape.width, 5)),
            nextGamma(card(), noise(1, shape.width, 6));
        const NormSpec post{postGamma.tensor(), 1e-8f}, next{nextGamma.tensor(), 1e-5f};
        for (const std::int64_t rows : {1, 5, 8, 9, 16})
            for (int parts = 0; parts < 4; ++parts) {
                const NormSpec* p = parts & 1 ? &post : nullptr;
                const NormSpec* n = parts & 2 ? &next : nullptr;
                const std::int64_t most = std::max(shape.width, shape.k);
                auto fused = makeActivations(card(), 16, most),
                     apart = makeActivations(card(), 16, most);
                CardRows in(card(), rowsOf(input, 0, rows));
                CardRows x(card(), rowsOf(before, 0, rows), parts), y(card(), x.read());
                CardRows scratch(card(), rows, shape.width), tap(card(), rows, shape.width, 1);
                card().quantize(in.tensor(), *fused);
                card().quantize(in.tensor(), *apart);
                const Tensor tapped = p ? tap.tensor() : Tensor(); // with and without
                card().matmulAdd(*weight, *fused, p, x.tensor(), scratch.tensor(), n, *fused,
                                 tapped);
                card().Backend::matmulAdd(*weight, *apart, p, y.tensor(), scratch.tensor(), n,
                                          *apart, {});
                const std::string what = std::to_string(shape.width) + "x" +
                                         std::to_string(shape.k) + ", rows " +
                                         std::to_string(rows) + ", parts " + std::to_string(parts);
                EXPECT_EQ(difference(x.read(), y.read()), "") << what;
                EXPECT_TRUE(x.gapsUntouched() && tap.gapsUntouched()) << what;
                if (p) {
                    EXPECT_EQ(difference(tap.read(), x.read()), "") << what;
                }
                if (!n) continue;
                EXPECT_EQ(fused->columns, shape.width) << what;
                EXPECT_TRUE(sameRecords(readRecords(card(), *fused), readRecords(card(), *apart)))
                    << what;
            }
    }
}

TEST_F(Quantize, MatmulSwigluIsItsParts) {
    for (const Shape& shape : kShapes) {
        const auto gate = makeWeight(card(), shape.type, shape.width, shape.k, kSeed);
        const auto up = makeWeight(card(), QuantType::Q8_0, shape.width, shape.k, kSeed + 1);
        ASSERT_TRUE(gate && up);
        Rows input = noise(16, shape.k, 3);
        for (const std::int64_t rows : {1, 5, 8, 9, 16}) {
            const std::int64_t most = std::max(shape.width, shape.k);
            auto fused = makeActivations(card(), 16, most),
                 apart = makeActivations(card(), 16, most);
            CardRows in(card(), rowsOf(input, 0, rows));
            CardRows gateRows(card(), rows, shape.width), upRows(card(), rows, shape.width);
            card().quantize(in.tensor(), *fused);
            card().quantize(in.tensor(), *apart);
            card().matmulSwiglu(*gate, *up, *fused, gateRows.tensor(), upRows.tensor(), *fused);
            card().Backend::matmulSwiglu(*gate, *up, *apart, gateRows.tensor(), upRows.tensor(),
                                         *apart);
            EXPECT_EQ(fused->columns, shape.width);
            EXPECT_TRUE(sameRecords(readRecords(card(), *fused), readRecords(card(), *apart)))
                << shape.width << "x" << shape.k << ", rows " << rows;
        }
    }
}

struct HalfLayer {
    Rows x{0, 0}, tap{0, 0};
    std::vector<ActivationTile> records;
};
// The end of a half layer and the start of the next, with random norm weights.
HalfLayer halfLayer(CudaBackend& card, const Weight& weight, const Rows& input,
                    const Rows& before) {
    CardRows in(card, input), x(card, before), scratch(card, before.rows, before.columns);
    CardRows gamma(card, noise(1, before.columns, 5)), tap(card, before.rows, before.columns, 1);
    const NormSpec norm{gamma.tensor(), 1e-6f};
    auto a = makeActivations(card, input.rows, std::max(input.columns, before.columns));
    card.quantize(in.tensor(), *a);
    card.matmulAdd(weight, *a, &norm, x.tensor(), scratch.tensor(), &norm, *a, tap.tensor());
    return {x.read(), tap.read(), readRecords(card, *a)};
}

// The paths for few and for many rows give a row the same bits.
TEST_F(Quantize, AHalfLayerDoesNotDependOnTheNumberOfRows) {
    const std::int64_t width = 1536, k = 2048, most = 48;
    const auto weight = makeWeight(card(), QuantType::Q4_K, width, k, kSeed);
    ASSERT_TRUE(weight);
    const Rows input = noise(most, k, 3), before = noise(most, width, 4);
    const HalfLayer all = halfLayer(card(), *weight, input, before);
    for (const auto& [first, rows] : {std::pair{0, 1}, {47, 1}, {3, 16}, {32, 16}, {8, 40}}) {
        const HalfLayer part =
            halfLayer(card(), *weight, rowsOf(input, first, rows), rowsOf(before, first, rows));
        EXPECT_EQ(difference(part.x, rowsOf(all.x, first, rows)), "") << first << " + " << rows;
        EXPECT_EQ(difference(part.tap, part.x), "") << first << " + " << rows;
        if (first % 8 || rows % 8) continue; // whole tiles lie the same way
        for (std::int64_t u = 0; u < width / 256; ++u)
            EXPECT_EQ(std::memcmp(&part.records[std::size_t(u * rows / 8)],
                                  &all.records[std::size_t(u * most / 8 + first / 8)],
                                  std::size_t(rows / 8) * sizeof(ActivationTile)),
                      0)
                << first << " + " << rows << ", unit " << u;
    }
}

// More rows than a step has go through kernels of their own, with the bits of the separate ones.
TEST_F(Quantize, TheEndOfAHalfLayerIsItsParts) {
    const std::int64_t k = 1024;
    for (const std::int64_t width : {96, 1504, 6656}) {
        const auto weight = makeWeight(card(), QuantType::Q4_K, width, k, kSeed);
        ASSERT_TRUE(weight);
        CardRows gamma(card(), noise(1, width, 5));
        const NormSpec norm{gamma.tensor(), 1e-6f};
        for (const std::int64_t rows : {17, 21, 70})
            for (const bool hasPost : {false, true})
                for (const bool hasNext : {false, true}) {
                    const Rows input = noise(rows, k, 3), before = noise(rows, width, 4);
                    CardRows in(card(), input), scratch(card(), rows, width);
                    CardRows x(card(), before, 3), y(card(), before, 3);
                    CardRows tap(card(), rows, width, 1), tapApart(card(), rows, width, 1);
                    const std::int64_t widest = std::max(width, k);
                    auto fused = makeActivations(card(), rows, widest),
                         apart = makeActivations(card(), rows, widest);
                    const NormSpec* const post = hasPost ? &norm : nullptr;
                    const NormSpec* const next = hasNext ? &norm : nullptr;
                    card().quantize(in.tensor(), *fused);
                    card().matmulAdd(*weight, *fused, post, x.tensor(), scratch.tensor(), next,
                                     *fused, tap.tensor());
                    card().quantize(in.tensor(), *apart);
                    card().Backend::matmulAdd(*weight, *apart, post, y.tensor(), scratch.tensor(),
                                              next, *apart, tapApart.tensor());
                    const std::string what = std::to_string(rows) + "x" + std::to_string(width) +
                                             (hasPost ? ", post" : "") + (hasNext ? ", next" : "");
                    EXPECT_EQ(difference(x.read(), y.read()), "") << what;
                    EXPECT_EQ(difference(tap.read(), x.read()), "") << what;
                    EXPECT_EQ(difference(tapApart.read(), x.read()), "") << what;
                    EXPECT_TRUE(x.gapsUntouched()) << what;
                    EXPECT_TRUE(
                        sameRecords(readRecords(card(), *fused), readRecords(card(), *apart)))
                        << what;
                }
    }
}

// Cards without clusters have a kernel of their own for the step.
TEST_F(Quantize, OlderCardsGiveTheSameBits) {
    const KernelSet oldest = oldestKernels();
    auto older = CudaBackend::make(oldest.options);
    ASSERT_TRUE(older.ok()) << older.error().message;
    for (const Shape& shape : kShapes) {
        const auto here = makeWeight(card(), shape.type, shape.width, shape.k, kSeed);
        const auto there = makeWeight(**older, shape.type, shape.width, shape.k, kSeed);
        ASSERT_TRUE(here && there);
        for (const std::int64_t rows : {1, 9}) {
            const Rows input = noise(rows, shape.k, 3), before = noise(rows, shape.width, 4);
            const HalfLayer a = halfLayer(card(), *here, input, before);
            const HalfLayer b = halfLayer(**older, *there, input, before);
            EXPECT_EQ(difference(a.x, b.x), "") << shape.width << "x" << shape.k;
            EXPECT_EQ(difference(b.tap, b.x), "") << shape.width << "x" << shape.k;
            EXPECT_TRUE(sameRecords(a.records, b.records)) << shape.width << "x" << shape.k;
        }
    }
}

} // namespace
} // namespace cuda::test

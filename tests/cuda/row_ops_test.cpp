// Operations on rows against the processor's: look-ups, gathering and copies bit for bit; norms and
// activation functions within a few units of the last place, because their sums run in an order of
// their own and their exponentials are the card's.

#include "card_rows.h"

#include "engine/quant/half.h"
#include "engine/quant/quant_table.h"
#include "tests/engine/backend/scalar_int8.h"

namespace cuda::test {
namespace {

// Sums of squares in another order (a few 1e-7), two roundings more, and the square root halves it.
constexpr double kNormError = 1.5e-6;

class RowOps : public testing::Test {
protected:
    static void SetUpTestSuite() { s_card = makeCard().release(); }
    static void TearDownTestSuite() { delete std::exchange(s_card, nullptr); }
    void SetUp() override {
        ASSERT_NE(s_card, nullptr);
        m_processor = makeProcessor();
    }
    void TearDown() override {
        const auto done = card().synchronize();
        EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    }
    Backend& card() { return *s_card; }
    CpuBackend& processor() { return *m_processor; }

private:
    static inline CudaBackend* s_card = nullptr;
    std::unique_ptr<CpuBackend> m_processor;
};

// Rows of any type, filled with random blocks whose scales are numbers.
std::vector<std::byte> tableBytes(engine::QuantType type, std::int64_t rows, std::int64_t columns) {
    for (const engine::test::ScalarType& each : engine::test::scalarTypes())
        if (each.type == type)
            return engine::test::randomBlocks(each, rows * columns / each.blockWeights, kSeed);
    const Rows values = noise(rows, columns);
    std::vector<std::byte> bytes;
    const auto append = [&](auto number) {
        const auto* p = reinterpret_cast<const std::byte*>(&number);
        bytes.insert(bytes.end(), p, p + sizeof number);
    };
    for (const float v : values.values) {
        if (type == engine::QuantType::F32)
            append(v);
        else if (type == engine::QuantType::F16)
            append(engine::floatToHalf(v));
        else
            append(engine::floatToBfloat(v));
    }
    return bytes;
}

TEST_F(RowOps, EmbedDecodesEveryTypeBitForBit) {
    for (const engine::QuantFormat& format : engine::quantTable()) {
        if (!format.readable()) continue;
        for (const std::int64_t columns :
             {std::int64_t(format.blockWeights), std::int64_t(768),
              format.blockWeights == 256 ? 1280 : std::int64_t(1312)}) {
            const std::int64_t rows = 21;
            const auto bytes = tableBytes(format.type, rows, columns);
            const engine::WeightSource source{"table", format.type, rows, columns, bytes};
            auto onCard = card().importWeight(source, engine::WeightUse::Embedding);
            auto here = processor().importWeight(source, engine::WeightUse::Embedding);
            ASSERT_TRUE(onCard.ok() && here.ok()) << format.name;
            IntRows ids({20, 0, 7, 7, 19, 3, 1, 0, 13});
            Rows expected(9, columns);
            processor().embed(**here, ids.tensor(), expected.tensor());
            for (const std::int64_t gap : {0, 3}) {
                CardRows out(card(), 9, columns, gap);
                card().embed(**onCard, CardNumbers(card(), ids).tensor(), out.tensor());
                EXPECT_EQ(difference(out.read(), expected), "")
                    << format.name << ", " << columns << " columns, seed " << kSeed;
                EXPECT_TRUE(out.gapsUntouched());
            }
        }
    }
}

TEST_F(RowOps, EmbedGivesNoNumbersForIdsThatTheTableLacks) {
    const auto bytes = tableBytes(engine::QuantType::Q8_0, 4, 288);
    auto table = card().importWeight({"table", engine::QuantType::Q8_0, 4, 288, bytes},
                                     engine::WeightUse::Embedding);
    ASSERT_TRUE(table.ok());
    CardRows out(card(), 4, 288);
    card().embed(**table, CardNumbers(card(), IntRows({-1, 3, 4, 0x7fffffff})).tensor(),
                 out.tensor());
    const Rows got = out.read();
    for (int c = 0; c < 288; ++c) {
        EXPECT_TRUE(std::isnan(got.row(0)[c]) && std::isnan(got.row(2)[c]) &&
                    std::isnan(got.row(3)[c]));
        EXPECT_FALSE(std::isnan(got.row(1)[c]));
    }
}

TEST_F(RowOps, GatherInterleavesTheRowsThatAreNamed) {
    for (const std::int64_t n : {1, 4})
        for (const std::int64_t columns : {7, 512}) {
            Rows x = wild(11, columns, kSeed);
            IntRows indices({10, 0, 3, 3, 9, 1, 4, 2}, n);
            Rows expected(8 / n, columns * n);
            processor().gatherRows(x.tensor(), indices.tensor(), expected.tensor());
            CardRows from(card(), x, 5), out(card(), 8 / n, columns * n, 3);
            card().gatherRows(from.tensor(), CardNumbers(card(), indices).tensor(), out.tensor());
            EXPECT_EQ(difference(out.read(), expected), "") << n << " of " << columns;
            EXPECT_TRUE(out.gapsUntouched());
        }
}

TEST_F(RowOps, CopyMovesEveryTypeAndStride) {
    std::mt19937 random(kSeed);
    for (const ElementType type :
         {ElementType::F32, ElementType::F16, ElementType::I32, ElementType::Q8_0})
        for (const std::int64_t rows : {1, 9})
            for (const std::int64_t columns : {32, 96, 4160})
                for (const std::int64_t gapBytes : {0, 2, 4, 34, 1024}) {
                    if (gapBytes % engine::elementBytes(type, type == ElementType::Q8_0 ? 32 : 1))
                        continue;
                    const std::int64_t rowBytes = engine::elementBytes(type, columns);
                    const std::int64_t stride = rowBytes + gapBytes;
                    std::vector<std::byte> bytes(std::size_t(rows * rowBytes));
                    for (std::byte& b : bytes) b = std::byte(random());
                    auto from = card().allocate(rows * stride, "from");
                    auto to = card().allocate(rows * rowBytes, "to");
                    ASSERT_TRUE(from.ok() && to.ok());
                    const Tensor spread{from->data() + gapBytes, type, rows, columns, stride};
                    const Tensor dense{to->data(), type, rows, columns, rowBytes};
                    std::vector<std::byte> got(bytes.size());
                    card().copyIn(bytes, spread);
                    card().copy(spread, dense);
                    ASSERT_TRUE(card().copyOut(dense, got).ok());
                    EXPECT_EQ(got, bytes) << int(type) << " " << columns << " gap " << gapBytes;
                    // And back, into rows that hold something else.
                    card().copyIn(std::vector<std::byte>(bytes.size(), std::byte(0xee)), spread);
                    card().copy(dense, spread);
                    std::fill(got.begin(), got.end(), std::byte(0));
                    ASSERT_TRUE(card().copyOut(spread, got).ok());
                    EXPECT_EQ(got, bytes) << int(type) << " " << columns << " gap " << gapBytes;
                }
}

TEST_F(RowOps, RmsNormAgreesWithTheProcessor) {
    for (const std::int64_t columns :
         {1, 5, 32, 64, 96, 128, 256, 257, 515, 1536, 6656, 8193, 20000})
        for (const std::int64_t rows : {1, 3, 70}) {
            if (rows > 3 && columns > 6656) continue;
            Rows x = noise(rows, columns, kSeed + unsigned(columns)), gamma = noise(1, columns, 2);
            CardRows weights(card(), gamma);
            for (const bool weighted : {true, false})
                for (const std::int64_t gap : {0, 3}) {
                    Rows expected(rows, columns);
                    processor().rmsNorm(x.tensor(), weighted ? gamma.tensor() : Tensor{}, 1e-5f,
                                        expected.tensor());
                    CardRows from(card(), x, gap), out(card(), rows, columns, gap);
                    const Tensor g = weighted ? weights.tensor() : Tensor{};
                    card().rmsNorm(from.tensor(), g, 1e-5f, out.tensor());
                    card().rmsNorm(from.tensor(), g, 1e-5f, from.tensor()); // in place
                    const Rows got = out.read();
                    EXPECT_EQ(tooFar(got, expected, kNormError), "")
                        << rows << "x" << columns << ", gap " << gap;
                    EXPECT_EQ(difference(from.read(), got), "") << rows << "x" << columns;
                    EXPECT_TRUE(out.gapsUntouched() && from.gapsUntouched());
                }
        }
}

TEST_F(RowOps, LayerNormAgreesWithTheProcessor) {
    for (const std::int64_t columns : {5, 256, 257, 1536, 6656})
        for (const std::int64_t rows : {1, 67}) {
            Rows x = noise(rows, columns, kSeed), gamma = noise(1, columns, 2),
                 beta = noise(1, columns, 3);
            for (float& v : x.values) v += 3.0f; // the mean must be taken off
            CardRows cardGamma(card(), gamma), cardBeta(card(), beta);
            for (int parts = 0; parts < 4; ++parts) {
                const bool g = parts & 1, b = parts & 2;
                Rows expected(rows, columns);
                processor().layerNorm(x.tensor(), g ? gamma.tensor() : Tensor{},
                                      b ? beta.tensor() : Tensor{}, 1e-5f, expected.tensor());
                CardRows inOut(card(), x, parts);
                card().layerNorm(inOut.tensor(), g ? cardGamma.tensor() : Tensor{},
                                 b ? cardBeta.tensor() : Tensor{}, 1e-5f, inOut.tensor());
                // The mean's rounding is absolute: it does not shrink with the difference from it,
                // and the weights enlarge it.
                float most = 1.0f;
                for (const float v : gamma.values) most = std::max(most, g ? std::fabs(v) : 0.0f);
                EXPECT_EQ(tooFar(inOut.read(), expected, 3e-6, 1.5e-6 * double(most)), "")
                    << rows << "x" << columns << ", weights " << g << b;
                EXPECT_TRUE(inOut.gapsUntouched());
            }
        }
}

TEST_F(RowOps, NormsDoNotDependOnTheOtherRows) {
    for (const std::int64_t columns : {128, 1536, 6656}) {
        Rows x = noise(80, columns, kSeed), gamma = noise(1, columns, 2),
             beta = noise(1, columns, 3);
        CardRows from(card(), x), rms(card(), 80, columns), layer(card(), 80, columns);
        CardRows added(card(), x), g(card(), gamma), b(card(), beta);
        card().rmsNorm(from.tensor(), g.tensor(), 1e-5f, rms.tensor());
        card().layerNorm(from.tensor(), g.tensor(), b.tensor(), 1e-5f, layer.tensor());
        card().postNormAdd(added.tensor(), from.tensor(), g.tensor(), 1e-5f);
        for (const std::int64_t r : {0, 7, 64, 79}) {
            CardRows one(card(), rowsOf(x, r, 1)), out(card(), 1, columns);
            card().rmsNorm(one.tensor(), g.tensor(), 1e-5f, out.tensor());
            EXPECT_EQ(difference(out.read(), rowsOf(rms.read(), r, 1)), "") << columns;
            card().layerNorm(one.tensor(), g.tensor(), b.tensor(), 1e-5f, out.tensor());
            EXPECT_EQ(difference(out.read(), rowsOf(layer.read(), r, 1)), "") << columns;
            out.write(rowsOf(x, r, 1));
            card().postNormAdd(out.tensor(), one.tensor(), g.tensor(), 1e-5f);
            EXPECT_EQ(difference(out.read(), rowsOf(added.read(), r, 1)), "") << columns;
        }
    }
}

TEST_F(RowOps, PostNormAddIsTheNormThenTheSum) {
    for (const std::int64_t columns : {96, 515, 6656}) {
        Rows x = noise(9, columns, 4), y = noise(9, columns, 5), gamma = noise(1, columns, 6);
        CardRows g(card(), gamma), fused(card(), x, 1), added(card(), y, 2), apart(card(), x);
        CardRows normed(card(), y);
        card().postNormAdd(fused.tensor(), added.tensor(), g.tensor(), 1e-6f);
        card().rmsNorm(normed.tensor(), g.tensor(), 1e-6f, normed.tensor());
        card().add(apart.tensor(), normed.tensor());
        EXPECT_EQ(difference(fused.read(), apart.read()), "") << columns;
        EXPECT_TRUE(fused.gapsUntouched());
    }
}

// Element by element on ordinary numbers and on everything else that floats can be, with and
// without gaps. `apply` works on either backend.
template<class Apply>
void checkElements(Backend& card, CpuBackend& processor, double relative, double absolute,
                   Apply apply) {
    for (const std::int64_t columns : {1, 6, 1024, 5001})
        for (const std::int64_t gap : {0, 1, 4}) {
            Rows x = wild(13, columns, kSeed), y = wild(13, columns, kSeed + 7);
            CardRows cardX(card, x, gap), cardY(card, y, gap);
            apply(card, cardX.tensor(), cardY.tensor());
            apply(processor, x.tensor(), y.tensor());
            EXPECT_EQ(tooFar(cardX.read(), x, relative, absolute), "")
                << columns << " columns, gap " << gap << ", seed " << kSeed;
            EXPECT_EQ(difference(cardY.read(), y), "");
            EXPECT_TRUE(cardX.gapsUntouched());
        }
}

TEST_F(RowOps, AddIsExact) {
    checkElements(card(), processor(), 0, 0, [](Backend& b, Tensor x, Tensor y) { b.add(x, y); });
    checkElements(card(), processor(), 0, 0,
                  [](Backend& b, Tensor x, Tensor y) { b.add(x, y.rowRange(3, 1)); });
}

TEST_F(RowOps, ScalingIsExact) {
    checkElements(card(), processor(), 0, 0,
                  [](Backend& b, Tensor x, Tensor) { b.softcap(x, 0.19f, 0.0f); });
}

// The processor's exponential is within 1 unit of the last place, the card's within 2; below
// e^-86.5 the processor gives 0, and the absolute term stands for what is left there.
TEST_F(RowOps, ActivationFunctionsAgreeWithTheProcessor) {
    checkElements(card(), processor(), 1e-6, 1e-35,
                  [](Backend& b, Tensor x, Tensor y) { b.sigmoidGate(x, y); });
    checkElements(card(), processor(), 1e-6, 1e-35,
                  [](Backend& b, Tensor x, Tensor y) { b.swiglu(x, y, x); });
    checkElements(card(), processor(), 1e-6, 1e-35,
                  [](Backend& b, Tensor x, Tensor) { b.softcap(x, 0.0625f, 20.0f); });
    // 1 + erf(x) leaves little of its digits for x far below zero: a unit of 1 times |x| / 2.
    checkElements(card(), processor(), 1e-6, 2e-6, [](Backend& b, Tensor x, Tensor) { b.gelu(x); });
}

} // namespace
} // namespace cuda::test

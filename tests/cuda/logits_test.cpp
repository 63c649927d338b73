// What is drawn from logits: the very values and indices that the processor finds.

#include "products.h"
#include "weight_noise.h"

namespace cuda::test {
namespace {

constexpr std::int64_t kVocabulary = 202048;

class Logits : public testing::Test {
protected:
    static void SetUpTestSuite() { s_card = makeCard().release(); }
    static void TearDownTestSuite() { delete std::exchange(s_card, nullptr); }
    void SetUp() override { ASSERT_NE(s_card, nullptr); }

    void check(Rows z, const std::string& what, std::int64_t gap = 0) {
        auto processor = makeProcessor();
        CardRows onCard(*s_card, z, gap);
        IntRows ids(std::vector<std::int32_t>(std::size_t(z.rows), -1));
        CardNumbers cardIds(*s_card, ids);
        processor->argmax(z.tensor(), ids.tensor());
        s_card->argmax(onCard.tensor(), cardIds.tensor());
        EXPECT_EQ(cardIds.read(), ids.values) << what << ", argmax, seed " << kSeed;

        for (const std::int64_t n : {1, 5, 64}) {
            if (n > z.columns) continue;
            IntRows topIds(std::vector<std::int32_t>(std::size_t(z.rows * n), -1), n);
            Rows top(z.rows, n);
            CardNumbers cardTopIds(*s_card, topIds);
            CardRows cardTop(*s_card, z.rows, n, gap);
            processor->largest(z.tensor(), top.tensor(), topIds.tensor());
            s_card->largest(onCard.tensor(), cardTop.tensor(), cardTopIds.tensor());
            EXPECT_EQ(cardTopIds.read(), topIds.values)
                << what << ", n " << n << ", seed " << kSeed;
            EXPECT_EQ(difference(cardTop.read(), top), "") << what << ", n " << n;
            EXPECT_TRUE(cardTop.gapsUntouched());
        }
        EXPECT_EQ(difference(onCard.read(), z), "") << what << ": the logits have changed";
    }

    // From the sums of a product as from its rows, by the card; without cap as by the processor.
    void checkHead(const HostWeight& weight, const Rows& x, float scale, float cap,
                   std::int64_t gap) {
        const std::string what = std::to_string(weight.rows) + " x " +
                                 std::to_string(weight.columns) + ", " + std::to_string(x.rows) +
                                 " rows, cap " + std::to_string(cap) + ", seed " +
                                 std::to_string(kSeed);
        auto processor = makeProcessor();
        const auto onCard = weight.on(*s_card), onProcessor = weight.on(*processor);
        auto cardIn = s_card->makeActivations(x.rows, x.columns);
        auto processorIn = processor->makeActivations(x.rows, x.columns);
        ASSERT_TRUE(cardIn.ok() && processorIn.ok());
        CardRows cardX(*s_card, x), zRows(*s_card, x.rows, weight.rows);
        Rows hostX = x, z(x.rows, weight.rows);
        s_card->quantize(cardX.tensor(), **cardIn);
        processor->quantize(hostX.tensor(), **processorIn);

        for (const std::int64_t n : {0, 1, 5, 64}) { // 0: argmax
            const std::int64_t columns = std::max<std::int64_t>(n, 1);
            if (columns > weight.rows) continue;
            const IntRows none(std::vector<std::int32_t>(std::size_t(x.rows * columns), -1),
                               columns);
            CardNumbers ids(*s_card, none), sameIds(*s_card, none);
            CardRows values(*s_card, x.rows, columns, gap), sameValues(*s_card, x.rows, columns);
            const auto wanted = [&](const CardRows& rows) { return n ? rows.tensor() : Tensor(); };
            s_card->matmulLargest(*onCard, **cardIn, scale, cap, zRows.tensor(), wanted(values),
                                  ids.tensor());
            s_card->Backend::matmulLargest(*onCard, **cardIn, scale, cap, zRows.tensor(),
                                           wanted(sameValues), sameIds.tensor());
            EXPECT_EQ(ids.read(), sameIds.read()) << what << ", n " << n;
            if (n) {
                EXPECT_EQ(difference(values.read(), sameValues.read()), "") << what << ", n " << n;
                EXPECT_TRUE(values.gapsUntouched());
            }
            if (cap != 0) continue; // tanh differs
            IntRows hostIds = none;
            Rows hostValues(x.rows, columns);
            processor->matmulLargest(*onProcessor, **processorIn, scale, cap, z.tensor(),
                                     n ? hostValues.tensor() : Tensor(), hostIds.tensor());
            EXPECT_EQ(ids.read(), hostIds.values) << what << ", n " << n;
            if (n) {
                EXPECT_EQ(difference(values.read(), hostValues), "") << what << ", n " << n;
            }
        }
    }

private:
    static inline CudaBackend* s_card = nullptr;
};

TEST_F(Logits, AreFoundInRowsOfAnyLength) {
    for (const std::int64_t columns : {1, 5, 64, 65, 1000, 8191, 8192, 8193, 24581})
        check(noise(3, columns), std::to_string(columns) + " columns", columns % 3);
    for (const std::int64_t rows : {1, 16, 33})
        check(noise(rows, kVocabulary, unsigned(rows)), std::to_string(rows) + " rows");
}

TEST_F(Logits, TheLowerIndexComesFirstAmongEquals) {
    Rows z = noise(4, 50000);
    for (float& v : z.values) v = std::round(v); // a handful of values, thousands of times each
    std::fill_n(z.row(1), 50000, 2.5f);          // one value
    std::fill_n(z.row(2), 50000, -0.0f);         // zeros of both signs are equal
    for (int c = 0; c < 50000; c += 3) z.row(2)[c] = 0.0f;
    std::fill_n(z.row(3), 50000, -7.0f);
    z.row(3)[49999] = z.row(3)[20000] = z.row(3)[8192] = 1.0f; // in different parts
    check(z, "equals");
}

TEST_F(Logits, WhatIsNotANumberIsPassedOver) {
    Rows z = noise(7, 20000);
    for (int c = 0; c < 20000; c += 2) z.row(0)[c] = NAN;
    std::fill_n(z.row(1), 20000, NAN);
    std::fill_n(z.row(2), 20000, -INFINITY);
    std::fill_n(z.row(3), 20000, NAN);
    z.row(3)[15000] = -INFINITY; // all there is
    std::fill_n(z.row(4), 20000, NAN);
    for (int c = 100; c < 130; ++c) z.row(4)[c] = float(c % 7); // fewer numbers than are asked for
    z.row(5)[17] = INFINITY;
    z.row(5)[18000] = INFINITY;
    z.row(5)[3] = -INFINITY;
    for (int c = 0; c < 20000; ++c) z.row(6)[c] = -3e38f;
    z.row(6)[9] = -std::nanf("");
    check(z, "no numbers");
}

// The largest values may all lie with one thread of one block, or spread in any other way.
TEST_F(Logits, AreFoundWhereverTheyLie) {
    Rows z = noise(6, 40000);
    for (int c = 0; c < 40000; ++c) {
        z.row(0)[c] = float(c);  // ascending
        z.row(1)[c] = float(-c); // descending
        if (c % 1024 < 4) z.row(2)[c] += 100.0f;
        if (c >= 8192 + 4096 && c < 8192 + 4096 + 70) z.row(3)[c] += 100.0f;
        if (c % 32 == 5) z.row(4)[c] += 100.0f;
        if (c >= 39990) z.row(5)[c] += 100.0f;
    }
    check(z, "places");
}

// One and two segments, rows that end within a tile and within a part, more rows than the kernels
// for few take.
TEST_F(Logits, AreFoundInTheSumsOfAProduct) {
    struct Shape {
        QuantType type;
        std::int64_t vocabulary, columns;
    };
    for (const Shape shape :
         {Shape{QuantType::Q4_K, 1000, 256}, Shape{QuantType::Q6_K, 4096, 4096},
          Shape{QuantType::Q8_0, 8213, 512}, Shape{QuantType::Q5_K, 20003, 6656}}) {
        const HostWeight weight = randomWeight(scalarType(shape.type), shape.vocabulary,
                                               shape.columns, unsigned(shape.vocabulary));
        for (const std::int64_t rows : {1, 7, 8, 9, 15, 16, 17})
            for (const float cap : {0.0f, 20.0f})
                checkHead(weight, noise(rows, shape.columns, unsigned(rows)), 0.25f, cap, rows % 3);
    }
}

// Equal rows of the matrix give equal values, in different tiles and parts; what the cap makes
// equal is equal too. And rows that are no numbers.
TEST_F(Logits, OfSumsKnowEqualsAndWhatIsNotANumber) {
    constexpr std::int64_t kRows = 9001, kColumns = 512;
    HostWeight weight{QuantType::Q8_0, kRows, kColumns, {}};
    const std::vector<std::byte> few = weightNoise(QuantType::Q8_0, 16, kColumns);
    const std::size_t rowBytes = few.size() / 16;
    for (std::int64_t r = 0; r < kRows; ++r) {
        const std::byte* row = few.data() + std::size_t(r * 7 % 16) * rowBytes;
        weight.bytes.insert(weight.bytes.end(), row, row + rowBytes);
    }
    for (const std::int64_t r : {0, 17, 4095, 4096, 9000}) { // a scale that is not a number
        weight.bytes[std::size_t(r) * rowBytes] = std::byte(0x01);
        weight.bytes[std::size_t(r) * rowBytes + 1] = std::byte(0x7e);
    }
    for (const std::int64_t rows : {1, 5, 16})
        for (const float cap : {0.0f, 0.001f}) // all but all reach the cap
            checkHead(weight, noise(rows, kColumns, unsigned(rows)), 1.0f, cap, 0);
}

} // namespace
} // namespace cuda::test

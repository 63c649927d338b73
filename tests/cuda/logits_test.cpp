// What is drawn from logits: the very values and indices that the processor finds.

#include "card_rows.h"

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

} // namespace
} // namespace cuda::test

#include "engine/token/merge_table.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>

using engine::MergeTable;
using engine::TokenId;

namespace {

// The definition itself: again and again the pair of lowest rank, the leftmost of equals.
std::vector<TokenId> mergePlainly(const MergeTable& table, std::vector<TokenId> ids) {
    for (;;) {
        const MergeTable::Merge* best = nullptr;
        std::size_t at = 0;
        for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
            const MergeTable::Merge* merge = table.find(ids[i], ids[i + 1]);
            if (merge && (!best || merge->rank < best->rank)) {
                best = merge;
                at = i;
            }
        }
        if (!best) return ids;
        ids[at] = best->result;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
}

// Random merges over 4 letters; pairs may lead to tokens that others lead to as well.
MergeTable randomTable(std::mt19937& random) {
    MergeTable table(60);
    for (std::uint32_t rank = 0; rank < 60; ++rank) {
        table.insert(static_cast<TokenId>(random() % 24), static_cast<TokenId>(random() % 24), rank,
                     static_cast<TokenId>(4 + random() % 20));
    }
    return table;
}

} // namespace

TEST(MergeTable, TheFirstInsertionOfAPairWins) {
    MergeTable table(2);
    table.insert(1, 2, 5, 9);
    table.insert(1, 2, 6, 8);
    ASSERT_NE(table.find(1, 2), nullptr);
    EXPECT_EQ(table.find(1, 2)->result, 9);
    EXPECT_EQ(table.find(2, 1), nullptr);
}

TEST(MergeTable, ShortAndLongWordsFollowTheDefinition) {
    const unsigned seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 300; ++round) {
        const MergeTable table = randomTable(random);
        std::vector<TokenId> word(random() % 150);
        for (TokenId& id : word) id = static_cast<TokenId>(random() % 4);
        const std::vector<TokenId> expected = mergePlainly(table, word);
        table.apply(word);
        ASSERT_EQ(word, expected);
    }
}

TEST(MergeTable, AMillionBytesWithoutASpaceTakeNoQuadraticTime) {
    MergeTable table(20);
    for (TokenId level = 0; level < 20; ++level) {
        table.insert(level, level, static_cast<std::uint32_t>(level),
                     level + 1); // doubles what is joined
    }
    std::vector<TokenId> word(1'000'000, 0);
    const std::clock_t begin = std::clock();
    table.apply(word);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    // Two to the power of each bit that is set in a million, the largest first.
    EXPECT_EQ(word, (std::vector<TokenId>{19, 18, 17, 16, 14, 9, 6}));
    EXPECT_LT(seconds, 5.0); // some tenths of a second; quadratic would be hours
}

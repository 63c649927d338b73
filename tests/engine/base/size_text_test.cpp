#include "engine/base/size_text.h"

#include <gtest/gtest.h>

namespace engine {
namespace {

TEST(SizeText, UsesDecimalUnits) {
    EXPECT_EQ(sizeText(0), "0 bytes");
    EXPECT_EQ(sizeText(9999), "9999 bytes");
    EXPECT_EQ(sizeText(87'609), "87.6 kB");
    EXPECT_EQ(sizeText(1'850'624), "1.85 MB");
    EXPECT_EQ(sizeText(16'756'683'904), "16.76 GB");
    EXPECT_EQ(sizeOfText(900'000'000, 1'631'208'128), "0.90 of 1.63 GB");
    EXPECT_EQ(sizeOfText(12, 8'229'888), "0.00 of 8.23 MB");
}

TEST(SizeText, CountsHaveCommas) {
    EXPECT_EQ(countText(0), "0");
    EXPECT_EQ(countText(999), "999");
    EXPECT_EQ(countText(202'048), "202,048");
    EXPECT_EQ(countText(18'446'744'073'709'551'615u), "18,446,744,073,709,551,615");
}

} // namespace
} // namespace engine

#include "engine/quant/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace engine {
namespace {

// Independent of the code under test: by the definition of the format.
double halfValue(std::uint16_t half) {
    const int exponent = half >> 10 & 31;
    const int mantissa = half & 1023;
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

TEST(Half, EveryFiniteValueIsExactAndComesBack) {
    for (unsigned h = 0; h < 0x10000; ++h) {
        const auto half = static_cast<std::uint16_t>(h);
        if ((half & 0x7C00) == 0x7C00) continue;
        const float value = halfToFloat(half);
        ASSERT_EQ(static_cast<double>(value), halfValue(half)) << h;
        ASSERT_EQ(std::signbit(value), (half & 0x8000) != 0) << h;
        ASSERT_EQ(floatToHalf(value), half) << h;
    }
}

TEST(Half, RoundsToNearestWithTiesToEven) {
    for (unsigned h = 0; h < 0x7BFF; ++h) {
        const auto below = static_cast<std::uint16_t>(h);
        const auto above = static_cast<std::uint16_t>(h + 1);
        const auto middle = static_cast<float>((halfValue(below) + halfValue(above)) / 2); // exact
        const std::uint16_t even = h % 2 == 0 ? below : above;
        const float infinity = std::numeric_limits<float>::infinity();
        ASSERT_EQ(floatToHalf(middle), even) << h;
        ASSERT_EQ(floatToHalf(std::nextafter(middle, -infinity)), below) << h;
        ASSERT_EQ(floatToHalf(std::nextafter(middle, infinity)), above) << h;
        ASSERT_EQ(floatToHalf(-middle), even | 0x8000) << h;
    }
}

TEST(Half, OverflowsToInfinityAndKeepsNan) {
    EXPECT_EQ(floatToHalf(65519.996f), 0x7BFF);
    EXPECT_EQ(floatToHalf(65520.0f), 0x7C00);
    EXPECT_EQ(floatToHalf(-1e30f), 0xFC00);
    EXPECT_EQ(floatToHalf(std::numeric_limits<float>::infinity()), 0x7C00);
    EXPECT_EQ(halfToFloat(0xFC00), -std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan(halfToFloat(0x7E01)));
    EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(std::nanf("")))));
    EXPECT_EQ(floatToHalf(1e-30f), 0);
}

TEST(Bfloat, IsTheUpperHalfOfAFloatRoundedToEven) {
    EXPECT_EQ(bfloatToFloat(0x3F80), 1.0f);
    EXPECT_EQ(floatToBfloat(1.0f), 0x3F80);
    EXPECT_EQ(floatToBfloat(std::bit_cast<float>(0x3F808000u)), 0x3F80); // tie, down to even
    EXPECT_EQ(floatToBfloat(std::bit_cast<float>(0x3F818000u)), 0x3F82); // tie, up to even
    EXPECT_EQ(floatToBfloat(std::bit_cast<float>(0x3F808001u)), 0x3F81);
    EXPECT_EQ(floatToBfloat(std::numeric_limits<float>::max()), 0x7F80);
    EXPECT_TRUE(std::isnan(bfloatToFloat(floatToBfloat(std::bit_cast<float>(0x7F800001u)))));
}

} // namespace
} // namespace engine

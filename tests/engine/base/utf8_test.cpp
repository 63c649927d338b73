#include "engine/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace engine {
namespace {

using namespace std::string_literals;

TEST(Utf8, EveryCodePointGoesThereAndBack) {
    for (char32_t c = 0; c <= 0x10FFFF; ++c) {
        if (c == 0xD800) c = 0xE000;
        std::string text;
        appendUtf8(text, c);
        const CodePoint point = decodeUtf8(text, 0);
        ASSERT_TRUE(point.valid) << std::hex << static_cast<unsigned>(c);
        ASSERT_EQ(point.value, c);
        ASSERT_EQ(point.bytes, text.size());
        ASSERT_EQ(wholeUtf8Prefix(text), text.size());
        for (std::size_t cut = 1; cut < text.size(); ++cut) {
            ASSERT_EQ(wholeUtf8Prefix(text.substr(0, cut)), 0u)
                << std::hex << static_cast<unsigned>(c);
        }
    }
}

TEST(Utf8, RefusesOverlongSurrogatesAndTooLarge) {
    EXPECT_FALSE(isValidUtf8("\xC0\x80"));
    EXPECT_FALSE(isValidUtf8("\xC1\xBF"));
    EXPECT_FALSE(isValidUtf8("\xE0\x9F\xBF"));
    EXPECT_FALSE(isValidUtf8("\xED\xA0\x80"));
    EXPECT_FALSE(isValidUtf8("\xF0\x8F\xBF\xBF"));
    EXPECT_FALSE(isValidUtf8("\xF4\x90\x80\x80"));
    EXPECT_FALSE(isValidUtf8("\xF5\x80\x80\x80"));
    EXPECT_FALSE(isValidUtf8("\x80"));
    EXPECT_FALSE(isValidUtf8("a\xE2\x82"));
    EXPECT_TRUE(isValidUtf8("a\xE2\x82\xAC\xF0\x9F\x98\x80\0z"s));
    EXPECT_TRUE(isValidUtf8(""));
}

TEST(Utf8, StreamKeepsBackOnlyWhatMayStillBecomeACharacter) {
    EXPECT_EQ(wholeUtf8Prefix("ab\xF0\x9F\x98"), 2u);
    EXPECT_EQ(wholeUtf8Prefix("ab\xF0\x9F\x98\x80"), 6u);
    EXPECT_EQ(wholeUtf8Prefix("ab\xE2"), 2u);
    EXPECT_EQ(wholeUtf8Prefix("ab\xE0\x80"), 4u);     // can never become one
    EXPECT_EQ(wholeUtf8Prefix("ab\x80\x80\x80"), 5u); // continuation without a beginning
    EXPECT_EQ(wholeUtf8Prefix("\xF0\x9F\x98\xE2"), 3u);
    EXPECT_EQ(wholeUtf8Prefix(""), 0u);
}

TEST(Utf8, ReplacesEachBrokenPartOnce) {
    EXPECT_EQ(replaceInvalidUtf8("a\xF0\x9F\x98z"), "a\uFFFDz");
    EXPECT_EQ(replaceInvalidUtf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
    EXPECT_EQ(replaceInvalidUtf8("\xFF\xFE"), "\uFFFD\uFFFD");
    EXPECT_EQ(replaceInvalidUtf8("gr\xC3\xBC\xC3\x9F"), "grüß");
}

TEST(Utf8, PrintableTextHasOneLineAndALimit) {
    EXPECT_EQ(printableUtf8("a\nb\x1B[0m"), "a\uFFFDb\uFFFD[0m");
    EXPECT_EQ(printableUtf8("grüßen", 4), "grü...");
    EXPECT_EQ(printableUtf8("grüßen", 3), "gr...");
    EXPECT_EQ(printableUtf8("abc", 3), "abc");
}

} // namespace
} // namespace engine

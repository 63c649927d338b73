#include "engine/token/pretokenize.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

using engine::SplitForm;

namespace {

using Words = std::vector<std::string>;

Words split(std::string_view text, SplitForm form = SplitForm::Category) {
    Words words;
    for (const std::size_t length : engine::splitWords(text, form)) {
        words.emplace_back(text.substr(0, length));
        text.remove_prefix(length);
    }
    EXPECT_TRUE(text.empty());
    return words;
}

} // namespace

TEST(Pretokenize, AWordTakesOneCharacterBeforeIt) {
    EXPECT_EQ(split("Hello, world"), (Words{"Hello", ",", " world"}));
    EXPECT_EQ(split("(x)\ty"), (Words{"(x", ")", "\ty"}));
    EXPECT_EQ(split("\nx"), (Words{"\n", "x"}));
    EXPECT_EQ(split("\xC2\xA0x"), (Words{"\xC2\xA0x"})) << "a no-break space is no line break";
}

TEST(Pretokenize, CapitalsBeginANewWord) {
    EXPECT_EQ(split("camelCaseName"), (Words{"camel", "Case", "Name"}));
    EXPECT_EQ(split("XMLHttpRequest"), (Words{"XMLHttp", "Request"}));
    EXPECT_EQ(split("ABC"), (Words{"ABC"}));
    EXPECT_EQ(split("приВет"), (Words{"при", "Вет"}));
    EXPECT_EQ(split("приВет", SplitForm::Ggml), (Words{"приВет"}));
}

TEST(Pretokenize, ALetterOfBothPartsIsGivenBack) {
    // The second part needs a letter; the last one that may stand in either is taken from the first
    // part.
    EXPECT_EQ(split("aªA"), (Words{"aª", "A"}));
    EXPECT_EQ(split("AªB"), (Words{"Aª", "B"}));
    EXPECT_EQ(split("AªªBC"), (Words{"Aªª", "BC"}));
}

TEST(Pretokenize, MarksBelongToWords) {
    EXPECT_EQ(split("e\u0301e\u0301"), (Words{"e\u0301e\u0301"}));
    EXPECT_EQ(split("e\u0301e\u0301", SplitForm::Ggml), (Words{"e", "\u0301e", "\u0301"}));
    // A mark can be the one character before a word; where that leads nowhere it is a word itself.
    EXPECT_EQ(split("\u0301A"), (Words{"\u0301", "A"}));
    EXPECT_EQ(split("\u0301a"), (Words{"\u0301a"}));
    EXPECT_EQ(split("\u0301"), (Words{"\u0301"}));
}

TEST(Pretokenize, ContractionsStayWithTheirWord) {
    EXPECT_EQ(split("it's I'LL we'Ve"), (Words{"it's", " I'LL", " we'Ve"}));
    EXPECT_EQ(split("rock'n"), (Words{"rock", "'n"}));
    EXPECT_EQ(split("x'lx"), (Words{"x", "'lx"}));
    EXPECT_EQ(split("he'ſ"), (Words{"he'ſ"})) << "the long s is an s without regard to case";
    EXPECT_EQ(split("don\u2019t"), (Words{"don", "\u2019t"}))
        << "a curly apostrophe is no contraction";
    EXPECT_EQ(split("a'store"), (Words{"a's", "tore"})) << "as the expression has it";
}

TEST(Pretokenize, NumbersComeInThrees) {
    EXPECT_EQ(split("1234567"), (Words{"123", "456", "7"}));
    EXPECT_EQ(split("x1y"), (Words{"x", "1", "y"}));
    EXPECT_EQ(split("١٢٣٤"), (Words{"١٢٣", "٤"}));
    EXPECT_EQ(split("Ⅳ½²"), (Words{"Ⅳ½²"}));
}

TEST(Pretokenize, SymbolsTakeASpaceBeforeAndLineBreaksAfter) {
    EXPECT_EQ(split(" ++\n\n/x"), (Words{" ++\n\n/", "x"}));
    EXPECT_EQ(split("?/\r\n/x"), (Words{"?/\r\n/", "x"}));
    EXPECT_EQ(split("!! !"), (Words{"!!", " !"}));
}

TEST(Pretokenize, SpacesLeaveTheLastOneToTheNextWord) {
    EXPECT_EQ(split("a   b"), (Words{"a", "  ", " b"}));
    EXPECT_EQ(split("a   "), (Words{"a", "   "}));
    EXPECT_EQ(split("x \n \n  y"), (Words{"x", " \n \n", " ", " y"}));
    EXPECT_EQ(split(" \n "), (Words{" \n", " "}));
    EXPECT_EQ(split("\u3000\u3000x"), (Words{"\u3000", "\u3000x"}));
    EXPECT_EQ(split("1\u00852"), (Words{"1", "\u0085", "2"})) << "U+0085 is a space";
    EXPECT_EQ(split("1\x1c\x1c"
                    "2"),
              (Words{"1", "\x1c\x1c", "2"}))
        << "U+001C is none";
}

TEST(Pretokenize, BrokenUtf8IsCoveredToo) {
    EXPECT_EQ(split("a\xFF"), (Words{"a", "\xFF"}));
    EXPECT_EQ(split("\xFF"
                    "a"),
              (Words{"\xFF"
                     "a"}));
    EXPECT_EQ(split("\xE2\x82"), (Words{"\xE2\x82"}));

    const unsigned seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 2000; ++round) {
        std::string text(random() % 40, '\0');
        for (char& c : text)
            c = static_cast<char>(random() % 3 == 0 ? " \n'aA1/"[random() % 7] : random());
        for (const SplitForm form : {SplitForm::Category, SplitForm::Ggml}) {
            std::string joined;
            for (const std::string& word : split(text, form)) {
                EXPECT_FALSE(word.empty());
                joined += word;
            }
            ASSERT_EQ(joined, text);
        }
    }
}

#include "app/cli/options.h"

#include <gtest/gtest.h>

namespace app {
namespace {

constexpr OptionSpec kSpecs[] = {
    {"--model", "FILE", ""},
    {"--image", "FILE", ""},
    {"--number", "N", ""},
    {"--flag", "", ""},
};

engine::Result<Options> parse(std::vector<std::string> arguments) {
    return Options::parse(arguments, kSpecs);
}

TEST(Options, ReadsValuesFlagsAndPlainArguments) {
    const auto options = parse({"one", "--model", "a b", "--flag", "--image=x=y", "--image", "z",
                                "--json", "two", "--", "--three"});
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->text("--model"), "a b");
    EXPECT_TRUE(options->has("--flag"));
    EXPECT_TRUE(options->json());
    EXPECT_EQ(options->all("--image"), (std::vector<std::string>{"x=y", "z"}));
    EXPECT_EQ(options->text("--image"), "z"); // the last one counts
    EXPECT_EQ(options->plain(), (std::vector<std::string>{"one", "two", "--three"}));
    EXPECT_FALSE(options->has("--help"));
}

TEST(Options, RefusesWhatItDoesNotKnow) {
    EXPECT_FALSE(parse({"--modell", "x"}));
    EXPECT_FALSE(parse({"--model"}));
    EXPECT_FALSE(parse({"--flag=1"}));
    EXPECT_FALSE(parse({"-x"}));
}

TEST(Options, NumbersAreCheckedWholly) {
    for (const char* bad : {"", "x", "5x", "1.5", "-1", "101", "99999999999999999999", " 5"}) {
        const auto options = parse({"--number", bad});
        ASSERT_TRUE(options);
        EXPECT_FALSE(options->integer("--number", 7, 0, 100)) << bad;
    }
    EXPECT_EQ(*parse({"--number", "42"})->integer("--number", 7, 0, 100), 42);
    EXPECT_EQ(*parse({})->integer("--number", 7, 0, 100), 7);
    for (const char* bad : {"", "x", "1,5", "nan", "inf", "1.5 ", "2.5"}) {
        EXPECT_FALSE(parse({"--number", bad})->number("--number", 0, 0, 2)) << bad;
    }
    EXPECT_EQ(*parse({"--number", "1.5"})->number("--number", 0, 0, 2), 1.5);
}

TEST(Options, ReadsIdsInAnyUsualForm) {
    EXPECT_EQ(*parseIds("[1, 2,3]\n4"), (std::vector<std::int32_t>{1, 2, 3, 4}));
    EXPECT_TRUE(parseIds(" ")->empty());
    for (const char* bad : {"1 x", "-1", "1.5", "99999999999"}) EXPECT_FALSE(parseIds(bad)) << bad;
}

} // namespace
} // namespace app

// The promise: with the same seed the text is the same with drafting off and at every draft length,
// at temperature 0 and 1, with and without a picture, on one thread and on two.

#include "runtime_fixture.h"

#include <gtest/gtest.h>

#include <random>

namespace {

using namespace engine;

constexpr int kTokens = 24;
constexpr int kLengths[] = {1, 4, 8, 15, DraftLength::kAutomatic};

struct Case {
    Prompt prompt;
    SamplerSettings sampling;
    std::uint64_t seed = 0;
};

std::vector<Case> makeCases(const GoldenFile& golden, int count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Case> cases;
    const std::size_t pictures = golden.cases()["image_prompts"].size();
    for (int i = 0; i < count; ++i) {
        Case c;
        if (i % 5 == 4) {
            c.prompt = picturePrompt(golden, std::size_t(i) / 5 % pictures);
            // Another question every other time.
            for (int k = 0; k < 5 && i % 2; ++k)
                c.prompt.ids.push_back(std::int32_t(random() % 2000));
        } else if (i % 5 == 3) {
            std::vector<std::int32_t> ids(2 + random() % 150);
            for (auto& id : ids) id = std::int32_t(random() % 2000);
            c.prompt = promptOf(std::move(ids));
        } else {
            // Somewhere on a text of the reference, where its drafter is good.
            const auto& known =
                golden.cases()["dflash"][std::size_t(i) % 3]; // the others accept nothing
            auto ids = known["prompt"].get<std::vector<std::int32_t>>();
            const auto tokens = known["tokens"].get<std::vector<std::int32_t>>();
            ids.insert(ids.end(), tokens.begin(), tokens.begin() + std::ptrdiff_t(random() % 40));
            c.prompt = promptOf(std::move(ids));
        }
        c.seed = random();
        // Now and then the settings that look at more than one row.
        if (i % 7 == 3) {
            c.sampling.repetition = 1.3f;
            c.sampling.topP = 0.8f;
            c.sampling.minP = 0.02f;
        }
        cases.push_back(std::move(c));
    }
    return cases;
}

void expectEqualTexts(const TinySetup& base, int prompts, bool endTokens) {
    const auto seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const GoldenFile golden("tiny-f32");
    const std::vector<Case> cases = makeCases(golden, prompts, seed);
    TinySetup two = base;
    two.threads = 2;
    const auto one = loadTiny(base);
    const auto both = loadTiny(two);
    ASSERT_TRUE(one && both);

    int accepted[2] = {}; // at temperature 0 and above
    for (std::size_t i = 0; i < cases.size(); ++i) {
        // A low temperature accepts many drafts that were drawn, not only the likeliest ones.
        for (const float temperature : {0.0f, 1.0f, 0.1f}) {
            if (temperature == 0.1f && i % 4 != 0) continue;
            GenerateOptions options;
            options.sampling = cases[i].sampling;
            options.sampling.temperature = temperature;
            options.seed = cases[i].seed;
            options.maxTokens = kTokens;
            options.ignoreEndTokens = !endTokens;
            options.draftLength = {0};
            const Answer plain = generate(*one, cases[i].prompt, options);
            ASSERT_TRUE(plain.ok) << plain.error;
            ASSERT_FALSE(plain.ids().empty());
            // One of the lengths runs on two threads, in turn.
            for (std::size_t k = 0; k < std::size(kLengths); ++k) {
                options.draftLength = {kLengths[k]};
                Engine& engine = i % std::size(kLengths) == k ? *both : *one;
                const Answer drafted = generate(engine, cases[i].prompt, options);
                ASSERT_EQ(drafted.ids(), plain.ids())
                    << "prompt " << i << ", temperature " << temperature << ", draft length "
                    << kLengths[k];
                EXPECT_EQ(drafted.text, plain.text);
                EXPECT_EQ(drafted.thinking, plain.thinking);
                EXPECT_EQ(drafted.finished.reason, plain.finished.reason);
                accepted[temperature > 0] += drafted.finished.figures.acceptedTokens;
            }
        }
    }
    // Hardly any accepted draft would prove little.
    EXPECT_GT(accepted[0], prompts * 5);
    EXPECT_GT(accepted[1], prompts / 2);
    std::printf("%d and %d drafts accepted\n", accepted[0], accepted[1]);
}

// The arithmetic that the program uses.
TEST(DraftEquality, IntegerArithmetic) {
    TinySetup setup;
    setup.floatMath = false;
    setup.kvType = KvType::F16;
    expectEqualTexts(setup, 200, false);
}

TEST(DraftEquality, FloatArithmetic) {
    expectEqualTexts({}, 20, false);
}

TEST(DraftEquality, EightBitKeysAndEndTokens) {
    TinySetup setup;
    setup.floatMath = false;
    setup.kvType = KvType::Q8_0;
    expectEqualTexts(setup, 20, true);
}

} // namespace

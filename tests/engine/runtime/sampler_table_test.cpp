#include "engine/runtime/sampler_table.h"

#include "runtime_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace {

using namespace engine;

std::vector<float> randomLogits(std::size_t count, std::uint64_t seed, float spread) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal(0.0f, spread);
    std::vector<float> out(count);
    for (float& value : out) value = normal(random);
    return out;
}

std::vector<std::int32_t> idsOf(const std::vector<Candidate>& candidates) {
    std::vector<std::int32_t> ids;
    for (const Candidate& candidate : candidates) ids.push_back(candidate.id);
    return ids;
}

// The reference's probabilities, in double from float logits: its own lie in the file as float.
TEST(SamplerTable, ChainGivesTheReferencesProbabilities) {
    const GoldenFile golden("tiny-f32");
    const nlohmann::json cases = golden.cases();
    int compared = 0;
    for (const auto& c : cases["sampling"]) {
        const std::vector<std::string> order = c["order"];
        const double temperature = c["temperature"];
        // At temperature 1 the reference's other order must give the same; otherwise ours is
        // "chain".
        if (order.front() == "temperature" && temperature != 1.0) continue;
        const GoldenTensor logits = golden.f32(c["logits"].get<std::string>());
        const GoldenTensor wanted = golden.f32(c["tensor"].get<std::string>());
        const std::size_t row = c["row"];
        SamplerSettings settings;
        settings.temperature = float(temperature);
        settings.topK = c["top_k"];
        settings.topP = c["top_p"];
        const auto got = survivors(logits.row(row), settings, {});
        EXPECT_EQ(got.size(), c["kept"].get<std::size_t>()) << c["tensor"];
        std::vector<float> dense(logits.columns, 0.0f);
        for (const Candidate& candidate : got)
            dense[std::size_t(candidate.id)] = candidate.probability;
        for (std::size_t i = 0; i < dense.size(); ++i)
            ASSERT_NEAR(dense[i], wanted.row(0)[i], 1e-6) << i;
        EXPECT_TRUE(std::is_sorted(got.begin(), got.end(), comesBefore));
        ++compared;
    }
    EXPECT_EQ(compared, 9); // chain at 1.0 and 0.6, hf at 1.0, three rows each
}

TEST(SamplerTable, TopKKeepsTheLargestAndTheLowerIdAmongEquals) {
    SamplerSettings settings;
    settings.topP = 1;
    settings.topK = 3;
    const std::vector<float> logits{1, 5, 2, 5, 2, 0, 2};
    EXPECT_EQ(idsOf(survivors(logits, settings, {})), (std::vector<std::int32_t>{1, 3, 2}));
    settings.topK = 0;
    EXPECT_EQ(idsOf(survivors(logits, settings, {})),
              (std::vector<std::int32_t>{1, 3, 2, 4, 6, 0, 5}));
}

TEST(SamplerTable, TopKEqualsSorting) {
    const std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::vector<float> logits = randomLogits(5000, seed, 2.0f);
    for (float& value : logits) value = std::round(value * 8) / 8; // many equals
    for (const int k : {1, 2, 63, 64, 1000, 4999, 5000, 6000}) {
        SamplerSettings settings;
        settings.topP = 1;
        settings.topK = k;
        std::vector<Candidate> sorted;
        for (std::size_t i = 0; i < logits.size(); ++i)
            sorted.push_back({std::int32_t(i), logits[i], 0});
        std::sort(sorted.begin(), sorted.end(), comesBefore);
        sorted.resize(std::min<std::size_t>(sorted.size(), std::size_t(k)));
        EXPECT_EQ(idsOf(survivors(logits, settings, {})), idsOf(sorted)) << k;
    }
}

TEST(SamplerTable, TheLargestLogitsAloneGiveTheSameToken) {
    std::mt19937 random(77);
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> logits(3000);
    for (int round = 0; round < 200; ++round) {
        for (float& logit : logits) logit = normal(random);
        logits[5] = logits[6] = 9; // equals among the largest
        SamplerSettings settings;
        settings.topK = 1 + int(random() % 64);
        settings.topP = round % 2 ? 0.9f : 1.0f;
        settings.minP = round % 3 ? 0.0f : 0.02f;
        settings.temperature = round % 5 ? 0.2f * float(round % 7 + 1) : 0.0f;
        const int deciding = decidingLogits(settings);
        ASSERT_EQ(deciding, settings.temperature > 0 ? settings.topK : 1);
        std::vector<std::int32_t> ids(logits.size());
        std::iota(ids.begin(), ids.end(), 0);
        std::stable_sort(ids.begin(), ids.end(), [&](std::int32_t a, std::int32_t b) {
            return logits[std::size_t(a)] > logits[std::size_t(b)];
        });
        ids.resize(std::size_t(deciding));
        std::vector<float> largest;
        for (const std::int32_t id : ids) largest.push_back(logits[std::size_t(id)]);
        EXPECT_EQ(sampleFromLargest(largest, ids, settings, 11, round),
                  sampleToken(logits, settings, {}, 11, round))
            << "round " << round;
    }
    SamplerSettings settings;
    settings.repetition = 1.1f;
    EXPECT_EQ(decidingLogits(settings), 0);
    settings.repetition = 1.0f;
    settings.topK = 0;
    EXPECT_EQ(decidingLogits(settings), 0);
}

TEST(SamplerTable, TopPKeepsTheTokenThatReachesIt) {
    // Probabilities 0.5, 0.25, 0.125, 0.125.
    const std::vector<float> logits{std::log(4.0f), std::log(2.0f), 0, 0};
    SamplerSettings settings;
    settings.topK = 0;
    const std::pair<float, std::size_t> wanted[] = {{0.3f, 1}, {0.5f, 1}, {0.51f, 2},
                                                    {0.8f, 3}, {0.9f, 4}, {1.0f, 4}};
    for (const auto& [p, kept] : wanted) {
        settings.topP = p;
        EXPECT_EQ(survivors(logits, settings, {}).size(), kept) << p;
    }
}

TEST(SamplerTable, MinPComparesWithTheMostProbable) {
    const std::vector<float> logits{std::log(8.0f), std::log(4.0f), std::log(2.0f), 0};
    SamplerSettings settings;
    settings.topP = 1;
    settings.minP = 0.3f;
    EXPECT_EQ(survivors(logits, settings, {}).size(), 2u); // 0.5 stays, 0.25 goes
    settings.minP = 1.0f;
    EXPECT_EQ(survivors(logits, settings, {}).size(), 1u);
    settings.minP = 0;
    EXPECT_EQ(survivors(logits, settings, {}).size(), 4u);
}

TEST(SamplerTable, RepetitionWeakensRecentTokensOnce) {
    const std::vector<float> logits{2, -1, 3, 1};
    SamplerSettings settings;
    settings.topP = 1;
    settings.repetition = 2;
    settings.repetitionWindow = 3;
    const std::vector<std::int32_t> recent{3, 0, 1, 0}; // 3 lies before the window, 0 counts once
    std::map<std::int32_t, float> got;
    for (const Candidate& candidate : survivors(logits, settings, recent))
        got[candidate.id] = candidate.logit;
    EXPECT_EQ(got, (std::map<std::int32_t, float>{{0, 1}, {1, -2}, {2, 3}, {3, 1}}));
}

TEST(SamplerTable, GreedyTakesTheLowestIdAmongEquals) {
    SamplerSettings settings;
    settings.temperature = 0;
    const std::vector<float> logits{0, 7, 3, 7};
    EXPECT_EQ(sampleToken(logits, settings, {}, 1, 0), 1);
    settings.repetition = 1.5f; // then 1 is weakened and 3 is the largest
    const std::vector<std::int32_t> recent{1};
    EXPECT_EQ(sampleToken(logits, settings, recent, 1, 0), 3);
}

TEST(SamplerTable, NoiseDependsOnSeedPositionAndTokenOnly) {
    EXPECT_EQ(gumbelNoise(5, 77, 3), gumbelNoise(5, 77, 3));
    std::set<double> values;
    for (std::uint64_t seed : {0, 1, 2}) {
        for (std::int64_t position : {0, 1, 2, 1000}) {
            for (std::int32_t id : {0, 1, 2, 200000})
                values.insert(gumbelNoise(seed, position, id));
        }
    }
    EXPECT_EQ(values.size(), 48u);
}

// 99.99 % points of chi-square by the Wilson-Hilferty form.
double chiSquareBound(int degrees) {
    const double z = 3.719;
    const double a = 2.0 / (9.0 * degrees);
    return degrees * std::pow(1 - a + z * std::sqrt(a), 3);
}

void expectDistribution(const std::vector<float>& logits, const SamplerSettings& settings,
                        std::uint64_t seed, bool alongPositions) {
    constexpr int kDraws = 100000;
    const auto expected = survivors(logits, settings, {});
    std::map<std::int32_t, int> counts;
    for (int i = 0; i < kDraws; ++i) {
        const std::uint64_t drawSeed = alongPositions ? seed : seed + std::uint64_t(i);
        const std::int64_t position = alongPositions ? i : 12;
        ++counts[sampleToken(logits, settings, {}, drawSeed, position)];
    }
    double chi = 0;
    int total = 0;
    for (const Candidate& candidate : expected) {
        const double wanted = candidate.probability * kDraws;
        ASSERT_GT(wanted, 5) << "too rare for the test";
        chi += std::pow(counts[candidate.id] - wanted, 2) / wanted;
        total += counts[candidate.id];
    }
    EXPECT_EQ(total, kDraws) << "a token outside the survivors was drawn";
    EXPECT_LT(chi, chiSquareBound(int(expected.size()) - 1)) << "seed " << seed;
}

TEST(SamplerTable, DrawsFollowTheDistribution) {
    const std::uint64_t seed = std::random_device{}();
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    const std::vector<float> logits = randomLogits(40, seed, 1.0f);
    SamplerSettings settings;
    settings.topK = 20;
    settings.topP = 0.95f;
    expectDistribution(logits, settings, seed, true);  // one seed, one position after the other
    expectDistribution(logits, settings, seed, false); // one position, many seeds
    settings.temperature = 0.7f;
    expectDistribution(logits, settings, seed, true);
}

TEST(SamplerTable, EveryParameterReadsAndWritesItsOwnMember) {
    std::set<std::string_view> keys;
    for (const Sampler& sampler : samplerTable()) {
        for (const SamplerParameter& parameter : sampler.parameters) {
            EXPECT_TRUE(keys.insert(parameter.key).second) << parameter.key;
            EXPECT_LE(parameter.least, parameter.standard());
            EXPECT_GE(parameter.most, parameter.standard());
            SamplerSettings settings;
            parameter.set(settings, parameter.most);
            EXPECT_NEAR(parameter.get(settings), parameter.most, 1e-6);
            parameter.set(settings, parameter.standard());
            EXPECT_EQ(settings, SamplerSettings{}) << parameter.key;
        }
    }
    EXPECT_EQ(keys.size(), 6u);
}

TEST(SamplerTable, GarbageSettingsBecomeUsable) {
    SamplerSettings settings;
    settings.temperature = std::nanf("");
    settings.topK = -4;
    settings.topP = 7;
    settings.repetition = 0;
    settings = clamped(settings);
    EXPECT_EQ(settings.temperature, 1.0f);
    EXPECT_EQ(settings.topK, 0);
    EXPECT_EQ(settings.topP, 1.0f);
    EXPECT_EQ(settings.repetition, 1.0f);
}

} // namespace

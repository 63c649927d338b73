#include "engine/runtime/draft_cycle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace {

using namespace engine;

// A machine on which a pass takes `base + perRow * rows` seconds, and a text in which draft i is
// accepted with a fixed chance where all before it were.
struct World {
    double base = 1.0;
    double perRow = 0.0;
    double draftSeconds = 0.2;
    double chance = 0.8;
    std::mt19937_64 random{7};

    double passSeconds(int rows) const { return base + perRow * rows; }

    DraftPolicy::Cycle run(int drafts) {
        std::bernoulli_distribution accept(chance);
        DraftPolicy::Cycle cycle{drafts, 0,
                                 passSeconds(drafts + 1) + (drafts > 0 ? draftSeconds : 0.0)};
        while (cycle.accepted < drafts && accept(random)) ++cycle.accepted;
        return cycle;
    }
};

struct Totals {
    double tokens = 0;
    double seconds = 0;
    int drafts = 0;
    int pausedCycles = 0;
    double speed() const { return tokens / seconds; }
};

Totals runCycles(DraftPolicy& policy, World& world, DraftLength wish, int cycles) {
    Totals totals;
    for (int i = 0; i < cycles; ++i) {
        const int drafts = policy.next(wish);
        const auto cycle = world.run(drafts);
        policy.record(cycle);
        totals.tokens += cycle.accepted + 1;
        totals.seconds += cycle.seconds;
        totals.drafts += drafts;
        totals.pausedCycles += policy.paused();
    }
    return totals;
}

TEST(DraftPolicy, AFixedLengthIsUsedAsItIs) {
    DraftPolicy policy(15);
    World world;
    for (const int length : {0, 1, 8, 15}) {
        EXPECT_EQ(policy.next({length}), length);
        policy.record(world.run(length));
    }
    EXPECT_EQ(DraftPolicy(7).next({15}), 7); // a drafter with a smaller block
    EXPECT_EQ(DraftPolicy(0).next({15}), 0); // no drafter
    EXPECT_EQ(DraftPolicy(0).next({}), 0);
}

TEST(DraftPolicy, WideWhereRowsAreFree) {
    DraftPolicy policy(15);
    World world;
    world.perRow = 0.001;
    world.chance = 0.9;
    runCycles(policy, world, {}, 100);
    const Totals totals = runCycles(policy, world, {}, 100);
    EXPECT_GT(totals.drafts / 100.0, 12);
    EXPECT_FALSE(policy.paused());
    EXPECT_GT(policy.gain(), 3);
}

TEST(DraftPolicy, NarrowWhereRowsCost) {
    DraftPolicy policy(15);
    World world;
    world.base = 0.6;
    world.perRow = 0.4; // a row more costs nearly half a step
    world.draftSeconds = 0.1;
    world.chance = 0.8;
    runCycles(policy, world, {}, 300);
    const Totals totals = runCycles(policy, world, {}, 300);
    EXPECT_GT(totals.drafts, 0);
    EXPECT_LT(totals.drafts / 300.0, 5);
}

// Within a tenth of the best fixed length, whatever the machine and the text.
TEST(DraftPolicy, ComesNearTheBestFixedLength) {
    for (const double perRow : {0.0, 0.05, 0.3}) {
        for (const double chance : {0.3, 0.7, 0.95}) {
            double best = 0;
            for (int length = 0; length <= 15; ++length) {
                DraftPolicy fixed(15);
                World world{1.0, perRow, 0.2, chance};
                best = std::max(best, runCycles(fixed, world, {length}, 2000).speed());
            }
            DraftPolicy policy(15);
            World world{1.0, perRow, 0.2, chance};
            runCycles(policy, world, {}, 200);
            const double reached = runCycles(policy, world, {}, 2000).speed();
            EXPECT_GT(reached, best * 0.9) << "per row " << perRow << ", chance " << chance;
        }
    }
}

TEST(DraftPolicy, PausesWhereDraftingLosesAndTriesAgain) {
    DraftPolicy policy(15);
    World world;
    world.perRow = 0.3;
    world.chance = 0.05;
    const Totals bad = runCycles(policy, world, {}, 600);
    EXPECT_GT(bad.pausedCycles, 450);
    EXPECT_GT(bad.drafts, 0) << "it never looked";
    EXPECT_GT(bad.speed(), 0.85 / world.passSeconds(1));
    // The text becomes predictable: a probe notices.
    world.chance = 0.95;
    runCycles(policy, world, {}, 400);
    const Totals good = runCycles(policy, world, {}, 200);
    EXPECT_LT(good.pausedCycles, 20);
    EXPECT_GT(policy.gain(), 1.3);
}

// A drafter pass as dear as two steps, and nothing it proposes ever fits.
TEST(DraftPolicy, CostsAtMostATwentiethWhereDraftsNeverFit) {
    DraftPolicy policy(15);
    World world{1.0, 0.08, 2.2, 0.0};
    runCycles(policy, world, {}, 300);
    const Totals totals = runCycles(policy, world, {}, 3000);
    EXPECT_GT(totals.drafts, 0) << "it never looked";
    EXPECT_GT(totals.speed(), 0.95 / world.passSeconds(1));
}

TEST(DraftPolicy, GainComparesWithTheMeasuredSingleStep) {
    DraftPolicy policy(15);
    EXPECT_EQ(policy.gain(), 0); // nothing is known
    World world;
    policy.record({0, 0, 2.0});                               // a single step takes two seconds
    for (int i = 0; i < 500; ++i) policy.record({3, 3, 4.0}); // four tokens in four seconds
    EXPECT_NEAR(policy.gain(), 2.0, 0.01);
}

// The first step of an answer finds everything cold, and a step may be interrupted.
TEST(DraftPolicy, OneSlowStepNeitherStopsDraftingNorMakesItLookGood) {
    World world{0.9, 0.02, 0.2, 0.9}; // drafting pays
    DraftPolicy policy(15);
    policy.seed(world.passSeconds(1), 16, world.passSeconds(16), world.draftSeconds);
    ASSERT_EQ(policy.next({}), 0); // the single step is measured first
    policy.record({0, 0, 10 * world.passSeconds(1)});
    Totals totals = runCycles(policy, world, {}, 20);
    const double truth = totals.speed() * world.passSeconds(1);
    EXPECT_GT(truth, 2);
    EXPECT_LT(policy.gain(), 1.4 * truth);

    DraftPolicy interrupted(15);
    interrupted.seed(world.passSeconds(1), 16, world.passSeconds(16), world.draftSeconds);
    interrupted.record({0, 0, world.passSeconds(1)});
    const int drafts = interrupted.next({});
    ASSERT_GT(drafts, 0);
    interrupted.record({drafts, drafts, 10 * world.passSeconds(drafts + 1)});
    EXPECT_GT(interrupted.next({}), 0);
    EXPECT_EQ(runCycles(interrupted, world, {}, 20).pausedCycles, 0);
}

// A small model, whose rows cost much, and a text that is predicted better than was expected: an
// answer of 60 tokens is long enough to find that out.
TEST(DraftPolicy, ShortAnswersTryDraftsBeforeTheFirstPause) {
    World world{0.6, 0.4, 1.1, 0.98};
    DraftPolicy policy(15);
    policy.seed(world.passSeconds(1), 16, world.passSeconds(16), world.draftSeconds);
    const Totals totals = runCycles(policy, world, {}, 15);
    EXPECT_GT(totals.drafts, 20);
    EXPECT_EQ(totals.pausedCycles, 0);
}

TEST(PassTimes, UnmeasuredWidthsLieBetweenTheirNeighbours) {
    PassTimes times;
    EXPECT_EQ(times.at(4), 0);
    times.seed(1, 5.0);
    EXPECT_EQ(times.at(1), 5.0);
    times.add(1, 1.0); // the first measurement replaces the seed
    EXPECT_EQ(times.at(1), 1.0);
    times.add(9, 3.0);
    EXPECT_DOUBLE_EQ(times.at(5), 2.0);
    EXPECT_EQ(times.at(9), 3.0);
    EXPECT_GT(times.at(16), 3.0);
}

} // namespace

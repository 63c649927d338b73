#include "engine/runtime/placement.h"

#include <gtest/gtest.h>

namespace {

using namespace engine;

constexpr std::int64_t kMiB = 1024 * 1024;

// The released trio, by its published numbers.
PlacementInput released(std::int64_t freeMiB) {
    PlacementInput input;
    TextSpec& text = input.text;
    text.layers = 52;
    text.width = 6656;
    text.ffnWidth = 19968;
    text.heads = 32;
    text.kvHeads = 2;
    text.headSize = 128;
    text.vocabulary = 202048;
    text.contextLimit = 131072;
    text.slidingWindow = 2048;
    for (int i = 0; i < 52; ++i) text.sliding.push_back(i % 4 != 3);
    VisionSpec vision;
    vision.layers = 50;
    vision.width = 1536;
    vision.ffnWidth = 8960;
    vision.heads = 16;
    vision.headSize = 96;
    vision.patchSize = 14;
    vision.mergeSize = 2;
    vision.gridSide = 32;
    vision.projectionWidth = 6656;
    input.vision = vision;
    DraftSpec draft;
    draft.layers = 5;
    draft.width = 6656;
    draft.ffnWidth = 19968;
    draft.heads = 32;
    draft.kvHeads = 8;
    draft.headSize = 128;
    draft.slidingWindow = 2048;
    draft.sliding.assign(5, true);
    draft.blockSize = 16;
    draft.taps = {2, 14, 26, 38, 50};
    input.draft = draft;
    input.modelBytes = 16'756'683'904;
    input.visionBytes = 1'400'328'928;
    input.draftBytes = 1'631'208'128;
    input.freeBytes = freeMiB * kMiB;
    input.totalBytes = input.freeBytes;
    return input;
}

// Published memory figures, in MiB.
TEST(Placement, KeysAndValuesCostWhatTheFactPageSays) {
    struct Row {
        KvType type;
        int chunk;
        std::int64_t context;
        double mebibytes;
    };
    const Row rows[] = {
        {KvType::F16, 256, 32768, 503.75},   {KvType::F16, 256, 98304, 1335.75},
        {KvType::F16, 256, 131072, 1751.75}, {KvType::Q8_0, 256, 32768, 267.6},
        {KvType::Q8_0, 256, 98304, 709.6},   {KvType::Q8_0, 256, 131072, 930.6},
        {KvType::F16, 512, 32768, 513.5},    {KvType::Q8_0, 512, 131072, 935.8},
    };
    const TextSpec text = released(0).text;
    for (const Row& row : rows) {
        const auto shape = targetKvShape(text, row.context, row.chunk, row.type);
        EXPECT_NEAR(double(shape.totalBytes()) / kMiB, row.mebibytes, 0.1)
            << row.context << " " << row.chunk;
    }
}

TEST(Placement, ALargeMachineGetsTheWholeContextAndAllParts) {
    const PlacementPlan plan = planFor(released(64 * 1024), 0, true, true);
    EXPECT_TRUE(plan.fits);
    EXPECT_EQ(plan.contextTokens, 131072);
    EXPECT_TRUE(plan.useVision);
    EXPECT_TRUE(plan.useDraft);
    EXPECT_LT(plan.memory.working, 600 * kMiB);
}

// Pictures and words are read by turns: the larger need counts.
TEST(Placement, PartsUseTheSameWorkingMemory) {
    const PlacementInput input = released(64 * 1024);
    const WorkingBytes text = textWorkingBytes(input.text, input.prefillChunk);
    const WorkingBytes draft = draftWorkingBytes(*input.draft, input.text, input.prefillChunk);
    const WorkingBytes vision = visionWorkingBytes(*input.vision);
    EXPECT_GT(vision.shared, text.shared + draft.shared);
    EXPECT_LT(vision.shared, 420 * kMiB);
    const auto working = [&](bool useVision, bool useDraft) {
        return planFor(input, 4096, useVision, useDraft).memory.working;
    };
    EXPECT_EQ(working(true, true), working(true, false));
    EXPECT_EQ(working(true, false) - working(false, false), vision.shared - text.shared);
    EXPECT_EQ(working(false, true) - working(false, false), draft.shared);
}

TEST(Placement, RoomForPicturesEndsWithTheConversation) {
    PlacementInput input = released(64 * 1024);
    const std::int64_t row = 6656 * 4; // of a cell
    const auto room = [&](std::int64_t context) {
        return planFor(input, context, true, true).pictureBytes;
    };
    EXPECT_EQ(room(131072), 256 * kMiB);
    EXPECT_EQ(room(8192), 8192 * row);
    EXPECT_EQ(room(1024), 4096 * row); // one picture of the largest size always fits
    input.vision->maxCells = 45;
    EXPECT_EQ(room(1024), 1024 * row);
}

TEST(Placement, AContextLeavesHalfOfWhatIsLeft) {
    const PlacementPlan least = planFor(released(64 * 1024), 256, true, true);
    for (const std::int64_t spare : {400, 800, 1600}) {
        const std::int64_t free = least.memory.total() / kMiB + spare;
        const PlacementPlan plan = planFor(released(free), 0, true, true);
        EXPECT_TRUE(plan.fits);
        EXPECT_EQ(plan.contextTokens % kContextStep, 0);
        EXPECT_GE(plan.contextTokens, kContextStep);
        EXPECT_LE(plan.memory.total(), (least.memory.total() / kMiB + spare / 2 + 1) * kMiB);
        // The next longer one would take more than half.
        const PlacementPlan longer =
            planFor(released(free), plan.contextTokens + kContextStep, true, true);
        EXPECT_GT(longer.memory.total(), (least.memory.total() / kMiB + spare / 2 - 1) * kMiB);
    }
}

TEST(Placement, AnAskedContextIsCountedExactly) {
    const PlacementPlan a = planFor(released(64 * 1024), 32768, false, false);
    const PlacementPlan b = planFor(released(64 * 1024), 65536, false, false);
    EXPECT_EQ(b.memory.total() - a.memory.total(),
              std::int64_t(32768) * 13 * 1024); // f16, 13 full layers
    EXPECT_EQ(a.memory.vision, 0);
    EXPECT_EQ(a.memory.draft, 0);
    EXPECT_FALSE(planFor(released(8 * 1024), 32768, false, false).fits);
}

TEST(Placement, OffersLessWhereAllDoesNotFit) {
    EXPECT_EQ(planAll(released(64 * 1024)).size(), 4u);
    const auto all = planFor(released(64 * 1024), 256, true, true).memory.total();
    const auto plain = planFor(released(64 * 1024), 256, false, false).memory.total();
    const auto plans = planAll(released((plain + (all - plain) / 4) / kMiB));
    ASSERT_FALSE(plans.empty());
    for (const PlacementPlan& plan : plans) {
        EXPECT_TRUE(plan.fits);
        EXPECT_FALSE(plan.useVision && plan.useDraft);
    }
    const auto none = planAll(released(4 * 1024));
    ASSERT_EQ(none.size(), 1u);
    EXPECT_FALSE(none[0].fits);
}

} // namespace

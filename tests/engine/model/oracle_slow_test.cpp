// The larger trio has the release's shapes and quantised weights; it lies beside the checkout, if
// anywhere. Sessions of both.

#include "tests/engine/model/oracle_run.h"

using namespace engine;
using test::expectParts;
using test::expectSession;

TEST(Oracle, QuantisedTrioMeetsTheExactBoundsInFloat) {
    expectParts("tiny-shape", CpuMath::Float, KvType::F32, 2, 130);
}
TEST(Oracle, QuantisedTrioKeepsItsDistributionInIntegers) {
    expectParts("tiny-shape", CpuMath::Int8, KvType::F16, 2, 75);
}
TEST(Oracle, QuantisedTrioKeepsItsDistributionWithEightBitKeys) {
    expectParts("tiny-shape", CpuMath::Int8, KvType::Q8_0, 2, 70);
}
// Its weights are floats, so the integer arithmetic must meet the exact bounds too.
TEST(Oracle, SmallTrioMeetsTheExactBoundsInTheIntegerArithmetic) {
    expectParts("tiny-f32", CpuMath::Int8, KvType::F32, 2, 147);
}
TEST(Oracle, SmallTrioKeepsItsDistributionWithEightBitKeys) {
    expectParts("tiny-f32", CpuMath::Float, KvType::Q8_0, 2, 95);
}

// Text, drafts and picture rows of quantised weights, on whatever this processor has.
TEST(Oracle, QuantisedTrioComputesTheSameBitsOnEveryProcessor) {
    const auto folder = test::oracleFolder("tiny-shape");
    if (folder.empty()) GTEST_SKIP() << "skipped: fixture not here";
    struct Outcome {
        std::vector<float> logits, drafts, picture;
    };
    const auto compute = [&](Backend& backend) {
        Outcome outcome;
        const auto run = test::openTrio(backend, 64, KvType::F16, "tiny-shape");
        app::TextRun::Wanted wanted;
        wanted.feedDrafter = true;
        for (const std::size_t count : {90, 1, 16}) { // rows in tiles, alone, and as a verification
            auto rows = run->read(test::someIds(count), {}, wanted);
            EXPECT_TRUE(rows.ok());
            outcome.logits.insert(outcome.logits.end(), rows->logits.begin(), rows->logits.end());
        }
        const auto drafts = run->draft().draft(17, run->draftCache(), {});
        EXPECT_TRUE(drafts.ok());
        outcome.drafts = app::hostRows(backend, *drafts);

        const auto vision = app::VisionRun::open(backend, folder / "mmproj.gguf", 1e-5f, 88);
        EXPECT_TRUE(vision.ok());
        auto image = readImage(folder / "images" / "alpha.png");
        EXPECT_TRUE(image.ok());
        const VisionSpec& spec = (*vision)->spec();
        const PixelSize size =
            gridSize({image->width, image->height}, spec.cellPixels(), spec.maxCells);
        const auto picture =
            (*vision)->model().encode(cutPatches(resampleLanczos(*image, size), spec), {});
        EXPECT_TRUE(picture.ok());
        outcome.picture = app::hostRows(backend, *picture);
        return outcome;
    };
    const auto reference = test::processor(CpuMath::Int8, 1, CpuInstructions::Reference);
    const Outcome wanted = compute(*reference);
    int compared = 0;
    for (const CpuInstructions instructions : test::kAllInstructions) {
        for (const int threads : {1, 2}) {
            const auto made = CpuBackend::make({CpuMath::Int8, threads, instructions});
            if (!made) continue; // this processor lacks them
            const Outcome outcome = compute(**made);
            test::expectSameBits(outcome.logits, wanted.logits, "logits");
            test::expectSameBits(outcome.drafts, wanted.drafts, "drafts");
            test::expectSameBits(outcome.picture, wanted.picture, "picture rows");
            ++compared;
        }
    }
    EXPECT_GE(compared, 4); // at least the reference and the automatic choice
}

TEST(OracleSession, SmallTrioWritesTheReferencesText) {
    expectSession("tiny-f32", CpuMath::Float, KvType::F32, 1, 36);
}
TEST(OracleSession, QuantisedTrioWritesTheSameTextAtEveryDraftLength) {
    expectSession("tiny-shape", CpuMath::Int8, KvType::F16, 2, 18);
}

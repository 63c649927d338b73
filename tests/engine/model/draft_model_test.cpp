#include "engine/model/draft_model.h"

#include "tests/engine/model/model_fixture.h"

using namespace engine;
using namespace test;
using app::hostRows;
using app::TextRun;

namespace {

std::vector<float> draftAfter(TextRun& run, std::span<const std::int32_t> ids,
                              std::span<const std::size_t> pieces) {
    TextRun::Wanted wanted;
    wanted.feedDrafter = true;
    run.clear();
    std::size_t first = 0;
    for (std::size_t i = 0; first < ids.size(); ++i) {
        const std::size_t count = std::min(pieces[i % pieces.size()], ids.size() - first);
        EXPECT_TRUE(run.read(ids.subspan(first, count), {}, wanted).ok());
        first += count;
    }
    const auto rows = run.draft().draft(17, run.draftCache(), {});
    EXPECT_TRUE(rows.ok());
    return hostRows(run.backend(), *rows);
}

} // namespace

TEST(DraftModel, DraftsDoNotDependOnHowTheContextCameIn) {
    for (const CpuMath math : {CpuMath::Float, CpuMath::Int8}) {
        const auto backend = processor(math);
        const auto run = openTrio(*backend);
        const auto ids = someIds(300);
        const std::size_t whole[] = {64}, mixed[] = {1, 16, 3, 64};
        expectSameBits(draftAfter(*run, ids, whole), draftAfter(*run, ids, mixed), "rows");
    }
}

TEST(DraftModel, ABlockLeavesNoTrace) {
    const auto backend = processor();
    const auto run = openTrio(*backend);
    const auto ids = someIds(120);
    const std::size_t whole[] = {64};
    const std::vector<float> first = draftAfter(*run, ids, whole);
    EXPECT_EQ(run->draftCache().length(), 120); // the block's own keys are not committed
    const auto other = run->draft().draft(99, run->draftCache(), {});
    ASSERT_TRUE(other.ok());
    const auto again = run->draft().draft(17, run->draftCache(), {});
    ASSERT_TRUE(again.ok());
    expectSameBits(first, hostRows(*backend, *again), "rows");
}

TEST(DraftModel, BlockFitsAtTheVeryEndOfTheContext) {
    const auto backend = processor();
    const auto run = openTrio(*backend);
    const std::size_t whole[] = {64};
    EXPECT_FALSE(
        draftAfter(*run, someIds(600), whole).empty()); // all positions that the caches hold
}

TEST(DraftModel, StopCommitsNothing) {
    const auto backend = processor();
    const auto run = openTrio(*backend);
    const std::size_t whole[] = {64};
    const auto ids = someIds(100);
    draftAfter(*run, ids, whole);
    std::stop_source stop;
    stop.request_stop();
    const auto appended =
        run->draft().appendContext(run->draftTaps(10), 100, run->draftCache(), stop.get_token());
    ASSERT_FALSE(appended.ok());
    EXPECT_EQ(appended.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(run->draftCache().length(), 100);
    const auto drafted = run->draft().draft(17, run->draftCache(), stop.get_token());
    ASSERT_FALSE(drafted.ok());
    EXPECT_EQ(drafted.error().code, ErrorCode::Cancelled);
}

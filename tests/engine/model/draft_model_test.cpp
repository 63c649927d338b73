#include "engine/model/draft_model.h"

#include "tests/engine/model/model_fixture.h"

#include <algorithm>

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

TEST(DraftModel, TokensAreTheLargestOfTheRows) {
    const auto backend = processor();
    const auto run = openTrio(*backend);
    const std::size_t whole[] = {64};
    const std::vector<float> rows = draftAfter(*run, someIds(120), whole);
    const std::int64_t count = run->draft().spec().blockSize - 1;
    const std::int64_t columns = std::int64_t(rows.size()) / count;
    auto memory = backend->allocate(count * 4, "tokens");
    ASSERT_TRUE(memory.ok());
    for (const std::int64_t wanted : {count, std::int64_t(1)}) {
        const Tensor ids = memory->tensor(ElementType::I32, wanted, 1);
        ASSERT_TRUE(run->draft().draftTokens(17, run->draftCache(), {}, ids).ok());
        std::vector<std::int32_t> tokens(static_cast<std::size_t>(wanted));
        ASSERT_TRUE(backend->copyOut(ids, std::as_writable_bytes(std::span(tokens))).ok());
        for (std::int64_t i = 0; i < wanted; ++i) {
            const auto row =
                std::span(rows).subspan(std::size_t(i * columns), std::size_t(columns));
            EXPECT_EQ(tokens[std::size_t(i)],
                      std::max_element(row.begin(), row.end()) - row.begin());
        }
    }
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

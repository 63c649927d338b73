#include "engine/model/text_model.h"

#include "tests/engine/model/model_fixture.h"

using namespace engine;
using namespace test;
using app::TextRun;

namespace {

TextRun::Rows readAll(TextRun& run, std::span<const std::int32_t> ids,
                      std::span<const std::size_t> pieces) {
    TextRun::Rows all;
    std::size_t first = 0;
    TextRun::Wanted wanted;
    wanted.taps = {0, 3, run.text().spec().layers};
    wanted.hidden = true;
    for (std::size_t i = 0; first < ids.size(); ++i) {
        const std::size_t count = std::min(pieces[i % pieces.size()], ids.size() - first);
        auto rows = run.read(ids.subspan(first, count), {}, wanted);
        EXPECT_TRUE(rows.ok());
        for (const auto part :
             {&TextRun::Rows::logits, &TextRun::Rows::taps, &TextRun::Rows::hidden})
            (all.*part).insert((all.*part).end(), ((*rows).*part).begin(), ((*rows).*part).end());
        first += count;
    }
    return all;
}

void expectSame(const TextRun::Rows& a, const TextRun::Rows& b) {
    expectSameBits(a.logits, b.logits, "logits");
    expectSameBits(a.taps, b.taps, "taps");
    expectSameBits(a.hidden, b.hidden, "hidden");
}

class TextModelArithmetic : public testing::TestWithParam<std::tuple<CpuMath, KvType>> {};

} // namespace

// The promise on which drafting rests: what a row becomes does not depend on its company.
TEST_P(TextModelArithmetic, RowsDoNotDependOnHowTheTextWasCut) {
    const auto [math, kvType] = GetParam();
    const auto backend = processor(math);
    const auto ids = someIds(300); // several windows of 32, and past the end of the ring
    const auto run = openTrio(*backend, 64, kvType);
    const std::size_t whole[] = {64}, single[] = {1}, mixed[] = {16, 1, 5, 64, 2, 31};
    const TextRun::Rows first = readAll(*run, ids, whole);
    for (const auto pieces :
         {std::span<const std::size_t>(single), std::span<const std::size_t>(mixed)}) {
        run->clear();
        expectSame(first, readAll(*run, ids, pieces));
    }
}

INSTANTIATE_TEST_SUITE_P(All, TextModelArithmetic,
                         testing::Combine(testing::Values(CpuMath::Float, CpuMath::Int8),
                                          testing::Values(KvType::F32, KvType::F16, KvType::Q8_0)));

TEST(TextModel, LargestAreThoseOfItsLogits) {
    const auto backend = processor(CpuMath::Int8);
    const auto run = openTrio(*backend);
    const std::size_t whole[] = {64};
    readAll(*run, someIds(40), whole);
    constexpr std::int64_t kFirst = 3, kCount = 5, kTop = 7;
    TextModel& text = run->text();
    const Tensor logits = text.logits(kFirst, kCount);
    auto memory = backend->allocate(4 * kCount * (2 + 4 * kTop), "chosen");
    ASSERT_TRUE(memory.ok());
    std::int64_t used = 0;
    const auto room = [&](ElementType type, std::int64_t columns) {
        const Tensor tensor = memory->tensor(type, kCount, columns, used);
        used += kCount * columns * 4;
        return tensor;
    };
    const Tensor best = room(ElementType::I32, 1), sameBest = room(ElementType::I32, 1);
    const Tensor ids = room(ElementType::I32, kTop), sameIds = room(ElementType::I32, kTop);
    const Tensor values = room(ElementType::F32, kTop), sameValues = room(ElementType::F32, kTop);
    backend->argmax(logits, sameBest);
    backend->largest(logits, sameValues, sameIds);
    text.largest(kFirst, kCount, {}, best);
    text.largest(kFirst, kCount, values, ids);
    const auto bits = [&](const Tensor& tensor) {
        std::vector<std::int32_t> out(static_cast<std::size_t>(tensor.rows * tensor.columns));
        EXPECT_TRUE(backend->copyOut(tensor, std::as_writable_bytes(std::span(out))).ok());
        return out;
    };
    EXPECT_EQ(bits(best), bits(sameBest));
    EXPECT_EQ(bits(ids), bits(sameIds));
    EXPECT_EQ(bits(values), bits(sameValues));
}

TEST(TextModel, RowsDoNotDependOnThreadsOrInstructions) {
    const auto ids = someIds(70);
    const std::size_t pieces[] = {50, 1, 16};
    const auto reference = processor(CpuMath::Int8, 1, CpuInstructions::Reference);
    const TextRun::Rows wanted = readAll(*openTrio(*reference), ids, pieces);
    for (const auto instructions : kAllInstructions) {
        for (const int threads : {1, 2}) {
            const auto made = CpuBackend::make({CpuMath::Int8, threads, instructions});
            if (!made) continue; // this processor lacks them
            const auto run = openTrio(**made);
            expectSame(wanted, readAll(*run, ids, pieces));
        }
    }
}

TEST(TextModel, RewindThenOtherTextEqualsReadingItFromTheStart) {
    const auto backend = processor();
    const auto run = openTrio(*backend);
    const auto ids = someIds(200);
    const auto other = someIds(260);
    ASSERT_TRUE(run->read(ids, {}, {}).ok());
    ASSERT_TRUE(run->cache().canRewind(150));
    run->cache().rewind(150);
    const auto again = run->read(std::span(other).subspan(200, 50), {}, {});
    ASSERT_TRUE(again.ok());

    std::vector<std::int32_t> spliced(ids.begin(), ids.begin() + 150);
    spliced.insert(spliced.end(), other.begin() + 200, other.begin() + 250);
    run->clear();
    TextRun::Wanted wanted;
    wanted.firstLogits = 150;
    const auto fresh = run->read(spliced, {}, wanted);
    ASSERT_TRUE(fresh.ok());
    expectSameBits(again->logits, fresh->logits, "logits");
}

TEST(TextModel, SnapshotRestoreEqualsRecompute) {
    const auto backend = processor();
    const auto run = openTrio(*backend);
    const auto ids = someIds(580);
    ASSERT_TRUE(run->read(std::span(ids).first(60), {}, {}).ok());
    const auto snapshot = run->cache().snapshot();
    ASSERT_TRUE(snapshot.ok());
    const auto first = run->read(std::span(ids).subspan(60, 40), {}, {});
    ASSERT_TRUE(run->read(std::span(ids).subspan(100, 480), {}, {}).ok());
    ASSERT_FALSE(run->cache().canRewind(60)); // the ring has gone round
    run->cache().restore(*snapshot);
    const auto second = run->read(std::span(ids).subspan(60, 40), {}, {});
    ASSERT_TRUE(first.ok() && second.ok());
    expectSameBits(first->logits, second->logits, "logits");
}

TEST(TextModel, StopLeavesTheCacheAsItWas) {
    const auto backend = processor();
    const auto run = openTrio(*backend);
    const auto ids = someIds(100);
    ASSERT_TRUE(run->read(std::span(ids).first(60), {}, {}).ok());
    std::stop_source stop;
    stop.request_stop();
    TextModel::Input input;
    input.ids = std::span(ids).subspan(60, 40);
    input.firstPosition = 60;
    const auto stopped = run->text().forward(input, run->cache(), {}, stop.get_token());
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(run->cache().length(), 60);
    TextRun::Wanted wanted;
    const auto after = run->read(std::span(ids).subspan(60, 40), {}, wanted);
    run->clear();
    wanted.firstLogits = 60;
    const auto fresh = run->read(ids, {}, wanted);
    ASSERT_TRUE(after.ok() && fresh.ok());
    expectSameBits(after->logits, fresh->logits, "logits");
}

TEST(TextModel, PictureRowsTakeThePlaceOfTokensWhereverTheTextIsCut) {
    const auto backend = processor();
    const auto run = openTrio(*backend);
    const auto ids = someIds(90);
    const int width = run->text().spec().width;
    auto memory = backend->allocate(30 * width * 4, "rows");
    ASSERT_TRUE(memory.ok());
    const Tensor rows = memory->tensor(ElementType::F32, 30, width);
    std::vector<float> values;
    for (std::int64_t i = 0; i < 30 * width; ++i) values.push_back(float((i * 37) % 101) / 50 - 1);
    backend->copyIn(std::as_bytes(std::span(values)), rows);
    const TextRun::ImageRows image[] = {
        {50, rows}}; // rows 50 .. 79 lie across the chunk border at 64
    TextRun::Wanted wanted;
    wanted.taps = {0};
    const auto read = run->read(ids, image, wanted);
    ASSERT_TRUE(read.ok());
    const std::vector<float> replaced(read->taps.begin() + 50 * width,
                                      read->taps.begin() + 80 * width);
    expectSameBits(replaced, values, "rows");

    const auto larger = openTrio(*backend, 90);
    const auto atOnce = larger->read(ids, image, wanted);
    ASSERT_TRUE(atOnce.ok());
    expectSameBits(read->logits, atOnce->logits, "logits");
}

#include "engine/runtime/kv_cache.h"

#include "engine/backend/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <random>

using namespace engine;

namespace {

std::unique_ptr<Backend> cpu() {
    auto backend = CpuBackend::make({CpuMath::Float, 1, CpuInstructions::Reference});
    EXPECT_TRUE(backend.ok());
    return std::move(*backend);
}

// Layer 0 slides, layer 1 is full.
KvShape smallShape() {
    KvShape shape;
    shape.kvHeads = 1;
    shape.headSize = 4;
    shape.sliding = {true, false};
    shape.window = 100;
    shape.context = 2000;
    shape.maxBatch = 20; // the ring: 120 rows, rounded up to 256
    shape.type = KvType::F32;
    return shape;
}

// Writes what a model would: every value of a row tells its layer, kind, position and text.
class Writer {
public:
    explicit Writer(KvCache& cache, Backend& backend) : m_cache(cache), m_backend(backend) {}

    void write(std::int64_t rows, float text) {
        const std::int64_t first = m_cache.length();
        m_cache.aboutToWrite(rows);
        for (std::int64_t p = first; p < first + rows; ++p)
            for (int layer = 0; layer < 2; ++layer) {
                put(m_cache.layer(layer).keys, m_cache.layer(layer).capacity, p, text);
                put(m_cache.layer(layer).values, m_cache.layer(layer).capacity, p, -text);
            }
    }
    void writeAndCommit(std::int64_t rows, float text) {
        const std::int64_t end = m_cache.length() + rows;
        write(rows, text);
        m_cache.commit(end);
    }
    // Whether the layer still holds what was written for this position.
    bool holds(int layer, std::int64_t p, float text) const {
        const KvLayer& rows = m_cache.layer(layer);
        return at(rows.keys, rows.capacity, p) == text * 10000 + float(p) &&
               at(rows.values, rows.capacity, p) == -text * 10000 + float(p);
    }

private:
    void put(Tensor ring, std::int64_t capacity, std::int64_t p, float text) {
        const std::vector<float> row(4, text * 10000 + float(p));
        m_backend.copyIn(std::as_bytes(std::span(row)), ring.rowRange(p % capacity, 1));
    }
    float at(Tensor ring, std::int64_t capacity, std::int64_t p) const {
        std::vector<float> row(4);
        EXPECT_TRUE(
            m_backend
                .copyOut(ring.rowRange(p % capacity, 1), std::as_writable_bytes(std::span(row)))
                .ok());
        return row[0];
    }
    KvCache& m_cache;
    Backend& m_backend;
};

std::unique_ptr<KvCache> make(Backend& backend, const KvShape& shape = smallShape()) {
    auto cache = KvCache::make(backend, shape);
    EXPECT_TRUE(cache.ok()) << (cache.ok() ? "" : cache.error().message);
    return std::move(*cache);
}

} // namespace

TEST(KvCache, RingHoldsWindowAndBatchButNeverMoreThanTheContext) {
    KvShape shape = smallShape();
    EXPECT_EQ(shape.ringRows(), 256);
    shape.maxBatch = 157;
    EXPECT_EQ(shape.ringRows(), 512);
    shape.context = 300;
    EXPECT_EQ(shape.ringRows(), 300);
}

TEST(KvCache, RowTakesWhatItsTypeNeeds) {
    KvShape shape = smallShape();
    shape.kvHeads = 2;
    shape.headSize = 128;
    shape.type = KvType::F16;
    EXPECT_EQ(shape.rowBytes(), 1024);
    shape.type = KvType::Q8_0;
    EXPECT_EQ(shape.rowBytes(), 544);
}

TEST(KvCache, WidestReleaseShapesTakeThePublishedMemory) {
    // 13 full and 39 sliding layers of 2 x 128 at 131,072 tokens, ring of 2,560 rows, 16 bits.
    KvShape shape;
    shape.kvHeads = 2;
    shape.headSize = 128;
    for (int i = 0; i < 52; ++i) shape.sliding.push_back(i % 4 != 3);
    shape.window = 2048;
    shape.context = 131072;
    shape.maxBatch = 512;
    shape.type = KvType::F16;
    EXPECT_EQ(shape.totalBytes(), 13ll * 131072 * 1024 + 39ll * 2560 * 1024);
}

TEST(KvCache, EightBitRowsNeedHeadsOfWholeBlocks) {
    const auto backend = cpu();
    KvShape shape = smallShape();
    shape.type = KvType::Q8_0;
    const auto cache = KvCache::make(*backend, shape);
    ASSERT_FALSE(cache.ok());
    EXPECT_EQ(cache.error().code, ErrorCode::Unsupported);
}

TEST(KvCache, FullLayersKeepEveryRow) {
    const auto backend = cpu();
    const auto cache = make(*backend);
    Writer writer(*cache, *backend);
    while (cache->length() < 1000) writer.writeAndCommit(20, 1);
    for (std::int64_t p = 0; p < 1000; ++p) ASSERT_TRUE(writer.holds(1, p, 1)) << p;
}

TEST(KvCache, RewindKeepsTheWindow) {
    const auto backend = cpu();
    const auto cache = make(*backend);
    Writer writer(*cache, *backend);
    const unsigned seed = 20260815;
    RecordProperty("seed", static_cast<int>(seed));
    std::mt19937 random(seed);
    for (int step = 0; step < 2000; ++step) {
        // A pass of up to 20 rows of which some are kept, as with drafts.
        const auto rows = std::int64_t(random() % 20 + 1);
        if (cache->length() + rows > cache->shape().context) {
            cache->clear();
            continue;
        }
        const std::int64_t start = cache->length();
        writer.write(rows, 1);
        cache->commit(start + std::int64_t(random() % static_cast<unsigned>(rows + 1)));
        ASSERT_TRUE(cache->canRewind(start))
            << "seed " << seed; // over the drafts of one pass, always

        // Wherever it says one may go back to, the window before that place is there.
        const auto length = std::int64_t(random() % static_cast<unsigned>(cache->length() + 1));
        if (cache->canRewind(length)) {
            for (std::int64_t p = std::max<std::int64_t>(0, length - 99); p < length; ++p)
                ASSERT_TRUE(writer.holds(0, p, 1)) << "seed " << seed << " position " << p;
            if (random() % 4 == 0) cache->rewind(length);
        }
        ASSERT_TRUE(cache->canRewind(cache->length()));
    }
}

TEST(KvCache, RefusesToGoBackToRowsThatAreOverwritten) {
    const auto backend = cpu();
    const auto cache = make(*backend);
    Writer writer(*cache, *backend);
    while (cache->length() < 600) writer.writeAndCommit(20, 1);
    // The ring holds 344 .. 599, so the window of 99 rows is whole from 443 on.
    EXPECT_TRUE(cache->canRewind(443));
    EXPECT_FALSE(cache->canRewind(442));
    EXPECT_TRUE(cache->canRewind(0)); // needs nothing
    EXPECT_FALSE(cache->canRewind(601));
    EXPECT_FALSE(cache->canRewind(-1));
}

TEST(KvCache, CancelledPassCostsTheRowsItMayHaveOverwritten) {
    const auto backend = cpu();
    const auto cache = make(*backend);
    Writer writer(*cache, *backend);
    while (cache->length() < 600) writer.writeAndCommit(20, 1);
    cache->aboutToWrite(20); // and is then cancelled
    EXPECT_EQ(cache->length(), 600);
    EXPECT_TRUE(cache->canRewind(463));
    EXPECT_FALSE(cache->canRewind(462));
}

TEST(KvCache, SnapshotBringsBackWhatWasOverwritten) {
    const auto backend = cpu();
    const auto cache = make(*backend);
    Writer writer(*cache, *backend);
    while (cache->length() < 300) writer.writeAndCommit(20, 1); // its window passes the ring's end
    auto snapshot = cache->snapshot();
    ASSERT_TRUE(snapshot.ok());
    EXPECT_EQ(snapshot->length, 300);
    EXPECT_EQ(snapshot->bytes(), 99 * 2 * 16); // the window of one layer, not its ring
    while (cache->length() < 1000) writer.writeAndCommit(20, 2);
    ASSERT_FALSE(cache->canRewind(300));

    cache->restore(*snapshot);
    EXPECT_EQ(cache->length(), 300);
    for (std::int64_t p = 201; p < 300; ++p) ASSERT_TRUE(writer.holds(0, p, 1)) << p;
    for (std::int64_t p = 0; p < 300; ++p) ASSERT_TRUE(writer.holds(1, p, 1)) << p;
    // Rows before the copied window are gone; going on and returning once more works.
    EXPECT_TRUE(cache->canRewind(300));
    EXPECT_FALSE(cache->canRewind(299));
    while (cache->length() < 800) writer.writeAndCommit(20, 3);
    cache->restore(*snapshot);
    for (std::int64_t p = 201; p < 300; ++p) ASSERT_TRUE(writer.holds(0, p, 1)) << p;
}

TEST(KvCache, SnapshotOfAShortTextIsShort) {
    const auto backend = cpu();
    const auto cache = make(*backend);
    Writer writer(*cache, *backend);
    auto empty = cache->snapshot();
    ASSERT_TRUE(empty.ok());
    EXPECT_EQ(empty->bytes(), 0);
    writer.writeAndCommit(7, 1);
    auto seven = cache->snapshot();
    ASSERT_TRUE(seven.ok());
    EXPECT_EQ(seven->bytes(), 7 * 2 * 16);
    writer.writeAndCommit(20, 2);
    cache->restore(*seven);
    EXPECT_EQ(cache->length(), 7);
    EXPECT_TRUE(cache->canRewind(3)); // nothing before is missing
    cache->restore(*empty);
    EXPECT_EQ(cache->length(), 0);
}

TEST(KvCache, ClearForgetsEverything) {
    const auto backend = cpu();
    const auto cache = make(*backend);
    Writer writer(*cache, *backend);
    while (cache->length() < 600) writer.writeAndCommit(20, 1);
    cache->clear();
    EXPECT_EQ(cache->length(), 0);
    writer.writeAndCommit(5, 2);
    EXPECT_TRUE(cache->canRewind(5));
    EXPECT_TRUE(cache->canRewind(2));
    EXPECT_FALSE(cache->canRewind(6));
}

// Attention over caches: against double precision, at window and split edges, across a ring's end,
// and the promise that a position's result does not depend on how many positions were computed
// together.

#include "backend_fixture.h"

#include "engine/quant/half.h"

#include <cmath>

namespace engine::test {
namespace {

struct Cache {
    Cache(CpuBackend& backend, ElementType type, std::int64_t capacity,
          const AttentionShape& shape) {
        const std::int64_t columns = std::int64_t(shape.kvHeads) * shape.headSize;
        const std::int64_t bytes = capacity * elementBytes(type, columns);
        keys = std::move(*backend.allocate(bytes, "keys"));
        values = std::move(*backend.allocate(bytes, "values"));
        layer = {keys.tensor(type, capacity, columns), values.tensor(type, capacity, columns),
                 capacity};
    }
    Buffer keys, values;
    KvLayer layer;
};

Rows slice(const Rows& x, std::int64_t first, std::int64_t count) {
    Rows r(count, x.columns);
    std::copy_n(x.row(first), count * x.columns, r.values.begin());
    return r;
}

// Rows first .. first+count-1 of q, k, v are positions; writes them and attends.
Rows step(CpuBackend& backend, Cache& cache, const AttentionShape& shape, const AttentionSpan& span,
          const Rows& q, const Rows& k, const Rows& v, std::int64_t first, std::int64_t count) {
    Rows kk = slice(k, first, count), vv = slice(v, first, count), qq = slice(q, first, count),
         out(count, q.columns);
    IntRows positions = ascending(first, count);
    backend.kvWrite(cache.layer, kk.tensor(), vv.tensor(), positions.tensor());
    backend.attention(qq.tensor(), cache.layer, positions.tensor(), shape, span, out.tensor());
    return out;
}

Rows run(CpuBackend& backend, ElementType type, std::int64_t capacity, const AttentionShape& shape,
         const AttentionSpan& span, const Rows& q, const Rows& k, const Rows& v,
         std::int64_t chunk) {
    Cache cache(backend, type, capacity, shape);
    Rows out(q.rows, q.columns);
    for (std::int64_t at = 0; at < q.rows; at += chunk) {
        const Rows part =
            step(backend, cache, shape, span, q, k, v, at, std::min(chunk, q.rows - at));
        std::copy(part.values.begin(), part.values.end(), out.values.begin() + at * q.columns);
    }
    return out;
}

double exactValue(const AttentionShape& shape, const Rows& q, const Rows& k, const Rows& v,
                  std::int64_t position, int head, int d, std::int64_t from, std::int64_t to) {
    const int group = head / (shape.heads / shape.kvHeads), size = shape.headSize;
    double top = 0, bottom = 0, largest = -1e300;
    std::vector<double> scores;
    for (std::int64_t j = from; j < to; ++j) {
        double s = 0;
        for (int i = 0; i < size; ++i)
            s += double(q.row(position)[head * size + i]) * k.row(j)[group * size + i];
        scores.push_back(s / std::sqrt(double(size)));
        largest = std::max(largest, scores.back());
    }
    for (std::int64_t j = from; j < to; ++j) {
        const double w = std::exp(scores[std::size_t(j - from)] - largest);
        bottom += w;
        top += w * v.row(j)[group * size + d];
    }
    return top / bottom;
}

TEST(Attention, AgreesWithDoublePrecisionAtWindowAndSplitEdges) {
    const AttentionShape shape{4, 2, 40}; // a head that is no multiple of the lanes
    const std::int64_t n = 1100;
    const Rows q = noise(n, 160, 1), k = noise(n, 80, 2), v = noise(n, 80, 3);
    auto backend = makeBackend(CpuInstructions::Automatic, 2);
    for (const std::int64_t window : {std::int64_t(0), std::int64_t(300)}) {
        AttentionSpan span;
        if (window) span.left = window - 1;
        const Rows out =
            run(*backend, ElementType::F32, window ? 512 : 1152, shape, span, q, k, v, 50);
        for (const std::int64_t p : {0, 1, 63, 64, 255, 256, 257, 299, 300, 301, 511, 512, 513, 555,
                                     556, 1023, 1024, 1099})
            for (int head = 0; head < 4; ++head)
                for (const int d : {0, 17, 39}) {
                    const std::int64_t from =
                        window ? std::max<std::int64_t>(0, p - window + 1) : 0;
                    EXPECT_NEAR(out.row(p)[head * 40 + d],
                                exactValue(shape, q, k, v, p, head, d, from, p + 1), 1e-5)
                        << "position " << p << " window " << window;
                }
    }
}

TEST(Attention, ChunksThreadsAndInstructionSetsGiveTheSameBits) {
    const AttentionShape shape{6, 2, 64};
    const std::int64_t n = 560;
    const Rows q = noise(n, 384, 1), k = noise(n, 128, 2), v = noise(n, 128, 3);
    for (const ElementType type : {ElementType::F32, ElementType::F16, ElementType::Q8_0})
        for (const bool sliding : {false, true}) {
            AttentionSpan span;
            if (sliding) span.left = 99;
            const std::int64_t capacity = sliding ? 256 : 576; // the ring goes round twice
            auto backend = makeBackend(CpuInstructions::Automatic, 1);
            const Rows expected = run(*backend, type, capacity, shape, span, q, k, v, 1);
            for (const int threads : {1, 2, 3})
                for (const std::int64_t chunk : {7, 16, 100}) {
                    auto other = makeBackend(CpuInstructions::Automatic, threads);
                    EXPECT_EQ(difference(run(*other, type, capacity, shape, span, q, k, v, chunk),
                                         expected),
                              "")
                        << threads << " threads, chunks of " << chunk << ", sliding " << sliding;
                }
            for (const CpuInstructions set : instructionSets()) {
                auto other = makeBackend(set, 2);
                EXPECT_EQ(
                    difference(run(*other, type, capacity, shape, span, q, k, v, 130), expected),
                    "")
                    << other->name();
            }
        }
}

TEST(Attention, LongContextsNeedSeveralWaves) {
    // 33 splits and more: states are merged in portions.
    const AttentionShape shape{2, 1, 32};
    const std::int64_t n = 512 * 34 + 10;
    const Rows q = noise(n, 64, 1), k = noise(n, 32, 2), v = noise(n, 32, 3);
    auto backend = makeBackend(CpuInstructions::Automatic, 2);
    Cache cache(*backend, ElementType::F32, n, shape);
    Rows kk = slice(k, 0, n - 3), vv = slice(v, 0, n - 3);
    IntRows positions = ascending(0, n - 3);
    backend->kvWrite(cache.layer, kk.tensor(), vv.tensor(), positions.tensor());
    const Rows out = step(*backend, cache, shape, {}, q, k, v, n - 3, 3);
    for (const int d : {0, 31})
        EXPECT_NEAR(out.row(2)[d], exactValue(shape, q, k, v, n - 1, 0, d, 0, n), 1e-5);
}

TEST(Attention, TheDraftersBlockLooksBothWays) {
    const AttentionShape shape{4, 2, 32};
    const std::int64_t window = 40, context = 100, block = 16;
    const Rows q = noise(context + block, 128, 1), k = noise(context + block, 64, 2),
               v = noise(context + block, 64, 3);
    auto backend = makeBackend(CpuInstructions::Automatic, 2);
    Cache cache(*backend, ElementType::F32, 128, shape);
    Rows kk = slice(k, 0, context), vv = slice(v, 0, context);
    IntRows positions = ascending(0, context);
    backend->kvWrite(cache.layer, kk.tensor(), vv.tensor(), positions.tensor());
    AttentionSpan span;
    span.left = span.right = window;
    const Rows out = step(*backend, cache, shape, span, q, k, v, context, block);
    for (std::int64_t i = 0; i < block; ++i)
        for (const int d : {0, 13}) {
            const std::int64_t p = context + i;
            EXPECT_NEAR(out.row(i)[96 + d],
                        exactValue(shape, q, k, v, p, 3, d, p - window, context + block), 1e-5);
        }
}

TEST(Attention, StaleRowsOfTheRingAreNeverSeen) {
    const AttentionShape shape{2, 1, 32};
    const Rows q = noise(70, 64, 1), k = noise(70, 32, 2), v = noise(70, 32, 3);
    auto backend = makeBackend(CpuInstructions::Automatic);
    AttentionSpan span;
    span.left = 9;
    const Rows clean = run(*backend, ElementType::F32, 64, shape, span, q, k, v, 10);
    Cache cache(*backend, ElementType::F32, 64, shape);
    std::fill_n(reinterpret_cast<float*>(cache.keys.data()), 64 * 32, NAN);
    std::fill_n(reinterpret_cast<float*>(cache.values.data()), 64 * 32, NAN);
    for (std::int64_t at = 0; at < 70; at += 10)
        EXPECT_EQ(
            difference(step(*backend, cache, shape, span, q, k, v, at, 10), slice(clean, at, 10)),
            "");
}

TEST(KvWrite, RoundsToTheCachesType) {
    const AttentionShape shape{1, 1, 64};
    for (const CpuInstructions set : instructionSets()) {
        auto backend = makeBackend(set);
        Rows k = noise(3, 64, 7), v = noise(3, 64, 8);
        std::fill_n(k.row(1), 32, 0.0f);
        k.row(2)[0] = 1e30f; // beyond a half
        v.row(2)[5] = 1e-7f;
        IntRows positions({9, 4, 2});
        Cache half(*backend, ElementType::F16, 8, shape),
            eight(*backend, ElementType::Q8_0, 8, shape);
        backend->kvWrite(half.layer, k.tensor(), v.tensor(), positions.tensor());
        backend->kvWrite(eight.layer, k.tensor(), v.tensor(), positions.tensor());
        for (int r = 0; r < 3; ++r) {
            const std::int64_t slot = positions.values[std::size_t(r)] % 8;
            const auto* h =
                reinterpret_cast<const std::uint16_t*>(half.layer.keys.data + slot * 128);
            const auto* q =
                reinterpret_cast<const std::uint8_t*>(eight.layer.keys.data + slot * 68);
            for (int i = 0; i < 64; ++i) EXPECT_EQ(h[i], floatToHalf(k.row(r)[i]));
            for (int b = 0; b < 2; ++b) {
                float m = 0;
                for (int i = 0; i < 32; ++i) m = std::fmax(m, std::fabs(k.row(r)[b * 32 + i]));
                const std::uint16_t d = floatToHalf(std::fmin(m / 127.0f, 65504.0f));
                EXPECT_EQ(std::memcmp(q + b * 34, &d, 2), 0);
                const float scale = halfToFloat(d);
                for (int i = 0; i < 32; ++i) {
                    const float x = k.row(r)[b * 32 + i];
                    const float expected =
                        scale > 0 ? std::fmin(127.0f, std::fmax(-127.0f, std::nearbyint(x / scale)))
                                  : 0.0f;
                    EXPECT_EQ(static_cast<std::int8_t>(q[b * 34 + 2 + i]),
                              static_cast<int>(expected))
                        << backend->name();
                }
            }
        }
    }
}

TEST(GroupAttention, EveryRowSeesItsWholeGroup) {
    const AttentionShape shape{3, 3, 24};
    const std::int64_t n = 230;
    Rows q = noise(n, 72, 1), k = noise(n, 72, 2), v = noise(n, 72, 3);
    const std::vector<std::int32_t> starts{0, 1, 66, 66, 230};
    Rows expected(0, 0);
    for (const CpuInstructions set : instructionSets())
        for (const int threads : {1, 2, 3}) {
            auto backend = makeBackend(set, threads);
            Rows out(n, 72);
            backend->groupAttention(q.tensor(), k.tensor(), v.tensor(), shape, starts,
                                    out.tensor());
            Rows inPlace = q;
            backend->groupAttention(inPlace.tensor(), k.tensor(), v.tensor(), shape, starts,
                                    inPlace.tensor());
            EXPECT_EQ(difference(inPlace, out), "") << threads << " threads";
            if (expected.values.empty()) {
                expected = out;
                for (const std::int64_t r : {0, 1, 65, 66, 150, 229}) {
                    const std::int64_t from = r < 1    ? 0
                                              : r < 66 ? 1
                                                       : 66,
                                       to = r < 1    ? 1
                                            : r < 66 ? 66
                                                     : 230;
                    for (const int d : {0, 23})
                        EXPECT_NEAR(out.row(r)[24 + d],
                                    exactValue(shape, q, k, v, r, 1, d, from, to), 1e-5);
                }
            } else {
                EXPECT_EQ(difference(out, expected), "") << backend->name();
            }
        }
}

} // namespace
} // namespace engine::test

// glint-cuda-attention-bench: how fast attention is on the card, in the shapes of the full-size
// trio: decoding and verifying (from the partial sums of the projections to quantised rows, as in a
// pass, without the products), reading a prompt, and the vision tower.
//
// Per line: recorded steps of calls one after the other, over caches of several layers that
// together are larger than the second-level cache; median per call of eleven runs, and the spread.

#include "must.h"

#include "cuda/attention.h"
#include "cuda/cuda_backend.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace engine;

constexpr std::int64_t kDistinctBytes = std::int64_t(200) << 20; // of keys and values

struct Time {
    double median = 0, lowest = 0, highest = 0; // us
};

class Bench {
public:
    explicit Bench(cuda::CudaBackend& backend) : m_backend(backend) {}

    // fn makes `calls` calls.
    Time measure(int calls, const std::function<void()>& fn) {
        const std::string key = "bench " + std::to_string(++m_keys);
        const auto once = [&] {
            m_backend.replay(key, [&] {
                fn();
                return true;
            });
        };
        for (int i = 0; i < 3; ++i) once();
        must(m_backend.synchronize());
        std::vector<double> runs;
        for (int i = 0; i < 11; ++i) {
            const auto start = std::chrono::steady_clock::now();
            const int repeats = 4;
            for (int j = 0; j < repeats; ++j) once();
            must(m_backend.synchronize());
            const std::chrono::duration<double, std::micro> took =
                std::chrono::steady_clock::now() - start;
            runs.push_back(took.count() / (repeats * calls));
        }
        std::sort(runs.begin(), runs.end());
        return {runs[runs.size() / 2], runs.front(), runs.back()};
    }

    Buffer noise(std::int64_t bytes) {
        if (m_noise.empty()) {
            std::mt19937 random(1);
            std::normal_distribution<float> normal;
            m_noise.resize(std::size_t(1) << 20);
            for (float& v : m_noise) v = normal(random);
        }
        Buffer buffer = must(m_backend.allocate(bytes, "rows of the bench"));
        const auto all = std::as_bytes(std::span(m_noise));
        for (std::int64_t at = 0; at < bytes; at += std::int64_t(all.size())) {
            const std::int64_t n = std::min<std::int64_t>(std::int64_t(all.size()), bytes - at) / 4;
            m_backend.copyIn(all.first(std::size_t(n * 4)),
                             buffer.tensor(ElementType::F32, 1, n, at));
        }
        return buffer;
    }

    std::vector<KvLayer> caches(ElementType type, std::int64_t capacity, std::int64_t columns,
                                std::vector<Buffer>& memory) {
        const std::int64_t bytes = capacity * elementBytes(type, columns);
        const std::int64_t layers = std::max<std::int64_t>(2, kDistinctBytes / (2 * bytes) + 1);
        constexpr std::int64_t kChunk = 1024;
        const Buffer k = noise(kChunk * columns * 4), v = noise(kChunk * columns * 4);
        Buffer at = must(m_backend.allocate(kChunk * 4, "positions of the bench"));
        std::vector<KvLayer> all;
        for (std::int64_t i = 0; i < std::min<std::int64_t>(layers, 48); ++i) {
            KvLayer layer;
            for (Tensor* tensor : {&layer.keys, &layer.values}) {
                memory.push_back(must(m_backend.allocate(bytes, "cache of the bench")));
                *tensor = memory.back().tensor(type, capacity, columns);
            }
            layer.capacity = capacity;
            for (std::int64_t first = 0; first < capacity; first += kChunk) {
                const std::int64_t n = std::min(kChunk, capacity - first);
                place(at, first, n);
                m_backend.kvWrite(layer, k.tensor(ElementType::F32, n, columns),
                                  v.tensor(ElementType::F32, n, columns),
                                  at.tensor(ElementType::I32, n, 1));
            }
            all.push_back(layer);
        }
        return all;
    }

    void place(const Buffer& positions, std::int64_t first, std::int64_t count) {
        std::vector<std::int32_t> numbers(static_cast<std::size_t>(count));
        std::iota(numbers.begin(), numbers.end(), static_cast<std::int32_t>(first));
        m_backend.copyIn(std::as_bytes(std::span(numbers)),
                         positions.tensor(ElementType::I32, count, 1));
    }

    void step(const char* name, ElementType type, const AttentionShape& shape,
              const AttentionSpan& span, std::int64_t capacity, std::int64_t context,
              std::int64_t rows) {
        const std::int64_t columns = std::int64_t(shape.heads) * shape.headSize,
                           kvColumns = std::int64_t(shape.kvHeads) * shape.headSize;
        std::vector<Buffer> memory;
        const auto layers = caches(type, capacity, kvColumns, memory);
        const Buffer at = must(m_backend.allocate(rows * 4, "positions of the bench"));
        place(at, context - rows, rows);
        const int segments = 2;
        const Buffer sums = noise(segments * (2 * columns + 2 * kvColumns) * rows * 4);
        const auto partial = [&](std::int64_t first, std::int64_t weightRows) {
            cuda::PartialSums p;
            p.data = reinterpret_cast<const float*>(sums.data()) + segments * first * rows;
            p.segments = segments;
            p.rowTiles = static_cast<int>(weightRows / 16);
            p.columns = static_cast<int>(rows);
            return p;
        };
        const bool gated = shape.kvHeads == 2;
        cuda::AttentionProjections projections{partial(0, columns), partial(columns, kvColumns),
                                               partial(columns + kvColumns, kvColumns),
                                               gated ? partial(columns + 2 * kvColumns, columns)
                                                     : cuda::PartialSums{}};
        const Buffer q = noise(rows * columns * 4), out = noise(rows * columns * 4);
        const std::int64_t records = cuda::unitsOf(columns) * ((rows + 7) / 8);
        const Buffer tiles =
            must(m_backend.allocate(records * std::int64_t(sizeof(cuda::ActivationTile)), "tiles"));
        const auto make = [&](int tileItems) {
            return cuda::Attention(
                m_backend.launcher(),
                must(m_backend.allocate(cuda::Attention::kScratchBytes, "scratch of the bench")),
                tileItems);
        };
        cuda::Attention attention = make(cuda::Attention::kTileItems), splits = make(0),
                        tiles4 = make(4);
        const Weight some;
        const RopeSpec rope{RopePairing::Adjacent, 500000, shape.headSize, 1};
        AttentionStep step;
        step.gate = gated ? &some : nullptr;
        step.qNorm.eps = step.kNorm.eps = 1e-5f;
        step.rope = &rope;
        step.positions = at.tensor(ElementType::I32, rows, 1);
        step.shape = shape;
        step.span = span;
        step.qRows = q.tensor(ElementType::F32, rows, columns);
        step.outRows = out.tensor(ElementType::F32, rows, columns);
        const int calls = static_cast<int>(layers.size());
        const Time whole = measure(calls, [&] {
            for (const KvLayer& layer : layers) {
                step.cache = layer;
                must(attention.attend(
                    step, projections,
                    {reinterpret_cast<cuda::ActivationTile*>(tiles.data()), nullptr, 0}));
            }
        });
        const auto alone = [&](cuda::Attention& each) {
            return measure(calls, [&] {
                for (const KvLayer& layer : layers)
                    must(each.attention(step.qRows, layer, step.positions, shape, span,
                                        step.outRows));
            });
        };
        const Time own = alone(attention), bySplits = alone(splits), byTiles = alone(tiles4);
        const std::int64_t seen =
            std::min(context, std::min(span.left, context) + rows + span.right);
        const double bytes =
            2.0 * static_cast<double>(seen) * static_cast<double>(elementBytes(type, kvColumns));
        std::printf("| %s | %s | %lld | %lld | %.2f | %.2f-%.2f | %.2f | %.2f | %.2f | %.0f |\n",
                    name, type == ElementType::F16 ? "f16" : "q8_0",
                    static_cast<long long>(context), static_cast<long long>(rows), whole.median,
                    whole.lowest, whole.highest, own.median, bySplits.median, byTiles.median,
                    bytes / own.median / 1e3);
    }

    void prompt(const char* name, ElementType type, const AttentionSpan& span,
                std::int64_t capacity, std::int64_t context) {
        const AttentionShape shape{32, 2, 128};
        const std::int64_t rows = 512, columns = 4096;
        std::vector<Buffer> memory;
        const auto layers = caches(type, capacity, 256, memory);
        const Buffer at = must(m_backend.allocate(rows * 4, "positions of the bench"));
        place(at, context - rows, rows);
        const Buffer q = noise(rows * columns * 4), out = noise(rows * columns * 4);
        const int calls = 4;
        const Time time = measure(calls, [&] {
            for (int i = 0; i < calls; ++i)
                m_backend.attention(q.tensor(ElementType::F32, rows, columns),
                                    layers[std::size_t(i) % layers.size()],
                                    at.tensor(ElementType::I32, rows, 1), shape, span,
                                    out.tensor(ElementType::F32, rows, columns));
        });
        double pairs = 0;
        for (std::int64_t p = context - rows; p < context; ++p)
            pairs += static_cast<double>(std::min(p, span.left) + 1);
        const double flops = pairs * 32 * 128 * 4;
        std::printf("| %s | %s | %lld | %lld | %.1f | %.1f-%.1f | %.1f |\n", name,
                    type == ElementType::F16 ? "f16" : "q8_0", static_cast<long long>(context),
                    static_cast<long long>(rows), time.median, time.lowest, time.highest,
                    flops / time.median / 1e6);
    }

    void groups(const char* name, const std::vector<std::int32_t>& starts) {
        const AttentionShape shape{16, 16, 96};
        const std::int64_t rows = starts.back(), columns = 1536;
        const Buffer q = noise(rows * columns * 4), k = noise(rows * columns * 4),
                     v = noise(rows * columns * 4), out = noise(rows * columns * 4);
        const auto tensor = [&](const Buffer& b) {
            return b.tensor(ElementType::F32, rows, columns);
        };
        const Time time = measure(2, [&] {
            for (int i = 0; i < 2; ++i)
                m_backend.groupAttention(tensor(q), tensor(k), tensor(v), shape, starts,
                                         tensor(out));
        });
        double pairs = 0;
        for (std::size_t g = 0; g + 1 < starts.size(); ++g) {
            const double n = starts[g + 1] - starts[g];
            pairs += n * n;
        }
        std::printf("| %s | %lld | %zu | %.1f | %.1f-%.1f | %.1f |\n", name,
                    static_cast<long long>(rows), starts.size() - 1, time.median, time.lowest,
                    time.highest, pairs * 16 * 96 * 4 / time.median / 1e6);
    }

private:
    cuda::CudaBackend& m_backend;
    std::vector<float> m_noise;
    int m_keys = 0;
};

AttentionSpan reach(std::int64_t left, std::int64_t right) {
    AttentionSpan span;
    span.left = left;
    span.right = right;
    return span;
}

} // namespace

int main() {
    auto made = cuda::CudaBackend::make({});
    if (!made) {
        std::fprintf(stderr, "%s\n", made.error().message.c_str());
        return 1;
    }
    cuda::CudaBackend& backend = **made;
    std::printf("%s\n\n", backend.name().c_str());
    Bench bench(backend);

    std::printf("| few rows | cache | positions | rows | attend us | spread | attention us | by "
                "splits | tiles to 4 items | GB/s |\n"
                "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    const AttentionShape target{32, 2, 128}, drafter{32, 8, 128};
    const std::int64_t ring = 2560;
    for (const std::int64_t rows : {1, 8, 16}) {
        bench.step("window", ElementType::F16, target, reach(2047, 0), ring, 1024, rows);
        bench.step("window", ElementType::F16, target, reach(2047, 0), ring, 32768, rows);
        bench.step("full", ElementType::F16, target, {}, 4352, 1024, rows);
        bench.step("full", ElementType::F16, target, {}, 4352, 4096, rows);
        bench.step("full", ElementType::F16, target, {}, 32768, 32768, rows);
    }
    bench.step("full", ElementType::F16, target, {}, 131072, 131072, 1);
    bench.step("full", ElementType::F16, target, {}, 131072, 131072, 16);
    for (const std::int64_t rows : {1, 16}) {
        bench.step("window", ElementType::Q8_0, target, reach(2047, 0), ring, 32768, rows);
        bench.step("full", ElementType::Q8_0, target, {}, 32768, 32768, rows);
    }
    bench.step("drafter", ElementType::F16, drafter, reach(2048, 2048), ring, 1024, 16);
    bench.step("drafter", ElementType::F16, drafter, reach(2048, 2048), ring, 32768, 16);

    std::printf("\n| many rows | cache | positions | rows | us | spread | TFLOPS |\n"
                "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n");
    bench.prompt("window", ElementType::F16, reach(2047, 0), 2816, 512);
    bench.prompt("window", ElementType::F16, reach(2047, 0), 2816, 8192);
    bench.prompt("full", ElementType::F16, {}, 8192, 2048);
    bench.prompt("full", ElementType::F16, {}, 32768, 32768);
    bench.prompt("full", ElementType::Q8_0, {}, 32768, 32768);

    std::printf("\n| vision | rows | groups | us | spread | TFLOPS |\n"
                "| --- | ---: | ---: | ---: | ---: | ---: |\n");
    std::vector<std::int32_t> windows{0};
    while (windows.back() < 10240) windows.push_back(windows.back() + 1024);
    windows.push_back(10764);
    bench.groups("whole", {0, 10764});
    bench.groups("windows", windows);
    return 0;
}

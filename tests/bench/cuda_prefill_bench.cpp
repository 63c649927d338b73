// glint-cuda-prefill-bench: how fast the card multiplies many rows: the matrices of the text model,
// of the vision tower and of the projector.
//
// Per shape: ten times a run of products one after the other, over several copies of the weights
// that together are larger than the second-level cache, with one wait at the end; median per
// product. Then what the products of a whole prefill or a whole picture take, and each shape's
// share of that.

#include "must.h"

#include "cuda/cuda_backend.h"
#include "engine/quant/half.h"
#include "engine/quant/quant_table.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace engine;

constexpr std::int64_t kDistinctBytes = std::int64_t(160) << 20; // of weights, per shape
constexpr double kRunSeconds = 0.02;

struct Shape {
    const char* name;
    QuantType type;
    std::vector<std::int64_t> weightRows; // products of one call
    std::int64_t columns;
    std::int64_t rows;
    double calls; // in the whole
};

struct Whole {
    const char* name;
    double items; // tokens or pictures
    const char* unit;
    std::vector<Shape> shapes;
};

// 52 layers, in half of which v and down are Q6_K.
const Whole kText = {
    "2,048 tokens in chunks of 512, products only",
    2048,
    "tokens/s",
    {
        {"gate, up", QuantType::Q4_K, {19968, 19968}, 6656, 512, 4 * 52},
        {"down", QuantType::Q4_K, {6656}, 19968, 512, 4 * 26},
        {"down", QuantType::Q6_K, {6656}, 19968, 512, 4 * 26},
        {"q, k, v, gate", QuantType::Q4_K, {4096, 256, 256, 4096}, 6656, 512, 4 * 26},
        {"q, k, gate", QuantType::Q4_K, {4096, 256, 4096}, 6656, 512, 4 * 26},
        {"v", QuantType::Q6_K, {256}, 6656, 512, 4 * 26},
        {"output", QuantType::Q4_K, {6656}, 4096, 512, 4 * 52},
    }};

// 1080p: 10,764 patches in 6 calls, 2,691 tokens in calls of 512 at most.
const Whole kPicture = {"a picture of 2,691 tokens, products only",
                        1,
                        "pictures/s",
                        {
                            {"patches", QuantType::F32, {1536}, 588, 1794, 6},
                            {"q, k", QuantType::Q4_K, {1536, 1536}, 1536, 1794, 6 * 50},
                            {"v", QuantType::Q6_K, {1536}, 1536, 1794, 6 * 50},
                            {"out", QuantType::Q4_K, {1536}, 1536, 1794, 6 * 50},
                            {"up", QuantType::Q4_K, {8960}, 1536, 1794, 6 * 50},
                            {"down", QuantType::Q6_K, {1536}, 8960, 1794, 6 * 50},
                            {"projector 0", QuantType::BF16, {4096}, 6144, 512, 5.26},
                            {"projector 1", QuantType::BF16, {4096}, 4096, 512, 5.26},
                            {"projector 2", QuantType::BF16, {6656}, 4096, 512, 5.26},
                        }};

// Random bits with sensible 16-bit scales; floats around 1.
std::vector<std::byte> randomWeights(const QuantFormat& format, std::int64_t bytes) {
    std::mt19937_64 random(1);
    std::vector<std::byte> out(static_cast<std::size_t>(bytes));
    for (std::size_t i = 0; i + 8 <= out.size(); i += 8) {
        std::uint64_t r = random();
        if (format.type == QuantType::F32) r = (r & 0x807fffff807fffffull) | 0x3f0000003f000000ull;
        if (format.type == QuantType::BF16) r = (r & 0x807f807f807f807full) | 0x3f003f003f003f00ull;
        std::memcpy(out.data() + i, &r, 8);
    }
    if (format.type == QuantType::F32 || format.type == QuantType::BF16) return out;
    const std::uint16_t scale = floatToHalf(0.01f);
    const bool last = format.type == QuantType::Q6_K;
    for (std::size_t at = 0; at < out.size(); at += static_cast<std::size_t>(format.blockBytes)) {
        std::byte* block = out.data() + at;
        std::memcpy(block + (last ? format.blockBytes - 2 : 0), &scale, 2);
        if (!last) std::memcpy(block + 2, &scale, 2);
    }
    return out;
}

class Bench {
public:
    explicit Bench(Backend& backend) : m_backend(backend) {}

    void run(const Whole& whole) {
        std::printf("\n%s\n", whole.name);
        std::printf("| product | type | shape | rows | us | spread | T(FL)OPS | share |\n");
        std::printf("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n");
        std::vector<Time> times;
        double all = 0;
        for (const Shape& shape : whole.shapes) {
            times.push_back(measure(shape));
            all += times.back().seconds * shape.calls;
        }
        for (std::size_t i = 0; i < times.size(); ++i) {
            const Shape& shape = whole.shapes[i];
            std::string rows;
            for (const std::int64_t r : shape.weightRows)
                rows += (rows.empty() ? "" : "+") + std::to_string(r);
            std::printf("| %s | %s | %s x %d | %d | %.1f | %.0f %% | %.1f | %.0f %% |\n",
                        shape.name, std::string(quantFormat(shape.type).name).c_str(), rows.c_str(),
                        int(shape.columns), int(shape.rows), times[i].seconds * 1e6,
                        100 * times[i].spread, operations(shape) / times[i].seconds * 1e-12,
                        100 * times[i].seconds * shape.calls / all);
        }
        std::printf("together %.1f ms: %.1f %s\n", all * 1e3, whole.items / all, whole.unit);
    }

private:
    struct Time {
        double seconds = 0, spread = 0; // median of a product; (slowest - fastest) / median
    };

    static double operations(const Shape& shape) {
        double n = 0;
        for (const std::int64_t rows : shape.weightRows)
            n += 2.0 * double(rows) * double(shape.columns) * double(shape.rows);
        return n;
    }

    Time measure(const Shape& shape) {
        const QuantFormat& format = quantFormat(shape.type);
        std::int64_t bytes = 0, most = 0;
        for (const std::int64_t rows : shape.weightRows) {
            bytes += rows * format.rowBytes(shape.columns);
            most = std::max(most, rows);
        }
        const auto data = randomWeights(format, most * format.rowBytes(shape.columns));
        const auto sets = static_cast<std::size_t>(kDistinctBytes / bytes + 1);
        std::vector<std::unique_ptr<Weight>> weights;
        std::vector<Buffer> outs;
        std::vector<std::vector<MatmulJob>> calls(sets);
        for (std::size_t set = 0; set < sets; ++set)
            for (std::size_t i = 0; i < shape.weightRows.size(); ++i) {
                const std::int64_t rows = shape.weightRows[i];
                weights.push_back(must(m_backend.importWeight(
                    {"bench", shape.type, rows, shape.columns,
                     std::span(data).first(std::size_t(rows * format.rowBytes(shape.columns)))},
                    WeightUse::Matmul)));
                if (set == 0)
                    outs.push_back(must(m_backend.allocate(shape.rows * rows * 4, "out")));
                calls[set].push_back(
                    {weights.back().get(), outs[i].tensor(ElementType::F32, shape.rows, rows)});
            }
        auto activations = must(m_backend.makeActivations(shape.rows, shape.columns));
        const Buffer in = must(m_backend.allocate(shape.rows * shape.columns * 4, "in"));
        const Tensor x = in.tensor(ElementType::F32, shape.rows, shape.columns);
        std::vector<float> values(static_cast<std::size_t>(shape.rows * shape.columns));
        std::mt19937 random(7);
        std::normal_distribution<float> normal;
        for (float& v : values) v = normal(random);
        m_backend.copyIn(std::as_bytes(std::span(values)), x);
        m_backend.quantize(x, *activations);

        const auto runOf = [&](int count) {
            const auto start = std::chrono::steady_clock::now();
            for (int i = 0; i < count; ++i) {
                m_backend.matmul(calls[m_next], *activations);
                m_next = (m_next + 1) % sets;
            }
            must(m_backend.synchronize());
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                   count;
        };
        m_next = 0;
        runOf(static_cast<int>(sets));
        const int count = std::max(3, static_cast<int>(kRunSeconds / runOf(4)));
        std::vector<double> seconds;
        for (int i = 0; i < 10; ++i) seconds.push_back(runOf(count));
        std::sort(seconds.begin(), seconds.end());
        const double median = (seconds[4] + seconds[5]) / 2;
        return {median, (seconds.back() - seconds.front()) / median};
    }

    Backend& m_backend;
    std::size_t m_next = 0;
};

} // namespace

int main() {
    auto card = cuda::CudaBackend::make({});
    if (!card.ok()) {
        std::fprintf(stderr, "%s\n", card.error().message.c_str());
        return 2;
    }
    std::printf("%s\n", (*card)->name().c_str());
    Bench bench(**card);
    bench.run(kText);
    bench.run(kPicture);
    return 0;
}

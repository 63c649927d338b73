// glint-cuda-layer-bench: where the time of a layer goes when few rows are computed.
//
//     glint-cuda-layer-bench [--rows 1,8,16] [--contexts 1024,8192,32768] [--window 2048]
//
// Layers of the 30B model with random weights of Q4_K (v and every other down projection Q6_K),
// together much larger than the L2, one after the other in a recorded graph as in a decode step.
// Then the same with parts left out: what a part costs in the chain is the difference. (Without
// products there are sums of every segment, also where products leave one for all.) Time of one
// layer: the median of 20 graphs of 24 layers less that of 20 graphs of 8, by 16. --window: tokens
// that a layer sees; without it all of them.

#include "must.h"
#include "numbers.h"

#include "cuda/attention.h"
#include "cuda/cuda_backend.h"
#include "engine/quant/half.h"
#include "engine/quant/quant_table.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cuda;
using engine::ElementType;
using engine::QuantType;
using engine::Tensor;

constexpr int kLayers = 8; // 2.2 GB
constexpr std::int64_t kWidth = 6656, kHeads = 4096, kKv = 256, kFfn = 19968;

using Weight = std::unique_ptr<engine::Weight>;

// Random bits with ordinary scales; rows repeat after a while.
Weight matrix(CudaBackend& backend, QuantType type, std::int64_t rows, std::int64_t columns) {
    static std::mt19937_64 random(1);
    const engine::QuantFormat& format = engine::quantFormat(type);
    const std::int64_t bytes = rows * format.rowBytes(columns);
    const std::int64_t pattern = std::min(bytes, 32 * format.rowBytes(columns));
    std::vector<std::byte> out(static_cast<std::size_t>(bytes));
    for (std::int64_t i = 0; i + 8 <= pattern; i += 8) {
        const std::uint64_t r = random();
        std::memcpy(out.data() + i, &r, 8);
    }
    const std::uint16_t scale = engine::floatToHalf(0.001f);
    for (std::int64_t i = 0; i < pattern; i += format.blockBytes) {
        std::byte* const block = out.data() + i;
        std::memcpy(type == QuantType::Q6_K ? block + 208 : block, &scale, 2);
        if (type != QuantType::Q6_K) std::memcpy(block + 2, &scale, 2);
    }
    for (std::int64_t i = pattern; i < bytes; i += pattern)
        std::memcpy(out.data() + i, out.data(),
                    static_cast<std::size_t>(std::min(pattern, bytes - i)));
    return must(
        backend.importWeight({"bench", type, rows, columns, out}, engine::WeightUse::Matmul));
}

struct Layer {
    Weight q, k, v, gate, o, ffnGate, ffnUp, down;
    engine::KvLayer cache;
};

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

class Bench {
public:
    explicit Bench(CudaBackend& backend)
        : m_backend(backend),
          m_rowOps(backend.launcher(), must(backend.allocate(RowOps::kScratchBytes, "bench"))),
          m_attention(backend.launcher(),
                      must(backend.allocate(Attention::kScratchBytes, "bench"))) {
        for (int i = 0; i < kLayers; ++i) {
            Layer layer;
            layer.q = matrix(backend, QuantType::Q4_K, kHeads, kWidth);
            layer.k = matrix(backend, QuantType::Q4_K, kKv, kWidth);
            layer.v = matrix(backend, QuantType::Q6_K, kKv, kWidth);
            layer.gate = matrix(backend, QuantType::Q4_K, kHeads, kWidth);
            layer.o = matrix(backend, QuantType::Q4_K, kWidth, kHeads);
            layer.ffnGate = matrix(backend, QuantType::Q4_K, kFfn, kWidth);
            layer.ffnUp = matrix(backend, QuantType::Q4_K, kFfn, kWidth);
            layer.down = matrix(backend, i % 2 ? QuantType::Q6_K : QuantType::Q4_K, kWidth, kFfn);
            m_layers.push_back(std::move(layer));
        }
        m_activations = must(backend.makeActivations(kMaxStepRows, kFfn));
        m_rows = must(backend.allocate(kMaxStepRows * kFfn * 4, "bench"));
        m_q = must(backend.allocate(kMaxStepRows * kHeads * 4, "bench"));
        m_out = must(backend.allocate(kMaxStepRows * kHeads * 4, "bench"));
        m_position = must(backend.allocate(kMaxStepRows * 4, "bench"));
        m_gamma = must(backend.allocate(kWidth * 4, "bench"));
        std::mt19937 random(3);
        std::normal_distribution<float> normal;
        std::vector<float> noise(std::size_t(kMaxStepRows * kFfn));
        for (float& value : noise) value = normal(random);
        backend.copyIn(std::as_bytes(std::span(noise)),
                       m_rows.tensor(ElementType::F32, kMaxStepRows, kFfn));
        const std::vector<float> ones(kWidth, 1.0f);
        backend.copyIn(std::as_bytes(std::span(ones)), m_gamma.tensor(ElementType::F32, 1, kWidth));
        m_sums = must(backend.allocate(kSumBytes, "bench"));
    }

    // The keys and values are zeros, which takes as long as anything else.
    void useContext(std::int64_t context, int rows, const engine::AttentionSpan& span) {
        m_span = span;
        m_memory.clear();
        const std::int64_t bytes = context * kKv * 2;
        for (Layer& layer : m_layers) {
            for (Tensor* tensor : {&layer.cache.keys, &layer.cache.values}) {
                m_memory.push_back(must(m_backend.allocate(bytes, "bench")));
                *tensor = m_memory.back().tensor(ElementType::F16, context, kKv);
            }
            layer.cache.capacity = context;
        }
        std::vector<std::int32_t> at;
        for (int i = 0; i < rows; ++i) at.push_back(static_cast<std::int32_t>(context - rows + i));
        m_backend.copyIn(std::as_bytes(std::span(at)),
                         m_position.tensor(ElementType::I32, rows, 1));
    }

    struct Parts {
        bool products = true, attention = true, glue = true, swiglu = true;
    };

    double layerSeconds(int rows, const Parts& parts) {
        Tensor input = m_rows.tensor(ElementType::F32, rows, kFfn);
        m_backend.quantize(input, *m_activations); // wide enough for all products
        return (graphSeconds(rows, parts, 24) - graphSeconds(rows, parts, 8)) / 16;
    }

private:
    static constexpr std::int64_t kSumBytes = std::int64_t(32) << 20; // of a product

    std::vector<PartialSums> multiply(std::initializer_list<const Weight*> weights, int rows,
                                      const Parts& parts) {
        std::vector<GemmRows::Job> jobs;
        auto* to = reinterpret_cast<float*>(m_sums.data());
        for (const Weight* weight : weights) {
            const auto& own = static_cast<const CudaWeight&>(**weight);
            jobs.push_back({&own.layout, static_cast<const std::byte*>(own.data), to});
            to += GemmRows::sumFloats(own.layout, rows);
        }
        const auto* const tiles = static_cast<CudaActivations&>(*m_activations).tiles();
        std::vector<PartialSums> sums;
        for (const GemmRows::Job& job : jobs)
            sums.push_back({job.sums, job.layout->segments, job.layout->rowTiles, rows});
        if (parts.products) GemmRows(m_backend.launcher()).run(jobs, tiles, rows, sums);
        return sums;
    }

    void layer(const Layer& w, int rows, const Parts& parts) {
        const engine::RopeSpec rope{engine::RopePairing::Adjacent, 500000, 128, 1};
        const QuantizedRows out{static_cast<CudaActivations&>(*m_activations).tiles(), nullptr, 0};
        const engine::NormSpec norm{m_gamma.tensor(ElementType::F32, 1, kWidth), 1e-5f};
        const Tensor x = m_rows.tensor(ElementType::F32, rows, kWidth);

        auto sums = multiply({&w.q, &w.k, &w.v, &w.gate}, rows, parts);
        if (parts.attention) {
            engine::AttentionStep step;
            step.gate = w.gate.get();
            step.qNorm.eps = step.kNorm.eps = 1e-5f;
            step.rope = &rope;
            step.positions = m_position.tensor(ElementType::I32, rows, 1);
            step.cache = w.cache;
            step.shape = {32, 2, 128};
            step.span = m_span;
            step.qRows = m_q.tensor(ElementType::F32, rows, kHeads);
            step.outRows = m_out.tensor(ElementType::F32, rows, kHeads);
            must(m_attention.attend(step, {sums[0], sums[1], sums[2], sums[3]}, out));
        }
        sums = multiply({&w.o}, rows, parts);
        if (parts.glue) m_rowOps.residualGlue(sums[0], &norm, x, &norm, out, {});
        sums = multiply({&w.ffnGate, &w.ffnUp}, rows, parts);
        if (parts.swiglu) m_rowOps.swigluGlue(sums[0], sums[1], kFfn, out);
        sums = multiply({&w.down}, rows, parts);
        if (parts.glue) m_rowOps.residualGlue(sums[0], &norm, x, &norm, out, {});
    }

    double graphSeconds(int rows, const Parts& parts, int layers) {
        const std::string key = "layers " + std::to_string(++m_graphs);
        std::vector<double> times;
        for (int i = 0; i < 23; ++i) {
            const double start = now();
            m_backend.replay(key, [&] {
                for (int l = 0; l < layers; ++l)
                    layer(m_layers[std::size_t(l % kLayers)], rows, parts);
                return true;
            });
            must(m_backend.synchronize());
            if (i >= 3) times.push_back(now() - start);
        }
        std::sort(times.begin(), times.end());
        return times[times.size() / 2];
    }

    CudaBackend& m_backend;
    RowOps m_rowOps;
    Attention m_attention;
    std::vector<Layer> m_layers;
    std::unique_ptr<engine::Activations> m_activations;
    engine::Buffer m_rows, m_q, m_out, m_position, m_gamma, m_sums;
    std::vector<engine::Buffer> m_memory; // of the caches
    engine::AttentionSpan m_span;
    int m_graphs = 0;
};

} // namespace

int main(int argc, char** argv) {
    std::vector<int> rowCounts = {1, 8, 16}, contexts = {1024, 8192, 32768};
    engine::AttentionSpan span;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view option = argv[i];
        if (option == "--rows") rowCounts = numbers(argv[i + 1], 1, kMaxStepRows);
        if (option == "--contexts") contexts = numbers(argv[i + 1], kMaxStepRows, 1 << 17);
        if (option == "--window") span.left = numbers(argv[i + 1], 1, 1 << 17).front() - 1;
    }
    auto backend = must(CudaBackend::make({}));
    Bench bench(*backend);
    using Parts = Bench::Parts;
    const Parts all;
    Parts noAttention = all, noGlue = all, noSwiglu = all, products, small = all;
    noAttention.attention = noGlue.glue = noSwiglu.swiglu = false;
    products.attention = products.glue = products.swiglu = small.products = false;
    std::printf("%s, us per layer\n%4s %8s %8s %10s %8s %10s %9s %8s\n", backend->name().c_str(),
                "rows", "context", "whole", "no attend", "no glue", "no swiglu", "products",
                "the rest");
    for (const int rows : rowCounts)
        for (const std::int64_t context : contexts) {
            bench.useContext(context, rows, span);
            const auto us = [&](const Parts& parts) {
                return bench.layerSeconds(rows, parts) * 1e6;
            };
            std::printf("%4d %8d %8.2f", rows, int(context), us(all));
            if (context == 1024)
                std::printf(" %10.2f %8.2f %10.2f %9.2f %8.2f", us(noAttention), us(noGlue),
                            us(noSwiglu), us(products), us(small));
            std::printf("\n");
            std::fflush(stdout);
        }
    return 0;
}

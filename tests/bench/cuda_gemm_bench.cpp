// glint-cuda-gemm-bench: how near the GEMMs of decode and verify come to the card's read bandwidth.
//
//     glint-cuda-gemm-bench [--ring 60,120,184] [--rows 1,8,16] [--only "gate, up"]
//
// First the ceilings: plain reading, and the gap between empty kernels in a graph. Then, for each
// matrix of the model, distinct weights that together are larger than four times the L2, one after
// the other in a recorded graph, as a decode step has them. Time of one: the median of 20 graphs of
// 150 launches less the median of 20 graphs of 50, by 100. --ring: KiB of shared memory for
// weights on their way.

#include "must.h"
#include "numbers.h"

#include "cuda/ceilings.h"
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

constexpr std::int64_t kSetBytes = std::int64_t(300) << 20;

struct Matrix {
    QuantType type;
    std::int64_t rows;
};

struct Product {
    const char* name;
    std::int64_t columns;
    std::vector<Matrix> matrices; // of one call
};

const std::vector<Product>& products() {
    using enum engine::QuantType;
    static const std::vector<Product> all = {
        {"q, k, v, gate", 6656, {{Q4_K, 4096}, {Q4_K, 256}, {Q4_K, 256}, {Q4_K, 4096}}},
        {"q, k, v, gate: v Q6_K", 6656, {{Q4_K, 4096}, {Q4_K, 256}, {Q6_K, 256}, {Q4_K, 4096}}},
        {"o", 4096, {{Q4_K, 6656}}},
        {"gate, up", 6656, {{Q4_K, 19968}, {Q4_K, 19968}}},
        {"down", 19968, {{Q4_K, 6656}}},
        {"down Q6_K", 19968, {{Q6_K, 6656}}},
        {"head Q5_K", 6656, {{Q5_K, 202048}}},
    };
    return all;
}

// Random bits with ordinary scales; rows repeat after a while.
std::vector<std::byte> weightBytes(const Matrix& matrix, std::int64_t columns, unsigned seed) {
    const engine::QuantFormat& format = engine::quantFormat(matrix.type);
    const std::int64_t bytes = matrix.rows * format.rowBytes(columns);
    const std::int64_t pattern = std::min(bytes, 64 * format.rowBytes(columns));
    std::vector<std::byte> out(static_cast<std::size_t>(bytes));
    std::mt19937_64 random(seed);
    for (std::int64_t i = 0; i < pattern; i += 8) {
        const std::uint64_t r = random();
        std::memcpy(out.data() + i, &r,
                    static_cast<std::size_t>(std::min<std::int64_t>(8, pattern - i)));
    }
    const std::uint16_t scale = engine::floatToHalf(0.01f);
    for (std::int64_t i = 0; i < pattern; i += format.blockBytes) {
        std::byte* const block = out.data() + i;
        std::memcpy(matrix.type == QuantType::Q6_K ? block + 208 : block, &scale, 2);
        if (matrix.type != QuantType::Q6_K) std::memcpy(block + 2, &scale, 2);
    }
    for (std::int64_t i = pattern; i < bytes; i += pattern)
        std::memcpy(out.data() + i, out.data(),
                    static_cast<std::size_t>(std::min(pattern, bytes - i)));
    return out;
}

// The weights of one call.
struct Set {
    std::vector<std::unique_ptr<engine::Weight>> weights;
    std::vector<GemmRows::Job> jobs; // their sums are not set yet
    std::int64_t bytes = 0, sumFloats = 0;
};

Set makeSet(CudaBackend& backend, const Product& product, unsigned seed) {
    Set set;
    for (const Matrix& matrix : product.matrices) {
        const auto host = weightBytes(matrix, product.columns, ++seed);
        set.weights.push_back(
            must(backend.importWeight({"bench", matrix.type, matrix.rows, product.columns, host},
                                      engine::WeightUse::Matmul)));
        const auto& own = static_cast<const CudaWeight&>(*set.weights.back());
        set.jobs.push_back({&own.layout, static_cast<const std::byte*>(own.data), nullptr});
        set.bytes += own.layout.bytes();
        set.sumFloats += GemmRows::sumFloats(own.layout, kMaxStepRows);
    }
    return set;
}

// Quantised rows of noise.
std::unique_ptr<engine::Activations> makeRows(CudaBackend& backend, int n, std::int64_t columns) {
    std::vector<float> x(static_cast<std::size_t>(n * columns));
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (float& v : x) v = normal(random);
    const auto buffer = must(backend.allocate(std::int64_t(x.size()) * 4, "rows"));
    const auto rows = buffer.tensor(engine::ElementType::F32, n, columns);
    backend.copyIn(std::as_bytes(std::span(x)), rows);
    auto activations = must(backend.makeActivations(n, columns));
    backend.quantize(rows, *activations);
    must(backend.synchronize()); // before the rows go
    return activations;
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double medianSeconds(CudaBackend& backend, const std::string& key,
                     const std::function<bool()>& work) {
    std::vector<double> times;
    for (int i = 0; i < 23; ++i) {
        const double start = now();
        backend.replay(key, work);
        must(backend.synchronize());
        if (i >= 3) times.push_back(now() - start);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

// Time of one call, the sets one after the other.
double secondsOf(CudaBackend& backend, const Product& product, const std::vector<Set>& sets, int n,
                 int ring) {
    GemmRows gemm(backend.launcher(), ring << 10);
    PartialSums sums[GemmRows::kMaxJobs];
    const auto activations = makeRows(backend, n, product.columns);
    const auto* const tiles = static_cast<CudaActivations&>(*activations).tiles();
    const auto graph = [&](int launches) {
        const std::string key = std::string(product.name) + " " + std::to_string(n) + " " +
                                std::to_string(ring) + " " + std::to_string(launches);
        return medianSeconds(backend, key, [&] {
            for (int i = 0; i < launches; ++i)
                gemm.run(sets[std::size_t(i) % sets.size()].jobs, tiles, n, sums);
            return true;
        });
    };
    return (graph(150) - graph(50)) / 100;
}

} // namespace

int main(int argc, char** argv) {
    std::vector<int> rings = {GemmRows::kRingBytes >> 10}, rowCounts = {1, 8, 16};
    std::string_view only; // products whose name begins so
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view option = argv[i];
        if (option == "--only") only = argv[i + 1];
        if (option == "--ring") rings = numbers(argv[i + 1], 1, 1 << 10);
        if (option == "--rows") rowCounts = numbers(argv[i + 1], 1, kMaxStepRows);
    }
    auto backend = must(CudaBackend::make({}));
    const Ceilings ceilings = must(measureCeilings(*backend, backend->launcher()));
    std::printf("%s: reads %.0f GB/s, gap between kernels %.2f us\n", backend->name().c_str(),
                ceilings.readBytesPerSecond / 1e9, ceilings.launchGapSeconds * 1e6);
    std::printf("%-24s %4s %3s %9s %7s %10s %8s\n", "product", "ring", "n", "us", "GB/s",
                "of ceiling", "of n = 1");

    for (const Product& product : products()) {
        if (!std::string_view(product.name).starts_with(only)) continue;
        std::vector<Set> sets;
        do {
            sets.push_back(makeSet(*backend, product, unsigned(sets.size()) * 8));
        } while (std::int64_t(sets.size()) * sets[0].bytes < kSetBytes);
        const auto sums = must(backend->allocate(sets[0].sumFloats * 4, "sums"));
        for (Set& set : sets) {
            float* next = reinterpret_cast<float*>(sums.data());
            for (GemmRows::Job& job : set.jobs) {
                job.sums = next;
                next += GemmRows::sumFloats(*job.layout, kMaxStepRows);
            }
        }
        for (const int ring : rings) {
            double first = 0;
            for (const int n : rowCounts) {
                const double seconds = secondsOf(*backend, product, sets, n, ring);
                if (first == 0) first = seconds;
                const double rate = double(sets[0].bytes) / seconds;
                std::printf("%-24s %4d %3d %9.2f %7.0f %8.1f %% %8.2f\n", product.name, ring, n,
                            seconds * 1e6, rate / 1e9, 100 * rate / ceilings.readBytesPerSecond,
                            seconds / first);
                std::fflush(stdout);
            }
        }
    }
    return 0;
}

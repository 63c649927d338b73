// glint-kernel-bench: how near the processor's matrix kernels come to the memory's read bandwidth.
//
//     glint-kernel-bench [--threads N] [--instructions reference|avx2|avx-vnni|avx512|amx] [--types
//     Q4_K,Q6_K] [--repeats N]
//
// First the ceiling: all threads read more memory than any cache holds. Then, per type, one product
// after another over several different matrices that together are larger than the last-level cache,
// for 1 to 16 rows of activations and for a prompt of 128. Medians; the ceiling is measured again
// around each line, because other programs use the memory too.

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/quant/half.h"
#include "engine/quant/quant_table.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <random>
#include <string>
#include <vector>

#if defined(_MSC_VER)
#    include <intrin.h>
#endif

namespace {

using namespace engine;

constexpr std::int64_t kColumns = 6656;
constexpr std::int64_t kRows = 19968;
constexpr std::int64_t kSetBytes = std::int64_t(1400) << 20; // of distinct weights

// Wall time; with one thread the processor time, which other programs disturb less.
class Timer {
public:
    explicit Timer(bool processorTime) : m_processorTime(processorTime) {}
    double seconds() const {
        if (m_processorTime) return static_cast<double>(std::clock() - m_clock) / CLOCKS_PER_SEC;
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_wall).count();
    }

private:
    bool m_processorTime;
    std::clock_t m_clock = std::clock();
    std::chrono::steady_clock::time_point m_wall = std::chrono::steady_clock::now();
};

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

struct Options {
    CpuOptions cpu;
    std::vector<std::string> types{"Q4_K", "Q5_K", "Q6_K", "Q8_0"};
    int repeats = 5;
};

void fetchAhead(const void* p) {
#if defined(_MSC_VER)
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
#else
    __builtin_prefetch(p);
#endif
}

// Random bits with sensible 16-bit scales, which every type keeps at the offsets given here.
std::vector<std::byte> randomWeights(const QuantFormat& format, std::int64_t rows, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> out(static_cast<std::size_t>(rows * format.rowBytes(kColumns)));
    for (std::size_t i = 0; i + 8 <= out.size(); i += 8) {
        const std::uint64_t r = random();
        std::memcpy(out.data() + i, &r, 8);
    }
    const std::uint16_t scale = floatToHalf(0.01f);
    const bool last = format.type == QuantType::Q6_K || format.type == QuantType::Q3_K;
    const bool two = format.type == QuantType::Q4_K || format.type == QuantType::Q5_K;
    for (std::size_t at = 0; at < out.size(); at += static_cast<std::size_t>(format.blockBytes)) {
        std::byte* block = out.data() + at;
        std::memcpy(block + (last ? format.blockBytes - 2 : 0), &scale, 2);
        if (two) std::memcpy(block + 2, &scale, 2);
    }
    return out;
}

class Bench {
public:
    explicit Bench(const Options& options)
        : m_options(options), m_backend(*CpuBackend::make(options.cpu)) {}

    int run() {
        std::printf("%s\n", m_backend->name().c_str());
        auto ceilingMemory = m_backend->allocate(std::int64_t(1) << 30, "ceiling");
        if (!ceilingMemory.ok()) return fail(ceilingMemory.error());
        m_ceiling = std::move(*ceilingMemory);
        std::memset(m_ceiling.data(), 1, static_cast<std::size_t>(m_ceiling.bytes()));
        std::printf("read bandwidth: %.2f GB/s\n\n", readBandwidth() / 1e9);
        std::printf("| type | n | ms per product | GB/s | of the read bandwidth then | time / time "
                    "of n = 1 |\n");
        std::printf("| --- | ---: | ---: | ---: | ---: | ---: |\n");
        for (const std::string& name : m_options.types)
            for (const QuantFormat& format : quantTable())
                if (format.readable() && format.name == name && !measure(format)) return 1;
        return 0;
    }

private:
    static int fail(const Error& error) {
        std::fprintf(stderr, "%s\n", error.message.c_str());
        return 1;
    }

    // Bytes per second, all threads, best of a few passes.
    double readBandwidth() {
        ThreadPool pool(m_backend->options().threads);
        double best = 0;
        for (int i = 0; i < 3; ++i) {
            std::vector<std::uint64_t> sums(static_cast<std::size_t>(pool.threads()) * 16);
            const Timer timer(m_alone);
            pool.parallel([&](int thread, int count) {
                const std::int64_t part = m_ceiling.bytes() / count / 64 * 64;
                const auto* p =
                    reinterpret_cast<const std::uint64_t*>(m_ceiling.data() + thread * part);
                // Eight sums of eight bytes each: the compiler makes vectors of them. Without
                // fetching ahead the loop is slower than the kernels are.
                std::uint64_t s[8] = {};
                for (std::int64_t k = 0; k < part / 8; k += 8) {
                    fetchAhead(p + k + 512);
                    for (int j = 0; j < 8; ++j) s[j] ^= p[k + j];
                }
                for (int j = 0; j < 8; ++j) sums[static_cast<std::size_t>(thread) * 16] += s[j];
            });
            best = std::max(best, static_cast<double>(m_ceiling.bytes()) / timer.seconds());
            m_sink = sums[0];
        }
        return best;
    }

    bool measure(const QuantFormat& format) {
        const std::int64_t bytes = kRows * format.rowBytes(kColumns);
        const auto sets = static_cast<unsigned>(kSetBytes / bytes + 1);
        std::vector<std::unique_ptr<Weight>> weights;
        for (unsigned i = 0; i < sets; ++i) {
            const auto data = randomWeights(format, kRows, i + 1);
            auto weight = m_backend->importWeight({"bench", format.type, kRows, kColumns, data},
                                                  WeightUse::Matmul);
            if (!weight.ok()) return fail(weight.error()), false;
            weights.push_back(std::move(*weight));
        }
        double single = 0;
        for (const std::int64_t n : {1, 2, 4, 8, 16, 128}) {
            auto out = m_backend->allocate(n * kRows * 4, "out");
            auto in = m_backend->allocate(n * kColumns * 4, "in");
            auto activations = m_backend->makeActivations(n, kColumns);
            if (!out.ok() || !in.ok() || !activations.ok())
                return fail(out.ok() ? in.error() : out.error()), false;
            std::mt19937 random(7);
            std::normal_distribution<float> normal;
            for (std::int64_t i = 0; i < n * kColumns; ++i)
                reinterpret_cast<float*>(in->data())[i] = normal(random);
            m_backend->quantize(in->tensor(ElementType::F32, n, kColumns), **activations);
            std::vector<double> times, ceilings;
            std::size_t next = 0;
            for (int repeat = 0; repeat < m_options.repeats; ++repeat) {
                ceilings.push_back(readBandwidth());
                const std::size_t products = n > 16 ? 1 : weights.size();
                const Timer timer(m_alone);
                for (std::size_t i = 0; i < products; ++i, ++next) {
                    const MatmulJob job{weights[next % weights.size()].get(),
                                        out->tensor(ElementType::F32, n, kRows)};
                    m_backend->matmul({&job, 1}, **activations);
                }
                times.push_back(timer.seconds() / static_cast<double>(products));
            }
            const double time = median(times), rate = static_cast<double>(bytes) / time,
                         ceiling = median(ceilings);
            if (n == 1) single = time;
            std::printf("| %s | %d | %.3f | %.2f | %.0f %% | %.2f |\n",
                        std::string(format.name).c_str(), static_cast<int>(n), time * 1e3,
                        rate / 1e9, 100 * rate / ceiling, time / single);
            std::fflush(stdout);
        }
        return true;
    }

    Options m_options;
    std::unique_ptr<CpuBackend> m_backend;
    Buffer m_ceiling;
    bool m_alone = m_backend->options().threads == 1;
    volatile std::uint64_t m_sink = 0;
};

const std::map<std::string, CpuInstructions> kInstructions = {
    {"reference", CpuInstructions::Reference},
    {"avx2", CpuInstructions::Avx2},
    {"avx-vnni", CpuInstructions::AvxVnni},
    {"avx512", CpuInstructions::Avx512},
    {"amx", CpuInstructions::Amx},
};

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> out{""};
    for (const char c : list)
        if (c == ',')
            out.emplace_back();
        else
            out.back() += c;
    return out;
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string key = argv[i], value = argv[i + 1];
        if (key == "--threads")
            options.cpu.threads = std::atoi(value.c_str());
        else if (key == "--repeats")
            options.repeats = std::max(1, std::atoi(value.c_str()));
        else if (key == "--types")
            options.types = split(value);
        else if (key == "--instructions" && kInstructions.contains(value))
            options.cpu.instructions = kInstructions.at(value);
        else {
            std::fprintf(stderr, "unknown option %s %s\n", key.c_str(), value.c_str());
            return 2;
        }
    }
    auto backend = CpuBackend::make(options.cpu);
    if (!backend.ok()) {
        std::fprintf(stderr, "%s\n", backend.error().message.c_str());
        return 2;
    }
    backend = Error{};
    return Bench(options).run();
}

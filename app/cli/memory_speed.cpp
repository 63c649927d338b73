#include "app/cli/memory_speed.h"

#include "engine/backend/backend.h"
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/base/memory_info.h"
#if defined(GLINT_CUDA)
#    include "cuda/ceilings.h"
#    include "cuda/cuda_backend.h"
#endif

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#ifdef _WIN32
#    include <windows.h>

#    include <psapi.h>
#endif
#if defined(_MSC_VER) && defined(_M_X64)
#    include <xmmintrin.h>
#endif

namespace app {

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void fetchAhead(const void* address) {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#elif defined(_M_X64)
    _mm_prefetch(static_cast<const char*>(address), _MM_HINT_T0);
#else
    (void)address;
#endif
}

// Eight sums side by side, so that the additions are never what the loop waits for; memory is
// fetched ahead, without which the loop is slower than the matrix kernels.
std::uint64_t sumOf(const std::uint64_t* values, std::size_t count) {
    std::uint64_t sums[8] = {};
    for (std::size_t i = 0; i + 8 <= count; i += 8) {
        fetchAhead(values + i + 512);
        for (std::size_t j = 0; j < 8; ++j) sums[j] += values[i + j];
    }
    std::uint64_t total = 0;
    for (const std::uint64_t sum : sums) total += sum;
    return total;
}

double readBandwidth(engine::CpuBackend& backend) {
    const int threads = backend.options().threads;
    constexpr int kRounds = 9;
    constexpr std::int64_t kMost = std::int64_t(768) << 20;
    const std::int64_t bytes =
        std::min(kMost, engine::memoryInfo().freeBytes / 4) & ~std::int64_t(4095);
    if (bytes < (std::int64_t(64) << 20) || threads < 1) return 0;
    const std::size_t count = std::size_t(bytes) / sizeof(std::uint64_t);
    const auto buffer = backend.allocate(bytes, "measuring the memory");
    if (!buffer) return 0;
    auto* const memory = reinterpret_cast<std::uint64_t*>(buffer->data());

    // Each thread writes its own part first, so that the pages are real and near its core.
    std::vector<double> rounds;
    std::vector<std::uint64_t> sums(std::size_t(threads), 0);
    double start = 0;
    int round = -1;
    std::barrier barrier(threads, [&]() noexcept {
        const double time = now();
        if (round >= 0) rounds.push_back(double(bytes) / (time - start));
        ++round;
        start = now();
    });
    const auto work = [&](int index) {
        const std::size_t part = count / std::size_t(threads) / 8 * 8;
        std::uint64_t* mine = memory + part * std::size_t(index);
        const std::size_t size = index + 1 == threads ? count - part * std::size_t(index) : part;
        std::memset(mine, index + 1, size * sizeof(std::uint64_t));
        barrier.arrive_and_wait();
        for (int i = 0; i < kRounds; ++i) {
            sums[std::size_t(index)] += sumOf(mine, size);
            barrier.arrive_and_wait();
        }
    };
    {
        std::vector<std::jthread> pool;
        for (int i = 1; i < threads; ++i) pool.emplace_back(work, i);
        work(0);
    }
    std::uint64_t total = 0;
    for (const std::uint64_t sum : sums) total += sum;
    if (total == 0) return 0; // never: keeps the sums from being optimised away
    return *std::max_element(rounds.begin(), rounds.end());
}

} // namespace

MemorySpeed memorySpeed(engine::Backend& backend) {
    if (auto* cpu = dynamic_cast<engine::CpuBackend*>(&backend)) return {readBandwidth(*cpu), 0};
#if defined(GLINT_CUDA)
    if (auto* card = dynamic_cast<cuda::CudaBackend*>(&backend)) {
        if (auto measured = cuda::measureCeilings(*card, card->launcher()))
            return {measured->readBytesPerSecond, measured->launchGapSeconds};
    }
#endif
    return {};
}

#ifdef _WIN32

std::int64_t peakMemoryBytes() {
    PROCESS_MEMORY_COUNTERS counters{};
    if (!GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters)) return 0;
    return std::int64_t(counters.PeakWorkingSetSize);
}

bool resetPeakMemory() {
    return false;
}

#else

std::int64_t peakMemoryBytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        long long kibibytes = 0;
        if (std::sscanf(line.c_str(), "VmHWM: %lld kB", &kibibytes) == 1) return kibibytes * 1024;
    }
    return 0;
}

bool resetPeakMemory() {
    std::ofstream file("/proc/self/clear_refs");
    file << "5" << std::flush;
    return bool(file);
}

#endif

} // namespace app

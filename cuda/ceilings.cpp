#include "cuda/ceilings.h"

#include "cuda/kernels/ceilings_args.h"
#include "cuda/launcher.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace cuda {

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// The best of a few rounds, in seconds; `work` launches, the wait is part of the time.
template<class Work> engine::Result<double> best(engine::Backend& backend, Work&& work) {
    constexpr int kRounds = 7;
    double least = std::numeric_limits<double>::max();
    for (int round = 0; round < kRounds; ++round) {
        if (auto done = backend.synchronize(); !done) return done.error();
        const double start = now();
        work();
        if (auto done = backend.synchronize(); !done) return done.error();
        least = std::min(least, now() - start);
    }
    return least;
}

} // namespace

engine::Result<Ceilings> measureCeilings(engine::Backend& backend, Launcher& launcher) {
    Ceilings ceilings;
    constexpr std::int64_t kMost = std::int64_t(8) << 30;
    const std::int64_t bytes =
        std::min(kMost, backend.memory().freeBytes / 2) / (1 << 20) * (1 << 20);
    if (bytes > 0) {
        auto buffer = backend.allocate(bytes, "measuring the memory");
        if (!buffer) return buffer.error();
        const LaunchShape shape{unsigned(8 * launcher.multiprocessors()), 1, 1, 512, 0};
        const ReadAllArgs args{reinterpret_cast<const std::uint8_t*>(buffer->data()), bytes,
                               reinterpret_cast<std::uint32_t*>(buffer->data())};
        // Several reads in a row, so that the start of the first does not count.
        constexpr int kReads = 5;
        auto seconds = best(backend, [&] {
            for (int i = 0; i < kReads; ++i) launcher.run(KernelId::read_all, shape, args);
        });
        if (!seconds) return seconds.error();
        ceilings.readBytesPerSecond = kReads * double(bytes) / *seconds;
    }

    // A long graph less a short one: what starting and waiting take falls out.
    constexpr int kShort = 100, kLong = 600;
    const auto graph = [&](const char* key, int kernels) {
        return best(backend, [&, key, kernels] {
            backend.replay(key, [&, kernels] {
                for (int i = 0; i < kernels; ++i)
                    launcher.run(KernelId::empty_kernel, {1, 1, 1, 32, 0}, EmptyArgs{});
                return true;
            });
        });
    };
    auto few = graph("ceilings, short", kShort);
    if (!few) return few.error();
    auto many = graph("ceilings, long", kLong);
    if (!many) return many.error();
    ceilings.launchGapSeconds = std::max(0.0, *many - *few) / (kLong - kShort);
    return ceilings;
}

} // namespace cuda

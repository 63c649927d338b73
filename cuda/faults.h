#pragma once
// Failures on purpose, for tests: the n-th time something is asked of the driver, it is refused as
// the driver would refuse it. Counts on over the life of a backend.

#include <cstdint>

namespace cuda {

struct FaultPlan {
    static constexpr std::int64_t kNever = -1;
    // Index of the first to fail; all later ones of its kind fail too, as when a card is full or
    // lost. kNever: none.
    std::int64_t allocation = kNever; // of device memory or of memory shared with the device
    std::int64_t launch = kNever;     // of a kernel or a graph

    // Counted by the backend.
    std::int64_t allocations = 0;
    std::int64_t launches = 0;

    bool failAllocation() { return fails(allocation, allocations); }
    bool failLaunch() { return fails(launch, launches); }

private:
    static bool fails(std::int64_t first, std::int64_t& count) {
        return count++ >= first && first != kNever;
    }
};

} // namespace cuda

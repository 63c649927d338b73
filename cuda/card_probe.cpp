#include "cuda/card_probe.h"

#include "cuda/context.h"

#include <chrono>
#include <mutex>

namespace cuda {

namespace {

using Clock = std::chrono::steady_clock;

// Asking costs a context when none is there, so that figure is kept for a while.
constexpr auto kKeep = std::chrono::seconds(20);

CardState probeNow() {
    CardState state;
    auto context = Context::make(0, nullptr);
    if (!context) {
        state.reason = context.error().message;
        auto driver = Driver::open();
        int cards = 0;
        state.present = driver ? (*driver)->cuDeviceGetCount(&cards) == CUDA_SUCCESS && cards > 0
                               : !Driver::nothingThere();
        return state;
    }
    state.present = true;
    state.usable = true;
    state.name = (*context)->cardName();
    state.memory = {usableBytes((*context)->freeBytes(), kReserveBytes + kBackendBytes),
                    (*context)->totalBytes()};
    return state;
}

// The primary context is there while a backend is; then asking is cheap.
bool contextIsThere() {
    auto driver = Driver::open();
    if (!driver) return false;
    CUdevice device = 0;
    unsigned flags = 0;
    int active = 0;
    return (*driver)->cuDeviceGet(&device, 0) == CUDA_SUCCESS &&
           (*driver)->cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS &&
           active != 0;
}

} // namespace

CardState probeCard() {
    static std::mutex mutex;
    static CardState last;
    static Clock::time_point when; // long ago
    static bool asked = false;
    const std::lock_guard lock(mutex);
    // What is not there does not come while the program runs.
    const bool fresh = asked && (!last.present || Clock::now() - when < kKeep);
    if (!fresh || (last.usable && contextIsThere())) {
        last = probeNow();
        when = Clock::now();
        asked = true;
    }
    return last;
}

} // namespace cuda

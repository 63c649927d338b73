#pragma once
// Context: the card as the backend holds it: driver, primary context, what the card is, and the
// first failure. Everything else of the backend borrows it.
//
// Engine thread; its context is current there while it lives.

#include "cuda/driver.h"
#include "cuda/faults.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cuda {

// What a backend takes beside what plans count: sums of products, memory for loading, recorded
// steps. And what it has taken once it is there: scratch memory and kernels.
inline constexpr std::int64_t kReserveBytes = std::int64_t(256) << 20;
inline constexpr std::int64_t kBackendBytes = std::int64_t(64) << 20;

// What of the free memory a plan may use: never 0, which would mean that nothing is known.
inline std::int64_t usableBytes(std::int64_t freeBytes, std::int64_t without) {
    return freeBytes > without ? freeBytes - without : 1;
}

class Context {
public:
    // Unsupported, in words, when there is no card `device` or it is too old.
    static engine::Result<std::unique_ptr<Context>> make(int device, FaultPlan* faults);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    const Driver& driver() const { return m_driver; }
    FaultPlan& faults() { return *m_faults; }

    const std::string& cardName() const { return m_cardName; }
    std::int64_t totalBytes() const { return m_totalBytes; }
    std::int64_t freeBytes() const; // now; 0 when the driver does not say
    int computeCapability() const { return m_capability; }
    int multiprocessors() const { return m_multiprocessors; }
    int sharedBytesPerBlock() const { return m_sharedBytes; }
    CUdevice device() const { return m_device; }
    // Whether memory can be put behind addresses that were reserved for it.
    bool mapsMemory() const { return m_mapsMemory; }

    // ---- the first failure. After it nothing is started any more.
    bool failed() const { return m_error.has_value(); }
    const engine::Error& error() const { return *m_error; }
    void fail(engine::Error error);
    // True for success; otherwise remembers what failed and says false.
    bool check(CUresult result, std::string_view doing);

    // The error of an allocation: "keys and values: needs 142 MiB, and 90 MiB of the graphics card
    // are free".
    engine::Error outOfMemory(std::string_view what, std::int64_t bytes) const;

private:
    Context(const Driver& driver, FaultPlan* faults);
    engine::Result<void> open(int device);
    engine::Result<int> attribute(CUdevice_attribute which) const;

    const Driver& m_driver;
    FaultPlan m_ownFaults;
    FaultPlan* m_faults;
    CUdevice m_device = 0;
    CUcontext m_context = nullptr;
    bool m_pushed = false;
    std::string m_cardName;
    std::int64_t m_totalBytes = 0;
    int m_capability = 0;
    int m_multiprocessors = 0;
    int m_sharedBytes = 0;
    bool m_mapsMemory = false;
    std::optional<engine::Error> m_error;
};

} // namespace cuda

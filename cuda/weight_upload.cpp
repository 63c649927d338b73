#include "cuda/weight_upload.h"

#include "engine/base/check.h"

#include <algorithm>
#include <cstring>
#include <thread>

#if defined(__linux__)
#    include <sys/mman.h>
#    include <unistd.h>
#endif

namespace cuda {

using engine::Result;

namespace {

// More readers do not help: they share the memory's bandwidth with the card's copies.
constexpr int kMostReaders = 8;
constexpr std::int64_t kReadBytes = std::int64_t(512) << 10;

int readerCount() {
    return std::clamp(int(std::thread::hardware_concurrency()), 1, kMostReaders);
}

// Maps the pages of a file in one call instead of one fault after the other. A hint: without it the
// copy does the same more slowly.
void mapPages([[maybe_unused]] const std::byte* data, [[maybe_unused]] std::int64_t bytes) {
#if defined(MADV_POPULATE_READ)
    static const auto kPage = std::uintptr_t(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(data) / kPage * kPage;
    const auto end = reinterpret_cast<std::uintptr_t>(data) + std::uintptr_t(bytes);
    madvise(reinterpret_cast<void*>(first), end - first, MADV_POPULATE_READ);
#endif
}

} // namespace

WeightUpload::WeightUpload(Context& context, CUstream compute)
    : m_context(context), m_compute(compute), m_readers(readerCount()) {}

Result<std::unique_ptr<WeightUpload>> WeightUpload::make(Context& context, CUstream compute) {
    std::unique_ptr<WeightUpload> upload(new WeightUpload(context, compute));
    if (auto made = upload->makeParts(); !made) return made.error();
    return upload;
}

Result<void> WeightUpload::makeParts() {
    auto pinned = PinnedBuffer::make(m_context, kSlots * kPieceBytes, "memory for loading");
    if (!pinned) return pinned.error();
    m_pinned = std::move(*pinned);
    auto device = DeviceBuffer::make(m_context, kSlots * kPieceBytes, "memory for loading");
    if (!device) return device.error();
    m_device = std::move(*device);
    auto copy = makeStream(m_context);
    if (!copy) return copy.error();
    m_copy = std::move(*copy);
    for (Slot& slot : m_slots) {
        auto arrived = makeEvent(m_context);
        if (!arrived) return arrived.error();
        slot.arrived = std::move(*arrived);
        auto used = makeEvent(m_context);
        if (!used) return used.error();
        slot.used = std::move(*used);
    }
    return {};
}

WeightUpload::~WeightUpload() {
    if (!m_copy) return;
    m_context.driver().cuStreamSynchronize(m_copy.get());
    m_context.driver().cuStreamSynchronize(m_compute);
}

void WeightUpload::read(std::span<const std::byte> source, std::byte* to) {
    const auto bytes = std::int64_t(source.size());
    m_readers.run((bytes + kReadBytes - 1) / kReadBytes, [&](std::int64_t task) {
        const std::int64_t first = task * kReadBytes;
        const std::int64_t count = std::min(kReadBytes, bytes - first);
        mapPages(source.data() + first, count);
        std::memcpy(to + first, source.data() + first, std::size_t(count));
    });
}

void WeightUpload::send(std::span<const std::byte> source, std::int64_t grainBytes,
                        const std::function<void(const Piece&)>& use) {
    CHECK(grainBytes > 0 && grainBytes <= kPieceBytes);
    const Driver& driver = m_context.driver();
    const auto total = std::int64_t(source.size());
    const std::int64_t most = kPieceBytes / grainBytes * grainBytes;
    for (std::int64_t first = 0; first < total && !m_context.failed(); first += most) {
        const std::int64_t bytes = std::min(most, total - first);
        Slot& slot = m_slots[std::size_t(m_next)];
        std::byte* pinned = m_pinned.data() + m_next * kPieceBytes;
        const CUdeviceptr device = m_device.address() + CUdeviceptr(m_next * kPieceBytes);
        m_next = (m_next + 1) % kSlots;

        if (!m_context.check(driver.cuEventSynchronize(slot.arrived.get()), "loading weights"))
            return;
        read(source.subspan(std::size_t(first), std::size_t(bytes)), pinned);
        const bool sent =
            m_context.check(driver.cuStreamWaitEvent(m_copy.get(), slot.used.get(), 0),
                            "loading weights") &&
            m_context.check(
                driver.cuMemcpyHtoDAsync(device, pinned, std::size_t(bytes), m_copy.get()),
                "loading weights") &&
            m_context.check(driver.cuEventRecord(slot.arrived.get(), m_copy.get()),
                            "loading weights") &&
            m_context.check(driver.cuStreamWaitEvent(m_compute, slot.arrived.get(), 0),
                            "loading weights");
        if (!sent) return;
        use({device, first, bytes});
        m_context.check(driver.cuEventRecord(slot.used.get(), m_compute), "loading weights");
    }
}

} // namespace cuda

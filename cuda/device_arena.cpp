#include "cuda/device_arena.h"

#include <algorithm>

namespace cuda {

using engine::Result;

namespace {

constexpr std::int64_t kAlignment = 256;
// Memory comes in parts of this at least: few of them, and little that the last one leaves.
constexpr std::int64_t kStep = std::int64_t(16) << 20;

constexpr std::int64_t roundUp(std::int64_t value, std::int64_t step) {
    return (value + step - 1) / step * step;
}

CUmemAllocationProp kindOfMemory(CUdevice device) {
    CUmemAllocationProp kind = {};
    kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    kind.location.id = device;
    return kind;
}

} // namespace

// Addresses without memory.
class DeviceArena::Range {
public:
    Range(Context& context, CUdeviceptr start, std::int64_t bytes)
        : m_context(context), m_start(start), m_bytes(bytes) {}
    ~Range() { m_context.driver().cuMemAddressFree(m_start, std::size_t(m_bytes)); }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

    CUdeviceptr at(std::int64_t offset) const { return m_start + CUdeviceptr(offset); }
    std::int64_t bytes() const { return m_bytes; }

private:
    Context& m_context;
    CUdeviceptr m_start;
    std::int64_t m_bytes;
};

class DeviceArena::Part {
public:
    explicit Part(DeviceBuffer alone) : m_alone(std::move(alone)) {}
    Part(Context& context, std::shared_ptr<Range> range) : m_context(&context), m_range(range) {}
    ~Part() {
        if (!m_context) return;
        const Driver& driver = m_context->driver();
        // Unlike cuMemFree the driver does not wait for what still uses the memory.
        if (m_mapped) {
            driver.cuCtxSynchronize();
            driver.cuMemUnmap(m_address, std::size_t(m_bytes));
        }
        if (m_memory) driver.cuMemRelease(m_memory);
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    CUresult fill(std::int64_t offset, std::int64_t bytes) {
        const Driver& driver = m_context->driver();
        const CUmemAllocationProp kind = kindOfMemory(m_context->device());
        CUmemGenericAllocationHandle memory = 0;
        if (CUresult r = driver.cuMemCreate(&memory, std::size_t(bytes), &kind, 0);
            r != CUDA_SUCCESS)
            return r;
        m_memory = memory;
        m_address = m_range->at(offset);
        m_bytes = bytes;
        if (CUresult r = driver.cuMemMap(m_address, std::size_t(bytes), 0, memory, 0);
            r != CUDA_SUCCESS)
            return r;
        m_mapped = true;
        CUmemAccessDesc access = {};
        access.location = kind.location;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        return driver.cuMemSetAccess(m_address, std::size_t(bytes), &access, 1);
    }

private:
    Context* m_context = nullptr; // null: an allocation of its own
    DeviceBuffer m_alone;
    std::shared_ptr<Range> m_range; // outlives the part
    CUmemGenericAllocationHandle m_memory = 0;
    CUdeviceptr m_address = 0;
    std::int64_t m_bytes = 0;
    bool m_mapped = false;
};

Result<DeviceArena::Piece> DeviceArena::takeAlone(Context& context, std::int64_t bytes,
                                                  std::string_view what) {
    auto memory = DeviceBuffer::make(context, bytes, what);
    if (!memory) return memory.error();
    const CUdeviceptr address = memory->address();
    return Piece{std::make_shared<const Part>(std::move(*memory)), nullptr, address};
}

Result<void> DeviceArena::makeRange(Context& context, std::int64_t bytes) {
    const std::int64_t wanted = roundUp(std::max(bytes, context.totalBytes()), kStep);
    CUdeviceptr start = 0;
    const CUresult reserved =
        context.driver().cuMemAddressReserve(&start, std::size_t(wanted), 0, 0, 0);
    if (reserved != CUDA_SUCCESS)
        return context.driver().error(reserved, "reserving addresses of the graphics card");
    m_range = std::make_shared<Range>(context, start, wanted);
    m_next = m_end = 0;
    return {};
}

Result<DeviceArena::Piece> DeviceArena::take(Context& context, std::int64_t bytes,
                                             std::string_view what) {
    if (!context.mapsMemory()) return takeAlone(context, bytes, what);
    const std::int64_t needed = roundUp(std::max<std::int64_t>(bytes, 1), kAlignment);
    std::shared_ptr<const Part> last = m_last.lock();
    if (!last) m_next = m_end;
    if (m_range && m_range.use_count() == 1) m_next = m_end = 0; // all parts have gone
    if (!m_range || m_next + roundUp(needed, kStep) > m_range->bytes()) {
        if (auto made = makeRange(context, needed); !made) return takeAlone(context, bytes, what);
        last = nullptr;
    }

    const std::int64_t missing = m_next + needed - m_end;
    Piece piece;
    piece.address = m_range->at(m_next);
    if (m_next < m_end) piece.first = last;
    if (missing > 0) {
        const std::int64_t grown = roundUp(missing, kStep);
        auto part = std::make_shared<Part>(context, m_range);
        const CUresult filled =
            context.faults().failAllocation() ? CUDA_ERROR_OUT_OF_MEMORY : part->fill(m_end, grown);
        if (filled == CUDA_ERROR_OUT_OF_MEMORY) return context.outOfMemory(what, grown);
        if (filled != CUDA_SUCCESS) return context.driver().error(filled, what);
        m_end += grown;
        m_last = part;
        piece.second = std::move(part);
    }
    m_next += needed;
    return piece;
}

} // namespace cuda

#include "engine/backend/cpu/cpu_memory.h"

#include "engine/base/memory_info.h"

#include <string>

#if defined(_WIN32)
#    include <windows.h>
#else
#    include <sys/mman.h>
#endif

namespace engine {
namespace {

constexpr std::int64_t kPage = 4096, kHugePage = std::int64_t(2) << 20;

std::int64_t roundUp(std::int64_t value, std::int64_t to) {
    return (value + to - 1) / to * to;
}

#if defined(_WIN32)
std::byte* map(std::int64_t bytes, bool) {
    return static_cast<std::byte*>(VirtualAlloc(nullptr, static_cast<SIZE_T>(bytes),
                                                MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}
#else
std::byte* map(std::int64_t bytes, bool hugePages) {
    hugePages = hugePages && bytes >= kHugePage;
    // A huge page needs an aligned place: map more and cut off both ends.
    const std::int64_t mapped = hugePages ? bytes + kHugePage : bytes;
    void* p = mmap(nullptr, static_cast<std::size_t>(mapped), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    auto* first = static_cast<std::byte*>(p);
    if (hugePages) {
        const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first));
        const std::int64_t skip = roundUp(address, kHugePage) - address;
        if (skip > 0) munmap(first, static_cast<std::size_t>(skip));
        first += skip;
        if (mapped - skip > bytes)
            munmap(first + bytes, static_cast<std::size_t>(mapped - skip - bytes));
#    if defined(MADV_HUGEPAGE)
        madvise(first, static_cast<std::size_t>(bytes),
                MADV_HUGEPAGE); // a hint: nothing to do if refused
#    endif
    }
    return first;
}
#endif

} // namespace

Result<CpuMemory> CpuMemory::take(std::int64_t bytes, bool hugePages, std::string_view what) {
    const std::int64_t rounded = roundUp(bytes > 0 ? bytes : 1, kPage);
    const MemoryInfo info = memoryInfo();
    const auto mib = [](std::int64_t n) {
        return std::to_string((n + (1 << 20) - 1) >> 20) + " MiB";
    };
    // The system may promise more than it has, so what is free is looked at first.
    const bool known = info.totalBytes > 0;
    std::byte* data = known && rounded > info.freeBytes ? nullptr : map(rounded, hugePages);
    if (!data) {
        std::string message = std::string(what) + ": needs " + mib(rounded);
        if (known) message += ", " + mib(info.freeBytes) + " free";
        return Error{ErrorCode::OutOfMemory, std::move(message)};
    }
    CpuMemory memory;
    memory.m_data = data;
    memory.m_bytes = rounded;
    return memory;
}

CpuMemory::~CpuMemory() {
    if (m_data) give(m_data, m_bytes);
}

std::byte* CpuMemory::detach() {
    m_bytes = 0;
    return std::exchange(m_data, nullptr);
}

void CpuMemory::give(std::byte* data, std::int64_t bytes) {
#if defined(_WIN32)
    (void)bytes;
    VirtualFree(data, 0, MEM_RELEASE);
#else
    munmap(data, static_cast<std::size_t>(roundUp(bytes > 0 ? bytes : 1, kPage)));
#endif
}

} // namespace engine

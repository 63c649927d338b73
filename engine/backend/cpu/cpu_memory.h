#pragma once
// Zeroed memory straight from the system, 64-byte aligned and more; pages that are never touched
// cost nothing. Move-only owner. Any thread.

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace engine {

class CpuMemory {
public:
    CpuMemory() = default;
    CpuMemory(CpuMemory&& other) noexcept { swap(other); }
    CpuMemory& operator=(CpuMemory&& other) noexcept {
        CpuMemory moved(std::move(other));
        swap(moved);
        return *this;
    }
    ~CpuMemory();

    // hugePages: for memory that is read through again and again (a hint). OutOfMemory says `what`.
    static Result<CpuMemory> take(std::int64_t bytes, bool hugePages, std::string_view what);

    std::byte* data() const { return m_data; }
    std::int64_t bytes() const { return m_bytes; }

    // Hands the memory to the caller, who gives it back with give.
    std::byte* detach();
    static void give(std::byte* data, std::int64_t bytes);

private:
    void swap(CpuMemory& other) noexcept {
        std::swap(m_data, other.m_data);
        std::swap(m_bytes, other.m_bytes);
    }
    std::byte* m_data = nullptr;
    std::int64_t m_bytes = 0;
};

} // namespace engine

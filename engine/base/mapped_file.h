#pragma once
// A file seen as memory, for reading. Move-only; the address stays valid until destruction.
//
// The size is taken when the file is opened. A file that another program shortens afterwards makes
// reading past its new end a fault of the system (SIGBUS, or an in-page error): nobody can guard
// every read of a weight against that, so callers check sizes at opening and documents say not to
// change files in use. Open files cannot be shortened on Windows.

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace engine {

class MappedFile {
public:
    // Fails with Io, in words, for what is missing, a folder, or not readable. An empty file is
    // fine.
    static Result<MappedFile> open(const std::filesystem::path& path);

    MappedFile() = default;
    MappedFile(MappedFile&& other) noexcept { swap(other); }
    MappedFile& operator=(MappedFile&& other) noexcept {
        MappedFile moved(std::move(other));
        swap(moved);
        return *this;
    }
    ~MappedFile();

    std::span<const std::byte> bytes() const { return {m_data, static_cast<std::size_t>(m_size)}; }
    std::int64_t size() const { return m_size; }

    // The bytes will be read once from front to back: read ahead.
    void adviseSequential(std::int64_t offset, std::int64_t bytes) const;
    // Gives back the memory of this range; reading it again brings it back from the file.
    void release(std::int64_t offset, std::int64_t bytes) const;

private:
    void swap(MappedFile& other) noexcept {
        std::swap(m_data, other.m_data);
        std::swap(m_size, other.m_size);
    }
    const std::byte* m_data = nullptr;
    std::int64_t m_size = 0;
};

} // namespace engine

#include "engine/base/mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace engine {

namespace {

// Closes the descriptor at the end of opening: a mapping does not need it.
struct Descriptor {
    int number = -1;
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
};

Error ioError(int code) {
    switch (code) {
    case ENOENT:
    case ENOTDIR: return {ErrorCode::Io, "there is no such file"};
    case EACCES:
    case EPERM: return {ErrorCode::Io, "no permission to read it"};
    case EMFILE:
    case ENFILE: return {ErrorCode::Io, "too many files are open"};
    case ENOMEM: return {ErrorCode::OutOfMemory, "no address space left to map it"};
    default: return {ErrorCode::Io, std::strerror(code)};
    }
}

// The whole pages inside [offset, offset + bytes).
struct Pages {
    std::byte* first = nullptr;
    std::size_t bytes = 0;
};

Pages wholePages(const std::byte* data, std::int64_t size, std::int64_t offset,
                 std::int64_t bytes) {
    const std::int64_t page = ::sysconf(_SC_PAGESIZE);
    const std::int64_t begin = (std::max<std::int64_t>(offset, 0) + page - 1) / page * page;
    std::int64_t end = std::min(offset + bytes, size);
    if (end != size) end = end / page * page; // the last page of the file belongs to nobody else
    if (!data || begin >= end) return {};
    return {const_cast<std::byte*>(data) + begin, static_cast<std::size_t>(end - begin)};
}

} // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (file.number < 0) return ioError(errno);
    struct stat status = {};
    if (::fstat(file.number, &status) != 0) return ioError(errno);
    if (S_ISDIR(status.st_mode)) return Error{ErrorCode::Io, "it is a folder"};
    if (!S_ISREG(status.st_mode)) return Error{ErrorCode::Io, "it is not a file"};
    MappedFile mapped;
    if (status.st_size == 0) return mapped;
    void* const data = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ,
                              MAP_SHARED, file.number, 0);
    if (data == MAP_FAILED) return ioError(errno);
    mapped.m_data = static_cast<const std::byte*>(data);
    mapped.m_size = status.st_size;
    return mapped;
}

MappedFile::~MappedFile() {
    if (m_data) ::munmap(const_cast<std::byte*>(m_data), static_cast<std::size_t>(m_size));
}

void MappedFile::adviseSequential(std::int64_t offset, std::int64_t bytes) const {
    const Pages pages = wholePages(m_data, m_size, offset, bytes);
    if (pages.first) ::madvise(pages.first, pages.bytes, MADV_SEQUENTIAL);
}

void MappedFile::release(std::int64_t offset, std::int64_t bytes) const {
    const Pages pages = wholePages(m_data, m_size, offset, bytes);
    // For a read-only shared mapping this only drops our pages; the file's cache stays.
    if (pages.first) ::madvise(pages.first, pages.bytes, MADV_DONTNEED);
}

} // namespace engine

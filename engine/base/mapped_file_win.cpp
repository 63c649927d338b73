#include "engine/base/mapped_file.h"

#include <windows.h>

namespace engine {

namespace {

struct Handle {
    HANDLE value = nullptr;
    ~Handle() {
        if (value && value != INVALID_HANDLE_VALUE) ::CloseHandle(value);
    }
};

Error ioError(DWORD code) {
    switch (code) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: return {ErrorCode::Io, "there is no such file"};
    case ERROR_ACCESS_DENIED: return {ErrorCode::Io, "no permission to read it"};
    case ERROR_SHARING_VIOLATION: return {ErrorCode::Io, "another program holds it open"};
    case ERROR_NOT_ENOUGH_MEMORY:
        return {ErrorCode::OutOfMemory, "no address space left to map it"};
    default: return {ErrorCode::Io, "Windows error " + std::to_string(code)};
    }
}

} // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
    const DWORD attributes = ::GetFileAttributesW(path.c_str());
    if (attributes == INVALID_FILE_ATTRIBUTES) return ioError(::GetLastError());
    if (attributes & FILE_ATTRIBUTE_DIRECTORY) return Error{ErrorCode::Io, "it is a folder"};
    // Sharing with writers too: a download that is still running may be looked at.
    const Handle file{::CreateFileW(path.c_str(), GENERIC_READ,
                                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                    OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr)};
    if (file.value == INVALID_HANDLE_VALUE) return ioError(::GetLastError());
    LARGE_INTEGER size = {};
    if (!::GetFileSizeEx(file.value, &size)) return ioError(::GetLastError());
    MappedFile mapped;
    if (size.QuadPart == 0) return mapped;
    const Handle section{::CreateFileMappingW(file.value, nullptr, PAGE_READONLY, 0, 0, nullptr)};
    if (!section.value) return ioError(::GetLastError());
    // The view keeps the section and the file alive after both handles are closed.
    const void* const data = ::MapViewOfFile(section.value, FILE_MAP_READ, 0, 0, 0);
    if (!data) return ioError(::GetLastError());
    mapped.m_data = static_cast<const std::byte*>(data);
    mapped.m_size = size.QuadPart;
    return mapped;
}

MappedFile::~MappedFile() {
    if (m_data) ::UnmapViewOfFile(m_data);
}

// Windows reads ahead of sequential faults by itself.
void MappedFile::adviseSequential(std::int64_t, std::int64_t) const {}

void MappedFile::release(std::int64_t offset, std::int64_t bytes) const {
    if (!m_data || offset < 0 || bytes <= 0 || offset >= m_size) return;
    if (bytes > m_size - offset) bytes = m_size - offset;
    // Unlocking pages that are not locked fails, and takes them out of the working set: documented
    // so.
    ::VirtualUnlock(const_cast<std::byte*>(m_data) + offset, static_cast<SIZE_T>(bytes));
}

} // namespace engine

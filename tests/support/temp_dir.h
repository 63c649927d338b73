#pragma once
// A folder of its own for one test, removed with everything in it.

#include <filesystem>
#include <string>
#include <string_view>

namespace test {

class TempDir {
public:
    TempDir();
    ~TempDir();
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    const std::filesystem::path& path() const { return m_path; }
    std::filesystem::path operator/(std::string_view name) const { return m_path / name; }
    // Writes a file and returns its path.
    std::filesystem::path write(std::string_view name, std::string_view bytes) const;

private:
    std::filesystem::path m_path;
};

std::string readWholeFile(const std::filesystem::path& path);

} // namespace test

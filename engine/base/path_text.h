#pragma once
// File names as UTF-8, on every system. On Linux names are bytes and pass unchanged.

#include <filesystem>
#include <string>
#include <string_view>

namespace engine {

inline std::string pathToUtf8(const std::filesystem::path& path) {
    const std::u8string text = path.u8string();
    return {reinterpret_cast<const char*>(text.data()), text.size()};
}

inline std::filesystem::path pathFromUtf8(std::string_view text) {
    return std::u8string_view(reinterpret_cast<const char8_t*>(text.data()), text.size());
}

} // namespace engine

#pragma once
// A raw little-endian F32 file, as `logits` and `embed-image` write it, row after row.

#include "engine/base/result.h"

#include <filesystem>
#include <fstream>
#include <span>

namespace app {

class FloatFile {
public:
    explicit FloatFile(const std::filesystem::path& path); // replaces the file
    void append(std::span<const float> values);
    engine::Result<void> close(); // an error if anything could not be written

private:
    std::filesystem::path m_path;
    std::ofstream m_out;
};

} // namespace app

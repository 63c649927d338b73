#include "app/cli/float_file.h"

#include "app/cli/options.h"
#include "engine/base/path_text.h"

#include <bit>

namespace app {

// All systems that Glint runs on are little-endian.
static_assert(std::endian::native == std::endian::little);

FloatFile::FloatFile(const std::filesystem::path& path)
    : m_path(path), m_out(path, std::ios::binary | std::ios::trunc) {}

void FloatFile::append(std::span<const float> values) {
    m_out.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size_bytes()));
}

engine::Result<void> FloatFile::close() {
    m_out.close();
    if (!m_out)
        return engine::Error{engine::ErrorCode::Io,
                             engine::pathToUtf8(m_path) + " cannot be written"};
    return {};
}

} // namespace app

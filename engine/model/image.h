#pragma once
// Decodes pictures to upright RGB. Bytes are foreign: sizes are checked before memory is taken, and a
// broken or unknown file is an error in words, never a crash.

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace engine {

struct RgbImage {
    int width = 0;
    int height = 0;
    std::vector<std::uint8_t> pixels; // RGB, rows from the top, no gaps
};

enum class AlphaRule {
    LayOverWhite, // what a person sees; the rule of the program
    Drop,         // the reference's rule; only for comparison with the oracle
};

// Larger pictures are refused: the decoder would need more than 1 GB.
inline constexpr std::int64_t kMaxImagePixels = 100'000'000;

// Formats of stb_image (JPEG, PNG, GIF first frame, BMP, ...), turned upright by the EXIF tag.
Result<RgbImage> decodeImage(std::span<const std::byte> bytes, AlphaRule alpha = AlphaRule::LayOverWhite);
Result<RgbImage> readImage(const std::filesystem::path& path, AlphaRule alpha = AlphaRule::LayOverWhite);

} // namespace engine

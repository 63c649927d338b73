#pragma once
// Decodes pictures to upright RGB. Bytes are foreign: sizes are checked before memory is taken,
// memory is bounded, and a broken or unknown file is an error in words, never a crash.
//
// Pure functions; any thread.

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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

// Told by content, never by name. Jpeg, Png, Gif and Bmp are decoded here; the others are only
// named, so that a program with more decoders can turn to them.
enum class ImageFormat { Unknown, Jpeg, Png, Gif, Bmp, WebP, Heic, Avif, Tiff, Ico, Jxl, Svg };
ImageFormat imageFormat(std::span<const std::byte> bytes);
std::string_view imageFormatName(ImageFormat format); // "JPEG", "HEIC", ...; "unknown"

// Larger pictures are refused before memory is taken.
inline constexpr std::int64_t kMaxImagePixels = 100'000'000;
// All that decoding one picture may take at a time; a file that asks for more is refused.
inline constexpr std::int64_t kMaxDecodeBytes = 900'000'000;

// Of an animation the first frame; turned upright by the EXIF tag, also of a PNG. Codes:
// InvalidFile (broken, cut off, empty), Unsupported (another format, too large), Io.
Result<RgbImage> decodeImage(std::span<const std::byte> bytes,
                             AlphaRule alpha = AlphaRule::LayOverWhite);
Result<RgbImage> readImage(const std::filesystem::path& path,
                           AlphaRule alpha = AlphaRule::LayOverWhite);

} // namespace engine

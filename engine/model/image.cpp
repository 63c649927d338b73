#include "engine/model/image.h"

#include "engine/base/mapped_file.h"
#include "engine/model/image_container.h"
#include "engine/model/stb_decode.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>

namespace engine {

namespace {

std::string_view textAt(std::span<const std::byte> bytes, std::size_t at, std::size_t count) {
    if (at > bytes.size() || bytes.size() - at < count) return {};
    return {reinterpret_cast<const char*>(bytes.data()) + at, count};
}

// HEIC and AVIF share a container that begins with a list of brands.
ImageFormat brandedFormat(std::span<const std::byte> bytes) {
    if (textAt(bytes, 4, 4) != "ftyp") return ImageFormat::Unknown;
    constexpr std::array<std::string_view, 2> kAvif = {"avif", "avis"};
    constexpr std::array<std::string_view, 8> kHeic = {"heic", "heix", "hevc", "hevx",
                                                       "heim", "heis", "mif1", "msf1"};
    std::size_t listEnd = 0;
    for (std::size_t i = 0; i < 4; ++i)
        listEnd = listEnd << 8 | std::to_integer<std::size_t>(bytes[i]);
    bool heic = false;
    for (std::size_t at = 8; at < std::min<std::size_t>(listEnd, 256); at += at == 8 ? 8 : 4) {
        const std::string_view brand = textAt(bytes, at, 4);
        for (const std::string_view avif : kAvif) {
            if (brand == avif) return ImageFormat::Avif;
        }
        for (const std::string_view name : kHeic) heic = heic || brand == name;
    }
    return heic ? ImageFormat::Heic : ImageFormat::Unknown;
}

bool looksLikeSvg(std::span<const std::byte> bytes) {
    const std::string_view head = textAt(bytes, 0, std::min<std::size_t>(bytes.size(), 1024));
    const std::size_t first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
    if (first == std::string_view::npos || head[first] != '<') return false;
    return head.find("<svg") != std::string_view::npos;
}

// Four channels to three, in place: laid over white, or without the fourth.
void removeAlpha(std::uint8_t* pixels, std::size_t count, AlphaRule rule) {
    for (std::size_t i = 0; i < count; ++i) {
        const unsigned alpha = rule == AlphaRule::Drop ? 255 : pixels[i * 4 + 3];
        for (std::size_t c = 0; c < 3; ++c) {
            const unsigned mixed = pixels[i * 4 + c] * alpha + 255 * (255 - alpha);
            pixels[i * 3 + c] = static_cast<std::uint8_t>((mixed + 127) / 255);
        }
    }
}

} // namespace

ImageFormat imageFormat(std::span<const std::byte> bytes) {
    const auto begins = [&](std::string_view text) {
        return textAt(bytes, 0, text.size()) == text;
    };
    if (begins("\xFF\xD8\xFF")) return ImageFormat::Jpeg;
    if (begins("\x89PNG\r\n\x1A\n")) return ImageFormat::Png;
    if (begins("GIF87a") || begins("GIF89a")) return ImageFormat::Gif;
    if (begins("RIFF") && textAt(bytes, 8, 4) == "WEBP") return ImageFormat::WebP;
    if (begins(std::string_view("II*\0", 4)) || begins(std::string_view("MM\0*", 4))) {
        return ImageFormat::Tiff;
    }
    if (begins(std::string_view("\0\0\1\0", 4))) return ImageFormat::Ico;
    if (begins("\xFF\x0A") || textAt(bytes, 4, 8) == "JXL \r\n\x87\n") return ImageFormat::Jxl;
    if (begins("BM")) return ImageFormat::Bmp;
    if (const ImageFormat branded = brandedFormat(bytes); branded != ImageFormat::Unknown)
        return branded;
    return looksLikeSvg(bytes) ? ImageFormat::Svg : ImageFormat::Unknown;
}

std::string_view imageFormatName(ImageFormat format) {
    switch (format) {
    case ImageFormat::Unknown: return "unknown";
    case ImageFormat::Jpeg: return "JPEG";
    case ImageFormat::Png: return "PNG";
    case ImageFormat::Gif: return "GIF";
    case ImageFormat::Bmp: return "BMP";
    case ImageFormat::WebP: return "WebP";
    case ImageFormat::Heic: return "HEIC";
    case ImageFormat::Avif: return "AVIF";
    case ImageFormat::Tiff: return "TIFF";
    case ImageFormat::Ico: return "ICO";
    case ImageFormat::Jxl: return "JPEG XL";
    case ImageFormat::Svg: return "SVG";
    }
    return "unknown";
}

Result<RgbImage> decodeImage(std::span<const std::byte> bytes, AlphaRule alpha) {
    if (bytes.empty()) return Error{ErrorCode::InvalidFile, "the picture file is empty"};
    const ImageFormat format = imageFormat(bytes);
    switch (format) {
    case ImageFormat::Jpeg:
    case ImageFormat::Png:
    case ImageFormat::Gif:
    case ImageFormat::Bmp: break;
    case ImageFormat::Unknown:
        return Error{ErrorCode::Unsupported, "the file is not a picture of a known format"};
    default:
        return Error{ErrorCode::Unsupported,
                     "the picture is " + std::string(imageFormatName(format)) +
                         ", which is not read here; JPEG, PNG, GIF and BMP are"};
    }
    const std::string name(imageFormatName(format));
    if (bytes.size() > INT_MAX)
        return Error{ErrorCode::Unsupported, "the picture file is larger than 2 GB"};

    // Before the decoder sees the file at all.
    if (!hasSoundTables(bytes, format)) {
        return Error{ErrorCode::InvalidFile, "the " + name + " file is damaged: bad code tables"};
    }
    const StbSize size = stbSize(bytes);
    const std::int64_t pixels =
        std::max(static_cast<std::int64_t>(size.width) * size.height, pngPixels(bytes, format));
    if (pixels > kMaxImagePixels) {
        return Error{ErrorCode::Unsupported, "the picture has more than " +
                                                 std::to_string(kMaxImagePixels / 1'000'000) +
                                                 " million pixels"};
    }
    if (!isWholeImageFile(bytes, format)) {
        return Error{ErrorCode::InvalidFile,
                     "the " + name + " file is incomplete: its end is missing"};
    }
    if (size.width < 1 || size.height < 1) {
        return Error{ErrorCode::InvalidFile, "the " + name + " file is damaged: " + size.failure};
    }

    // A JPEG spends at least a bit on each block of 64 pixels, and the decoder would fill in for
    // minutes what a file with a wrong size does not hold.
    constexpr std::int64_t kMostPixelsPerByte = 1000;
    if (format == ImageFormat::Jpeg &&
        pixels / kMostPixelsPerByte > static_cast<std::int64_t>(bytes.size())) {
        return Error{ErrorCode::InvalidFile,
                     "the JPEG file is damaged: it holds too little for its size"};
    }

    const int channels = format == ImageFormat::Jpeg ? 3 : 4;
    StbPixels decoded = stbDecode(bytes, channels, kMaxDecodeBytes);
    if (decoded.outOfMemory) {
        return Error{ErrorCode::OutOfMemory,
                     "decoding the " + name + " picture needs more memory than there is"};
    }
    if (!decoded.pixels || decoded.width < 1 || decoded.height < 1) {
        return Error{ErrorCode::InvalidFile,
                     "the " + name + " file is damaged: " + decoded.failure};
    }
    const std::size_t count = static_cast<std::size_t>(decoded.width) * decoded.height;
    if (channels == 4) removeAlpha(decoded.pixels.get(), count, alpha);
    RgbImage image{decoded.width, decoded.height, {}};
    image.pixels.assign(decoded.pixels.get(), decoded.pixels.get() + count * 3);
    decoded.pixels.reset();
    return turnUpright(std::move(image), exifOrientation(bytes, format));
}

Result<RgbImage> readImage(const std::filesystem::path& path, AlphaRule alpha) {
    const auto file = MappedFile::open(path);
    if (!file) return file.error();
    return decodeImage(file->bytes(), alpha);
}

} // namespace engine

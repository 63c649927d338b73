#include "engine/model/image_container.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace engine {

namespace {

// Reads numbers from foreign bytes; what lies outside is nothing.
class Bytes {
public:
    Bytes(std::span<const std::byte> bytes, bool bigEndian)
        : m_bytes(bytes), m_bigEndian(bigEndian) {}

    std::optional<std::uint32_t> number(std::size_t at, std::size_t width) const {
        if (at > m_bytes.size() || m_bytes.size() - at < width) return std::nullopt;
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < width; ++i) {
            const std::size_t from = m_bigEndian ? at + i : at + width - 1 - i;
            value = value << 8 | std::to_integer<std::uint32_t>(m_bytes[from]);
        }
        return value;
    }
    std::optional<std::uint32_t> u8(std::size_t at) const { return number(at, 1); }
    std::optional<std::uint32_t> u16(std::size_t at) const { return number(at, 2); }
    std::optional<std::uint32_t> u32(std::size_t at) const { return number(at, 4); }
    std::size_t size() const { return m_bytes.size(); }
    std::span<const std::byte> from(std::size_t at, std::size_t count) const {
        if (at > m_bytes.size()) return {};
        return m_bytes.subspan(at, std::min(count, m_bytes.size() - at));
    }

private:
    std::span<const std::byte> m_bytes;
    bool m_bigEndian;
};

bool beginsWith(std::span<const std::byte> bytes, std::string_view text) {
    return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

// The orientation in a TIFF structure, as EXIF blocks hold one.
std::optional<int> tiffOrientation(std::span<const std::byte> tiff) {
    const bool big = beginsWith(tiff, "MM");
    if (!big && !beginsWith(tiff, "II")) return std::nullopt;
    const Bytes bytes(tiff, big);
    if (bytes.u16(2) != 42u) return std::nullopt;
    const auto directory = bytes.u32(4);
    if (!directory) return std::nullopt;
    const auto entries = bytes.u16(*directory);
    if (!entries) return std::nullopt;
    for (std::size_t i = 0; i < *entries; ++i) {
        const std::size_t at = std::size_t{*directory} + 2 + i * 12;
        const auto tag = bytes.u16(at);
        if (!tag) return std::nullopt;
        if (*tag != 0x0112) continue;
        constexpr std::uint32_t kShort = 3;
        constexpr std::uint32_t kLong = 4;
        const auto type = bytes.u16(at + 2);
        const auto value = type == kShort  ? bytes.u16(at + 8)
                           : type == kLong ? bytes.u32(at + 8)
                                           : std::nullopt;
        if (!value || *value < 1 || *value > 8) return std::nullopt;
        return static_cast<int>(*value);
    }
    return std::nullopt;
}

// Calls visit(marker, place of the segment's content, its size) for each segment of a JPEG up to
// the end mark; stops early when it returns true. True when the end mark was reached or the visit
// stopped it.
template<class Visit> bool walkJpeg(const Bytes& bytes, Visit visit) {
    constexpr std::uint32_t kEndOfImage = 0xD9;
    constexpr std::uint32_t kStartOfScan = 0xDA;
    std::size_t at = 2;
    for (;;) {
        // To the next marker: FF followed by neither 00 (a data byte FF), FF (filling) nor a
        // restart mark, which stands between the data of a scan.
        auto mark = bytes.u8(at);
        if (!mark) return false;
        if (*mark != 0xFF) {
            ++at;
            continue;
        }
        mark = bytes.u8(at + 1);
        if (!mark) return false;
        if (*mark == 0xFF) {
            ++at;
            continue;
        }
        at += 2;
        if (*mark == 0x00 || *mark == 0x01 || (*mark >= 0xD0 && *mark <= 0xD8)) continue;
        if (*mark == kEndOfImage) return true;
        const auto length = bytes.u16(at);
        if (!length || *length < 2) return false;
        if (*mark != kStartOfScan && visit(*mark, at + 2, std::size_t{*length} - 2)) return true;
        at += *length;
    }
}

// The same for the chunks of a PNG; stops after IEND.
template<class Visit> bool walkPng(const Bytes& bytes, Visit visit) {
    constexpr std::uint32_t kIend = 0x49454E44;
    std::size_t at = 8;
    for (;;) {
        const auto length = bytes.u32(at);
        const auto type = bytes.u32(at + 4);
        if (!length || !type) return false;
        if (*type == kIend) return true;
        if (visit(*type, at + 8, std::size_t{*length})) return true;
        at += std::size_t{*length} + 12;
    }
}

// GIF sub-blocks: a length and as many bytes, ended by length 0. The place behind them.
std::optional<std::size_t> skipGifBlocks(const Bytes& bytes, std::size_t at) {
    for (;;) {
        const auto length = bytes.u8(at);
        if (!length) return std::nullopt;
        at += 1 + *length;
        if (*length == 0) return at;
    }
}

std::size_t gifTableBytes(std::uint32_t flags) {
    return flags & 0x80 ? 3u << ((flags & 7) + 1) : 0;
}

bool isWholeGif(const Bytes& bytes) {
    const auto flags = bytes.u8(10);
    if (!flags) return false;
    std::size_t at = 13 + gifTableBytes(*flags);
    for (;;) {
        const auto kind = bytes.u8(at);
        if (kind == 0x21u) {
            const auto next = skipGifBlocks(bytes, at + 2);
            if (!next) return false;
            at = *next;
        } else if (kind == 0x2Cu) {
            const auto local = bytes.u8(at + 9);
            return local && skipGifBlocks(bytes, at + 11 + gifTableBytes(*local)).has_value();
        } else {
            return false;
        }
    }
}

bool isWholeBmp(const Bytes& bytes) {
    const auto dataAt = bytes.u32(10);
    const auto headerBytes = bytes.u32(14);
    if (!dataAt || !headerBytes) return false;
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::int64_t bits = 0;
    if (*headerBytes == 12) {
        width = bytes.u16(18).value_or(0);
        height = bytes.u16(20).value_or(0);
        bits = bytes.u16(24).value_or(0);
    } else {
        width = static_cast<std::int32_t>(bytes.u32(18).value_or(0));
        height = std::abs(
            static_cast<std::int64_t>(static_cast<std::int32_t>(bytes.u32(22).value_or(0))));
        bits = bytes.u16(28).value_or(0);
        constexpr std::uint32_t kRle8 = 1;
        constexpr std::uint32_t kRle4 = 2;
        const auto compression = bytes.u32(30).value_or(0);
        if (compression == kRle8 || compression == kRle4) return true; // the decoder refuses these
    }
    if (width <= 0 || height <= 0 || bits <= 0) return false;
    const std::int64_t rowBytes = (width * bits + 31) / 32 * 4;
    return rowBytes <= (static_cast<std::int64_t>(bytes.size()) - *dataAt) / height;
}

} // namespace

int exifOrientation(std::span<const std::byte> bytes, ImageFormat format) {
    std::optional<int> orientation;
    const Bytes reader(bytes, true);
    if (format == ImageFormat::Jpeg) {
        walkJpeg(reader, [&](std::uint32_t marker, std::size_t at, std::size_t size) {
            constexpr std::uint32_t kApp1 = 0xE1;
            constexpr std::string_view kExif("Exif\0\0", 6);
            const auto content = reader.from(at, size);
            if (marker != kApp1 || !beginsWith(content, kExif)) return false;
            orientation = tiffOrientation(content.subspan(kExif.size()));
            return true;
        });
    } else if (format == ImageFormat::Png) {
        walkPng(reader, [&](std::uint32_t type, std::size_t at, std::size_t size) {
            constexpr std::uint32_t kExif = 0x65584966; // "eXIf"
            if (type != kExif) return false;
            orientation = tiffOrientation(reader.from(at, size));
            return true;
        });
    }
    return orientation.value_or(1);
}

std::int64_t pngPixels(std::span<const std::byte> bytes, ImageFormat format) {
    if (format != ImageFormat::Png) return 0;
    const Bytes reader(bytes, true);
    // At most 2^62, since both are cut to 31 bits.
    constexpr std::uint32_t kLargest = 0x7FFFFFFF;
    return std::int64_t{std::min(reader.u32(16).value_or(0), kLargest)} *
           std::int64_t{std::min(reader.u32(20).value_or(0), kLargest)};
}

bool isWholeImageFile(std::span<const std::byte> bytes, ImageFormat format) {
    const Bytes reader(bytes, true);
    const auto never = [](std::uint32_t, std::size_t, std::size_t) { return false; };
    switch (format) {
    case ImageFormat::Jpeg: return walkJpeg(reader, never);
    case ImageFormat::Png: return walkPng(reader, never);
    case ImageFormat::Gif: return isWholeGif(reader);
    case ImageFormat::Bmp: return isWholeBmp(Bytes(bytes, false));
    default: return true;
    }
}

bool hasSoundTables(std::span<const std::byte> bytes, ImageFormat format) {
    if (format != ImageFormat::Jpeg) return true;
    const Bytes reader(bytes, true);
    bool sound = true;
    // The decoder meets the same segments: where it would step differently than this walk, it gives
    // up.
    walkJpeg(reader, [&](std::uint32_t marker, std::size_t at, std::size_t size) {
        constexpr std::uint32_t kHuffmanTables = 0xC4;
        if (marker != kHuffmanTables) return false;
        // A table is a byte for its place, 16 counts of codes by length, and a value for each code.
        // The last one may claim to reach beyond the segment; the decoder notices that only after
        // reading it.
        for (auto left = static_cast<std::int64_t>(size); left > 0 && sound;) {
            std::uint32_t codes = 0;
            std::uint32_t shortCodes = 0; // of at most 9 bits
            for (std::size_t length = 1; length <= 16; ++length) {
                codes += reader.u8(at + length).value_or(0);
                if (length == 9) shortCodes = codes;
            }
            sound = codes <= 256 && shortCodes <= 255;
            at += 17 + codes;
            left -= 17 + static_cast<std::int64_t>(codes);
        }
        return !sound;
    });
    return sound;
}

RgbImage turnUpright(RgbImage image, int orientation) {
    if (orientation <= 1 || orientation > 8) return image;
    const bool swapped = orientation >= 5;
    RgbImage upright;
    upright.width = swapped ? image.height : image.width;
    upright.height = swapped ? image.width : image.height;
    upright.pixels.resize(image.pixels.size());
    // Where the stored picture's columns and rows run in the upright one: 2 mirrors left-right, 3
    // turns by 180 degrees, 4 mirrors top-bottom; 5..8 exchange rows and columns first.
    const bool flipColumns =
        orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool flipRows =
        orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    for (int y = 0; y < image.height; ++y) {
        const int row = flipRows ? image.height - 1 - y : y;
        for (int x = 0; x < image.width; ++x) {
            const int column = flipColumns ? image.width - 1 - x : x;
            const std::size_t to = swapped ? static_cast<std::size_t>(column) * upright.width + row
                                           : static_cast<std::size_t>(row) * upright.width + column;
            const std::size_t from = static_cast<std::size_t>(y) * image.width + x;
            std::memcpy(&upright.pixels[to * 3], &image.pixels[from * 3], 3);
        }
    }
    return upright;
}

} // namespace engine

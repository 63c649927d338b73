#include "tests/engine/image/picture_files.h"

#include "tests/support/temp_dir.h"

#include <algorithm>
#include <filesystem>

namespace test {

namespace {

std::string number(std::uint32_t value, int width, bool bigEndian = true) {
    std::string text(static_cast<std::size_t>(width), '\0');
    for (int i = 0; i < width; ++i) {
        text[static_cast<std::size_t>(bigEndian ? width - 1 - i : i)] =
            static_cast<char>(value >> (8 * i));
    }
    return text;
}

std::uint32_t crc32(std::string_view bytes) {
    std::uint32_t crc = 0xFFFFFFFF;
    for (const char c : bytes) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
    }
    return ~crc;
}

} // namespace

std::string pictureFile(std::string_view name) {
    return readWholeFile(std::filesystem::path(GLINT_FIXTURES) / "images" / name);
}

std::span<const std::byte> asBytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::string pngChunk(std::string_view type, std::string_view content) {
    const std::string body = std::string(type) + std::string(content);
    return number(static_cast<std::uint32_t>(content.size()), 4) + body + number(crc32(body), 4);
}

std::string zlibStored(std::string_view bytes) {
    std::string out = "\x78\x01";
    std::uint32_t a = 1;
    std::uint32_t b = 0;
    for (const char c : bytes) {
        a = (a + static_cast<unsigned char>(c)) % 65521;
        b = (b + a) % 65521;
    }
    do {
        const std::string_view block = bytes.substr(0, 65535);
        bytes.remove_prefix(block.size());
        const auto size = static_cast<std::uint32_t>(block.size());
        out += bytes.empty() ? '\1' : '\0';
        out += number(size, 2, false) + number(~size, 2, false);
        out += block;
    } while (!bytes.empty());
    return out + number(b << 16 | a, 4);
}

std::string makePng(std::uint32_t width, std::uint32_t height, int bits, int colourType,
                    std::string_view idat, std::string_view chunksBefore) {
    std::string header = number(width, 4) + number(height, 4);
    header += static_cast<char>(bits);
    header += static_cast<char>(colourType);
    header += std::string(3, '\0');
    return std::string("\x89PNG\r\n\x1A\n", 8) + pngChunk("IHDR", header) +
           std::string(chunksBefore) + pngChunk("IDAT", idat) + pngChunk("IEND", "");
}

std::string makePng(std::uint32_t width, std::uint32_t height, int channels,
                    std::string_view pixels) {
    std::string rows;
    const std::size_t rowBytes = std::size_t{width} * static_cast<std::size_t>(channels);
    for (std::uint32_t y = 0; y < height; ++y) {
        rows += '\0';
        rows += pixels.substr(y * rowBytes, rowBytes);
    }
    return makePng(width, height, 8, channels == 4 ? 6 : 2, zlibStored(rows));
}

std::string exifTiff(bool bigEndian, std::uint32_t orientation, int type) {
    const auto put = [&](std::uint32_t value, int width) {
        return number(value, width, bigEndian);
    };
    std::string tiff = (bigEndian ? "MM" : "II") + put(42, 2) + put(8, 4) + put(1, 2);
    tiff += put(0x0112, 2) + put(static_cast<std::uint32_t>(type), 2) + put(1, 4);
    tiff += type == 3 ? put(orientation, 2) + put(0, 2) : put(orientation, 4);
    return tiff + put(0, 4);
}

std::string withExif(const std::string& jpeg, std::string_view tiff) {
    const std::string content = std::string("Exif\0\0", 6) + std::string(tiff);
    std::string out =
        jpeg.substr(0, 2) + "\xFF\xE1" + number(static_cast<std::uint32_t>(content.size()) + 2, 2);
    return out + content + jpeg.substr(2);
}

} // namespace test

#pragma once
// Picture files for tests: those of tests/fixtures/images, and PNGs and EXIF blocks built byte by
// byte.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace test {

std::string pictureFile(std::string_view name); // the bytes of tests/fixtures/images/NAME
std::span<const std::byte> asBytes(std::string_view text);

// A PNG of 8 bits per channel, colour type 2 (RGB) or 6 (RGBA), rows without a filter, not
// compressed.
std::string makePng(std::uint32_t width, std::uint32_t height, int channels,
                    std::string_view pixels);
// The same with any header and any IDAT content; further chunks stand before IDAT.
std::string makePng(std::uint32_t width, std::uint32_t height, int bits, int colourType,
                    std::string_view idat, std::string_view chunksBefore = {});
std::string pngChunk(std::string_view type, std::string_view content);
std::string zlibStored(std::string_view bytes);

// A TIFF structure with one entry, as EXIF has it; type 3 is a 16-bit number, 4 a 32-bit one.
std::string exifTiff(bool bigEndian, std::uint32_t orientation, int type = 3);
// The JPEG with an EXIF segment behind its first marker.
std::string withExif(const std::string& jpeg, std::string_view tiff);

} // namespace test

#pragma once
// What must be known of a picture's file besides its pixels: how the camera was held, and whether
// the end of the file is there (the decoder fills what is missing with grey and says nothing).

#include "engine/model/image.h"

namespace engine {

// The EXIF orientation 1..8 of a JPEG or PNG; 1 when there is none or it makes no sense.
int exifOrientation(std::span<const std::byte> bytes, ImageFormat format);

// Width times height as the header of a PNG says, which the decoder answers only where it is not
// too large for it; 0 for other formats.
std::int64_t pngPixels(std::span<const std::byte> bytes, ImageFormat format);

// False when the file plainly ends before its first picture does.
bool isWholeImageFile(std::span<const std::byte> bytes, ImageFormat format);

// False when a JPEG has a Huffman table that stb_image 2.27 trusts too far: with more than 256
// codes it writes past its own table, and a 256th code of at most 9 bits it looks up in front of
// it.
bool hasSoundTables(std::span<const std::byte> bytes, ImageFormat format);

// The picture turned and mirrored so that orientation 1 would show it the same way.
RgbImage turnUpright(RgbImage image, int orientation);

} // namespace engine

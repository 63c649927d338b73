#pragma once
// The only file that includes stb_image is stb_decode.cpp: JPEG, PNG, GIF and BMP, with bounded
// memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace engine {

struct StbFree {
    void operator()(std::uint8_t* pixels) const;
};

struct StbSize { // 0 x 0 when the header cannot be read
    int width = 0;
    int height = 0;
    std::string failure;
};

// Of the header alone.
StbSize stbSize(std::span<const std::byte> bytes);

struct StbPixels {
    std::unique_ptr<std::uint8_t, StbFree>
        pixels; // rows from the top, `channels` bytes each; null on failure
    int width = 0;
    int height = 0;
    bool outOfMemory = false; // the bound was reached, or the system had none
    std::string failure;
};

// channels: 3 or 4. Takes at most maxBytes at a time.
StbPixels stbDecode(std::span<const std::byte> bytes, int channels, std::int64_t maxBytes);

} // namespace engine

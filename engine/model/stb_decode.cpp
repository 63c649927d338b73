#include "engine/model/stb_decode.h"

#include <cstdlib>
#include <cstring>

namespace {

// stb_image takes memory as a file asks for it. Each block carries its size, and what one decoding
// holds altogether is bounded, so that a small file that unpacks to gigabytes is refused.
constexpr std::size_t kHeaderBytes = alignof(std::max_align_t);
thread_local std::size_t t_left = 0;
thread_local bool t_refused = false;

void* takeMemory(std::size_t bytes) {
    if (bytes > t_left) {
        t_refused = true;
        return nullptr;
    }
    // Zeroed, because a JPEG may use tables that it never defined.
    auto* block = static_cast<std::byte*>(std::calloc(bytes + kHeaderBytes, 1));
    if (!block) {
        t_refused = true;
        return nullptr;
    }
    std::memcpy(block, &bytes, sizeof bytes);
    t_left -= bytes;
    return block + kHeaderBytes;
}

void giveMemory(void* memory) {
    if (!memory) return;
    auto* block = static_cast<std::byte*>(memory) - kHeaderBytes;
    std::size_t bytes = 0;
    std::memcpy(&bytes, block, sizeof bytes);
    t_left += bytes;
    std::free(block);
}

void* growMemory(void* memory, std::size_t oldBytes, std::size_t bytes) {
    void* larger = takeMemory(bytes);
    if (!larger) return nullptr;
    if (memory) std::memcpy(larger, memory, oldBytes < bytes ? oldBytes : bytes);
    giveMemory(memory);
    return larger;
}

} // namespace

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_STDIO
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_GIF
#define STBI_ONLY_BMP
#define STBI_MAX_DIMENSIONS 65535
#define STBI_MALLOC(bytes) takeMemory(bytes)
#define STBI_REALLOC_SIZED(memory, oldBytes, bytes) growMemory(memory, oldBytes, bytes)
#define STBI_FREE(memory) giveMemory(memory)
#ifdef __GNUC__
// This one is found after inlining, in code of ours that calls the library, so it holds for the
// whole file.
#    if !defined(__clang__)
#        pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#    endif
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wpedantic"
#    pragma GCC diagnostic ignored "-Wshadow"
#    pragma GCC diagnostic ignored "-Wunused-function"
#    pragma GCC diagnostic ignored "-Wsign-compare"
#    pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#endif
#ifdef _MSC_VER
#    pragma warning(push, 0)
#endif
#include <stb_image.h>
#ifdef _MSC_VER
#    pragma warning(pop)
#endif
#ifdef __GNUC__
#    pragma GCC diagnostic pop
#endif

namespace engine {

namespace {

constexpr std::size_t kHeaderReadBytes = 1 << 20;

const stbi_uc* data(std::span<const std::byte> bytes) {
    return reinterpret_cast<const stbi_uc*>(bytes.data());
}

std::string failureText() {
    const char* reason = stbi_failure_reason();
    return reason ? reason : "unknown reason";
}

} // namespace

void StbFree::operator()(std::uint8_t* pixels) const {
    giveMemory(pixels);
}

StbSize stbSize(std::span<const std::byte> bytes) {
    t_left = kHeaderReadBytes;
    StbSize size;
    int channels = 0;
    if (!stbi_info_from_memory(data(bytes), static_cast<int>(bytes.size()), &size.width,
                               &size.height, &channels)) {
        size = {};
        size.failure = failureText();
    }
    return size;
}

StbPixels stbDecode(std::span<const std::byte> bytes, int channels, std::int64_t maxBytes) {
    t_left = static_cast<std::size_t>(maxBytes);
    t_refused = false;
    StbPixels decoded;
    int stored = 0;
    decoded.pixels.reset(stbi_load_from_memory(data(bytes), static_cast<int>(bytes.size()),
                                               &decoded.width, &decoded.height, &stored, channels));
    decoded.outOfMemory = !decoded.pixels && t_refused;
    if (!decoded.pixels) decoded.failure = failureText();
    return decoded;
}

} // namespace engine

// The embedded images as a table. Compiled once for each set of images (fatbin.cmake), with
// GLINT_IMAGE_SET naming the set, GLINT_IMAGE_TABLE the function and GLINT_IMAGE_NAMES its list.

#include "cuda/kernel_images.h"

#include <array>

#if defined(_WIN32)
#    include <windows.h>
#endif

#define GLINT_JOIN3_(a, b, c) a##b##c
#define GLINT_JOIN3(a, b, c) GLINT_JOIN3_(a, b, c)
#define GLINT_TEXT_(x) #x
#define GLINT_TEXT(x) GLINT_TEXT_(x)

namespace cuda {

#if defined(_WIN32)

namespace {

std::span<const std::byte> resource(const char* name) {
    const HMODULE program = GetModuleHandleW(nullptr);
    const HRSRC found = FindResourceA(program, name, MAKEINTRESOURCEA(10)); // RT_RCDATA
    if (!found) return {};
    const void* data = LockResource(LoadResource(program, found));
    return {static_cast<const std::byte*>(data), SizeofResource(program, found)};
}

} // namespace

std::span<const KernelImage> GLINT_IMAGE_TABLE() {
    static const auto table = std::to_array<KernelImage>({
#    define GLINT_IMAGE(name) {#    name, resource(GLINT_TEXT(GLINT_IMAGE_SET) "_" #    name)},
#    include GLINT_IMAGE_NAMES
#    undef GLINT_IMAGE
    });
    return table;
}

#else

extern "C" {
#    define GLINT_IMAGE(name)                                                                      \
        extern const std::byte GLINT_JOIN3(glint_image_, GLINT_IMAGE_SET, _##name)[];              \
        extern const std::byte GLINT_JOIN3(glint_image_end_, GLINT_IMAGE_SET, _##name)[];
#    include GLINT_IMAGE_NAMES
#    undef GLINT_IMAGE
}

std::span<const KernelImage> GLINT_IMAGE_TABLE() {
#    define GLINT_IMAGE(name)                                                                      \
        {#name,                                                                                    \
         {GLINT_JOIN3(glint_image_, GLINT_IMAGE_SET, _##name),                                     \
          GLINT_JOIN3(glint_image_end_, GLINT_IMAGE_SET, _##name)}},
    static const auto table = std::to_array<KernelImage>({
#    include GLINT_IMAGE_NAMES
    });
#    undef GLINT_IMAGE
    return table;
}

#endif

} // namespace cuda

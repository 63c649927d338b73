// libFuzzer target for picture files: decoded to as many pixels as its size says, or an error in
// words.

#include "engine/base/check.h"
#include "engine/model/image.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto image = engine::decodeImage({reinterpret_cast<const std::byte*>(data), size});
    if (!image) {
        CHECK(!image.error().message.empty());
        return 0;
    }
    CHECK(image->pixels.size() == static_cast<std::size_t>(image->width) * image->height * 3);
    return 0;
}

// libFuzzer target for the GGUF reader; built with clang where GLINT_FUZZ is on
// (tests/fuzz/CMakeLists.txt).
#include "tests/fuzz/gguf_probe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    test::probeGguf({reinterpret_cast<const std::byte*>(data), size});
    return 0;
}

#pragma once
// Small files with the names and keys of a trio, for tests that look at headers only.

#include "tests/support/gguf_builder.h"

#include <string_view>

namespace test {

struct TrioNumbers {
    std::uint32_t width = 64;
    std::uint32_t vocabulary = 12;
    std::uint32_t layers = 2;
};

// Without the tensors that begin with `without` (none when empty).
GgufBuilder targetFile(const TrioNumbers& numbers = {}, std::string_view without = {});
GgufBuilder projectorFile(const TrioNumbers& numbers = {});
GgufBuilder drafterFile(const TrioNumbers& numbers = {});

} // namespace test

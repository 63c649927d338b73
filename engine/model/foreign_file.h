#pragma once
// Says in words what a file is that does not begin like GGUF. Pure function of its first bytes.

#include <cstddef>
#include <span>
#include <string>

namespace engine {

struct ForeignFile {
    std::string sentence;
    bool unfinished = false; // room that a download has reserved and not filled yet
};

// `bytes` is the whole file; only its beginning is looked at. It does not begin with "GGUF".
ForeignFile describeForeignFile(std::span<const std::byte> bytes);

} // namespace engine

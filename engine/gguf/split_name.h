#pragma once
// Models split into several files: what one part says of the set, and how the parts are named.
// Internal to the folder.

#include "engine/base/result.h"
#include "engine/gguf/gguf_file.h"

#include <filesystem>
#include <vector>

namespace engine {

struct SplitInfo {
    int no = 0;                // from 0
    int count = 1;             // 1: not split
    std::int64_t tensors = -1; // of all parts together; -1 if not said
};

Result<SplitInfo> readSplit(const std::vector<GgufKey>& keys);

// The paths of all parts, from that of one: NAME-00002-of-00003.gguf. The file may be a link whose
// target is named by other rules; then the link's own folder is looked at first.
Result<std::vector<std::filesystem::path>> splitPaths(const std::filesystem::path& part,
                                                      const SplitInfo& split);

} // namespace engine

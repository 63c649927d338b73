#include "engine/gguf/split_name.h"

#include "engine/base/byte_fields.h"
#include "engine/base/path_text.h"
#include "engine/gguf/gguf_keys.h"
#include "engine/gguf/gguf_parser.h"

#include <cstdio>
#include <optional>
#include <string>

namespace engine {

namespace {

constexpr int kMaxParts = 1'000;

// The numbers of splitting are small; they are written as U16 and I32, and any integer form is
// taken.
Result<std::optional<std::int64_t>> smallNumber(const std::vector<GgufKey>& keys,
                                                std::string_view name, std::int64_t most) {
    for (const GgufKey& key : keys) {
        if (key.name != name) continue;
        std::int64_t value = -1;
        if (!key.array) {
            switch (key.type) {
            case GgufType::U8: value = byteAt(key.data); break;
            case GgufType::U16: value = u16At(key.data); break;
            case GgufType::U32: value = u32At(key.data); break;
            case GgufType::I32: value = static_cast<std::int32_t>(u32At(key.data)); break;
            case GgufType::U64:
            case GgufType::I64: value = static_cast<std::int64_t>(u64At(key.data)); break;
            default: break;
            }
        }
        if (value < 0 || value > most) {
            return Error{ErrorCode::InvalidFile,
                         "key '" + std::string(name) + "' is not a sensible number"};
        }
        return std::optional(value);
    }
    return std::optional<std::int64_t>();
}

std::string partSuffix(int no, int count) {
    char text[32];
    std::snprintf(text, sizeof text, "-%05d-of-%05d.gguf", no + 1, count);
    return text;
}

} // namespace

Result<SplitInfo> readSplit(const std::vector<GgufKey>& keys) {
    SplitInfo split;
    const auto count = smallNumber(keys, keys::kSplitCount, kMaxParts);
    if (!count) return count.error();
    if (!*count || **count <= 1) return split;
    split.count = static_cast<int>(**count);
    const auto no = smallNumber(keys, keys::kSplitNo, split.count - 1);
    if (!no) return no.error();
    if (!*no)
        return Error{ErrorCode::InvalidFile, "it is part of a split model and does not say which"};
    split.no = static_cast<int>(**no);
    const auto tensors =
        smallNumber(keys, keys::kSplitTensors, static_cast<std::int64_t>(kMaxGgufTensors));
    if (!tensors) return tensors.error();
    split.tensors = tensors->value_or(-1);
    return split;
}

Result<std::vector<std::filesystem::path>> splitPaths(const std::filesystem::path& part,
                                                      const SplitInfo& split) {
    const std::string suffix = partSuffix(split.no, split.count);
    std::error_code ignored;
    for (const std::filesystem::path& path : {part, std::filesystem::canonical(part, ignored)}) {
        const std::string name = pathToUtf8(path.filename());
        if (name.size() <= suffix.size() || !name.ends_with(suffix)) continue;
        const std::string stem = name.substr(0, name.size() - suffix.size());
        std::vector<std::filesystem::path> paths;
        bool othersHere = false;
        for (int i = 0; i < split.count; ++i) {
            paths.push_back(path.parent_path() / pathFromUtf8(stem + partSuffix(i, split.count)));
            othersHere =
                othersHere || (i != split.no && std::filesystem::exists(paths.back(), ignored));
        }
        // A link into a folder of its own, while its target lies among the other parts.
        if (!othersHere && path == part && std::filesystem::is_symlink(part, ignored)) {
            auto target = splitPaths(std::filesystem::canonical(part, ignored), split);
            if (target) return target;
        }
        return paths;
    }
    return Error{ErrorCode::InvalidFile, "it is part " + std::to_string(split.no + 1) + " of " +
                                             std::to_string(split.count) +
                                             " of a split model, and its name does not end in " +
                                             suffix + ", so the other parts cannot be found"};
}

} // namespace engine

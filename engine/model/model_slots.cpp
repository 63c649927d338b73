// Which files belong together, and which place each one takes.
#include "engine/base/path_text.h"
#include "engine/base/size_text.h"
#include "engine/model/model_file.h"

namespace engine {

namespace {

Error mismatch(std::string_view part, std::string_view what, std::int64_t has, std::int64_t needs) {
    return {ErrorCode::InvalidFile,
            "this " + std::string(part) + " belongs to another model: its " + std::string(what) +
                " is " + countText(static_cast<std::uint64_t>(has)) + ", the model's is " +
                countText(static_cast<std::uint64_t>(needs))};
}

std::string sentence(const Error& error) {
    std::string text = error.message + ".";
    if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

std::optional<ModelFileInfo>* slotFor(ModelSlots& slots, FileRole role) {
    switch (role) {
    case FileRole::Target: return &slots.target;
    case FileRole::Projector: return &slots.projector;
    case FileRole::Drafter: return &slots.drafter;
    default: return nullptr;
    }
}

// Takes a part that does not belong to the chosen model out of its place.
void refuseStranger(ModelSlots& slots, std::optional<ModelFileInfo>& part) {
    if (!slots.target || !part) return;
    const auto matches = checkMatch(*slots.target, *part);
    if (matches) return;
    part->sentence = sentence(matches.error());
    slots.refused.push_back(std::move(*part));
    part.reset();
}

} // namespace

Result<void> checkMatch(const ModelFileInfo& target, const ModelFileInfo& other) {
    if (target.role != FileRole::Target)
        return Error{ErrorCode::InvalidFile, "the first file is not the model"};
    if (other.role == FileRole::Projector) {
        if (other.width != target.width)
            return mismatch("vision part", "output width", other.width, target.width);
        return {};
    }
    if (other.role != FileRole::Drafter) {
        return Error{ErrorCode::InvalidFile, "it is neither a vision part nor a draft part"};
    }
    if (other.width != target.width)
        return mismatch("draft part", "width", other.width, target.width);
    // A drafter without a vocabulary of its own leaves that to the target.
    if (other.vocabulary != 0 && other.vocabulary != target.vocabulary) {
        return mismatch("draft part", "vocabulary", other.vocabulary, target.vocabulary);
    }
    if (other.lastTap > target.layers) {
        return Error{ErrorCode::InvalidFile,
                     "this draft part belongs to another model: it reads layer " +
                         std::to_string(other.lastTap) + " of " + std::to_string(target.layers)};
    }
    return {};
}

ModelSlots sortIntoSlots(std::span<const std::filesystem::path> files, ModelSlots current) {
    ModelSlots slots = std::move(current);
    slots.refused.clear();
    std::vector<FileRole> filledNow;
    for (const std::filesystem::path& path : files) {
        ModelFileInfo info = inspectModelFile(path);
        std::optional<ModelFileInfo>* const slot =
            info.usable() ? slotFor(slots, info.role) : nullptr;
        if (!slot) {
            slots.refused.push_back(std::move(info));
            continue;
        }
        bool taken = false;
        for (const FileRole role : filledNow) taken = taken || role == info.role;
        if (taken) {
            info.sentence = "Only one file can take this place, and " +
                            pathToUtf8((*slot)->path.filename()) + " came first.";
            slots.refused.push_back(std::move(info));
            continue;
        }
        filledNow.push_back(info.role);
        *slot = std::move(info);
    }
    refuseStranger(slots, slots.projector);
    refuseStranger(slots, slots.drafter);
    return slots;
}

} // namespace engine

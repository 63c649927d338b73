#pragma once
// What a file is, told from its contents and never from its name: one of the three parts of a trio,
// a look-alike that must not be loaded as one, something else, or a file that is not whole.
//
// Only the header is read, so this takes milliseconds on the largest file. Any thread.

#include "engine/base/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace engine {

class GgufFile;

enum class FileRole {
    Unknown,                  // the header does not get that far
    Target,                   // the model itself
    Projector,                // its vision part
    Drafter,                  // its drafter, plain DFlash
    DsparkDrafter,            // says "dflash" too, but is DSpark
    Dflash2Drafter,           // says "dflash" too, but is DFlash 2
    ReducedVocabularyDrafter, // knows part of the vocabulary only
    OwnHeadDrafter,           // brings its own embedding table or head
    OtherModel,               // of another architecture
    OtherProjector,           // of another model
};

enum class FileState {
    Whole,
    Unfinished,  // a sound beginning: still being downloaded, or cut off
    Damaged,     // begins like GGUF and contradicts itself
    Unsupported, // a sound form of GGUF that Glint does not read: big-endian, version 1, ...
    NotGguf,     // empty, text, safetensors, an archive, ...
    Unreadable,  // missing, a folder, no permission
};

struct TensorTypeUse {
    std::string name; // "Q4_K"
    std::int64_t tensors = 0;
    std::int64_t bytes = 0;
    bool readable = true; // Glint computes with this type
};

struct ModelFileInfo {
    std::filesystem::path path;
    FileState state = FileState::Unreadable;
    FileRole role = FileRole::Unknown;
    std::string sentence; // what it is, and what hinders its use; one sentence for people

    std::string architecture;
    std::string name;       // general.name
    std::string sizeLabel;  // "28B"
    bool testModel = false; // a reference model of random weights: it answers nonsense
    int version = 0;        // of GGUF
    int parts = 1;          // files of a split model
    std::int64_t presentBytes = 0;
    std::int64_t expectedBytes = 0; // what the header describes; 0 while unknown
    std::int64_t headerBytes = 0;
    std::int64_t tensors = 0;
    std::int64_t parameters = 0;
    std::vector<TensorTypeUse> types;        // most bytes first
    std::vector<std::string> missingTensors; // that a file of this role must have

    // What must agree within a trio; 0 where it does not apply.
    std::int64_t width = 0; // of the target's residual; a projector's output
    std::int64_t vocabulary = 0;
    std::int64_t layers = 0;
    std::int64_t lastTap = 0; // drafter: the highest target layer that it reads

    // A whole target, projector or drafter with all its tensors, in types that Glint computes with.
    bool usable() const;
};

// Never fails: what hinders is in `state` and `sentence`.
ModelFileInfo inspectModelFile(const std::filesystem::path& path);
// The same for a file that is open (GgufFile::open or openHeader).
ModelFileInfo describeModelFile(const GgufFile& file);

// Whether a projector or drafter belongs to this target: width, vocabulary, layers. The error says
// what differs.
Result<void> checkMatch(const ModelFileInfo& target, const ModelFileInfo& other);

// Files dropped in any order, sorted into the three places.
struct ModelSlots {
    std::optional<ModelFileInfo> target;
    std::optional<ModelFileInfo> projector;
    std::optional<ModelFileInfo> drafter;
    std::vector<ModelFileInfo> refused; // what has no place, with its reason in `sentence`
};
// `current` holds what is chosen already; new files of the same role replace it. A projector or
// drafter that does not match the target is refused.
ModelSlots sortIntoSlots(std::span<const std::filesystem::path> files, ModelSlots current = {});

} // namespace engine

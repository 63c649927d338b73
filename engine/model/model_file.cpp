#include "engine/model/model_file.h"

#include "engine/base/mapped_file.h"
#include "engine/base/size_text.h"
#include "engine/base/utf8.h"
#include "engine/gguf/gguf_file.h"
#include "engine/gguf/gguf_keys.h"
#include "engine/model/foreign_file.h"

#include <algorithm>

namespace engine {

namespace {

constexpr std::string_view kTargetArchitecture = "muse-glimmer";
constexpr std::string_view kDrafterArchitecture = "dflash";
constexpr std::string_view kProjectorArchitecture = "clip";
constexpr std::string_view kProjectorType = "muse-glimmer";
constexpr std::int64_t kMaxLayers = 1024; // as in spec.cpp; bounds the names made here

std::string textOf(const GgufFile& file, std::string_view key) {
    const auto text = file.textOr(key, "");
    return text ? printableUtf8(*text) : std::string();
}

std::int64_t integerOf(const GgufFile& file, std::string_view key) {
    const auto value = file.integerOr(key, 0);
    return value ? *value : 0;
}

// DSpark, DFlash 2 and reduced or self-contained drafters all call themselves "dflash": their
// tensors and keys tell them apart.
FileRole drafterRole(const GgufFile& file) {
    if (file.tensor("markov_w1.weight") || file.tensor("markov_w2.weight"))
        return FileRole::DsparkDrafter;
    if (file.tensor("selector_hidden.weight") || file.has("dflash.conv_kernel_size") ||
        file.has("dflash.conv_group_size") || file.has("dflash.selector_rank") ||
        file.has("dflash.selector_top_k")) {
        return FileRole::Dflash2Drafter;
    }
    if (file.tensor("d2t") || file.tensor("d2t.weight")) return FileRole::ReducedVocabularyDrafter;
    if (file.tensor("token_embd.weight") || file.tensor("output.weight"))
        return FileRole::OwnHeadDrafter;
    return FileRole::Drafter;
}

FileRole roleOf(const GgufFile& file, std::string_view architecture) {
    if (architecture.empty()) return FileRole::Unknown;
    if (architecture == kTargetArchitecture) return FileRole::Target;
    if (architecture == kDrafterArchitecture) return drafterRole(file);
    if (architecture == kProjectorArchitecture) {
        const bool ours = textOf(file, keys::kClipProjectorType) == kProjectorType;
        return ours ? FileRole::Projector : FileRole::OtherProjector;
    }
    return FileRole::OtherModel;
}

// The names of the tensors that a file of this role must have. Their shapes are checked when
// weights are imported.
std::vector<std::string> requiredTensors(FileRole role, std::int64_t layers) {
    std::vector<std::string> names;
    const auto perLayer = [&](std::string_view prefix,
                              std::initializer_list<std::string_view> parts) {
        for (std::int64_t i = 0; i < layers; ++i) {
            for (const std::string_view part : parts) {
                names.push_back(std::string(prefix) + std::to_string(i) + "." + std::string(part));
            }
        }
    };
    if (role == FileRole::Target) {
        names = {"token_embd.weight", "output_norm.weight", "output.weight"};
        perLayer("blk.",
                 {"attn_norm.weight", "attn_q.weight", "attn_k.weight", "attn_v.weight",
                  "attn_gate.weight", "attn_q_norm.weight", "attn_k_norm.weight",
                  "attn_output.weight", "post_attention_norm.weight", "ffn_norm.weight",
                  "ffn_gate.weight", "ffn_up.weight", "ffn_down.weight", "post_ffw_norm.weight"});
    } else if (role == FileRole::Drafter) {
        names = {"fc.weight", "enc.output_norm.weight", "output_norm.weight"};
        perLayer("blk.",
                 {"attn_norm.weight", "attn_q.weight", "attn_k.weight", "attn_v.weight",
                  "attn_q_norm.weight", "attn_k_norm.weight", "attn_output.weight",
                  "ffn_norm.weight", "ffn_gate.weight", "ffn_up.weight", "ffn_down.weight"});
    } else if (role == FileRole::Projector) {
        names = {
            "v.patch_embd.weight", "v.position_embd.weight", "v.pre_ln.weight", "v.pre_ln.bias",
            "v.post_ln.weight",    "v.post_ln.bias",         "mm.0.weight",     "mm.1.weight",
            "mm.2.weight"};
        perLayer("v.blk.", {"ln1.weight", "ln1.bias", "ln2.weight", "ln2.bias", "attn_q.weight",
                            "attn_q.bias", "attn_k.weight", "attn_k.bias", "attn_v.weight",
                            "attn_v.bias", "attn_out.weight", "attn_out.bias", "ffn_up.weight",
                            "ffn_up.bias", "ffn_down.weight", "ffn_down.bias"});
    }
    return names;
}

void readMatchingNumbers(const GgufFile& file, ModelFileInfo& info) {
    if (info.architecture == kProjectorArchitecture) {
        info.width = integerOf(file, keys::kClipProjectionDim);
        info.layers = integerOf(file, keys::kClipBlockCount);
        return;
    }
    info.width = integerOf(file, keys::archKey(info.architecture, keys::kEmbeddingLength));
    info.layers = integerOf(file, keys::archKey(info.architecture, keys::kBlockCount));
    const auto tokens = file.texts(keys::kTokens);
    info.vocabulary = tokens ? tokens->size() : 0;
    const auto taps =
        file.integers(keys::archKey(info.architecture, keys::kTargetLayers), kMaxLayers);
    if (taps && !taps->empty()) info.lastTap = *std::max_element(taps->begin(), taps->end());
}

void countTypes(const GgufFile& file, ModelFileInfo& info) {
    for (const GgufTensor& tensor : file.tensors()) {
        const auto sameName = [&](const TensorTypeUse& use) {
            return use.name == tensor.format->name;
        };
        auto use = std::find_if(info.types.begin(), info.types.end(), sameName);
        if (use == info.types.end()) {
            info.types.push_back(
                {std::string(tensor.format->name), 0, 0, tensor.format->readable()});
            use = info.types.end() - 1;
        }
        ++use->tensors;
        use->bytes += tensor.sizeBytes;
        info.parameters += tensor.columns() * tensor.rows();
    }
    std::stable_sort(
        info.types.begin(), info.types.end(),
        [](const TensorTypeUse& a, const TensorTypeUse& b) { return a.bytes > b.bytes; });
    info.tensors = static_cast<std::int64_t>(file.tensors().size());
}

std::string whatItIs(const ModelFileInfo& info) {
    switch (info.role) {
    case FileRole::Target: return info.testModel ? "This is a test model" : "This is the model";
    case FileRole::Projector:
        return info.testModel ? "This is the vision part of a test model"
                              : "This is the vision part";
    case FileRole::Drafter:
        return info.testModel ? "This is the draft part of a test model" : "This is the draft part";
    case FileRole::DsparkDrafter:
        return "This is a draft part made for DSpark, another way of drafting; Glint needs the "
               "DFlash one";
    case FileRole::Dflash2Drafter:
        return "This is a draft part made for DFlash 2, which Glint does not read; it needs the "
               "DFlash one";
    case FileRole::ReducedVocabularyDrafter:
        return "This is a draft part that knows only some of the model's vocabulary, which Glint "
               "does not "
               "read; it needs the DFlash one";
    case FileRole::OwnHeadDrafter:
        return "This is a draft part with an output layer of its own, which Glint does not read; "
               "it needs "
               "the DFlash one";
    case FileRole::OtherModel:
        return "This is another model (" + info.architecture + "), not Muse Glimmer";
    case FileRole::OtherProjector:
        return "This is the vision part of another model, not of Muse Glimmer";
    case FileRole::Unknown: break;
    }
    return "This is a GGUF file that does not say which model it holds";
}

bool loadableRole(FileRole role) {
    return role == FileRole::Target || role == FileRole::Projector || role == FileRole::Drafter;
}

std::string unreadableTypes(const ModelFileInfo& info) {
    std::string names;
    for (const TensorTypeUse& use : info.types) {
        if (!use.readable) names += (names.empty() ? "" : ", ") + use.name;
    }
    return names;
}

// What it is, then the first thing that hinders its use.
std::string sentenceFor(const GgufFile& file, const ModelFileInfo& info) {
    std::string text = whatItIs(info);
    if (!file.missingParts().empty()) {
        text += ", split into " + std::to_string(info.parts) +
                " files of which these are missing beside it: ";
        for (std::size_t i = 0; i < file.missingParts().size(); ++i) {
            text += (i ? ", " : "") + printableUtf8(file.missingParts()[i]);
        }
    } else if (info.state == FileState::Unfinished) {
        text += ", and it is not complete: " + sizeOfText(info.presentBytes, info.expectedBytes) +
                " are here; is it still being downloaded?";
        return text;
    } else if (loadableRole(info.role) && !info.missingTensors.empty()) {
        text += ", but " + countText(info.missingTensors.size()) +
                (info.missingTensors.size() == 1 ? " tensor is missing: "
                                                 : " tensors are missing, such as ") +
                info.missingTensors.front();
    } else if (const std::string types = unreadableTypes(info);
               loadableRole(info.role) && !types.empty()) {
        text += ", in number formats that Glint does not read: " + types;
    } else if (info.role == FileRole::Target && info.testModel) {
        text += " with random weights; what it answers is nonsense";
    }
    return text + ".";
}

// What GgufFile::openHeader could not open.
void describeFailure(const Error& error, ModelFileInfo& info) {
    switch (error.code) {
    case ErrorCode::Unfinished:
        info.state = FileState::Unfinished;
        info.sentence = "The file is not complete: only " + sizeText(info.presentBytes) +
                        " are here, less than its header; is it still being downloaded?";
        return;
    case ErrorCode::InvalidFile:
        info.state = FileState::Damaged;
        info.sentence = "The file is damaged: " + error.message + ".";
        return;
    case ErrorCode::Unsupported:
        info.state = FileState::Unsupported;
        info.sentence = "Glint does not read this file: " + error.message + ".";
        return;
    default:
        info.state = FileState::Unreadable;
        info.sentence = "The file cannot be read: " + error.message + ".";
    }
}

} // namespace

bool ModelFileInfo::usable() const {
    return state == FileState::Whole && loadableRole(role) && missingTensors.empty() &&
           std::all_of(types.begin(), types.end(),
                       [](const TensorTypeUse& use) { return use.readable; });
}

ModelFileInfo describeModelFile(const GgufFile& file) {
    ModelFileInfo info;
    info.path = file.path();
    info.state = file.complete() ? FileState::Whole : FileState::Unfinished;
    info.version = file.version();
    info.parts = file.parts();
    info.presentBytes = file.presentBytes();
    info.expectedBytes = file.missingParts().empty() ? file.expectedBytes() : 0;
    info.headerBytes = file.dataOffset();
    info.architecture = textOf(file, keys::kArchitecture);
    info.name = textOf(file, keys::kName);
    info.sizeLabel = textOf(file, keys::kSizeLabel);
    info.role = roleOf(file, info.architecture);
    // What the scripts that make reference files and full-size files of random weights write.
    info.testModel = info.name.find("test fixture") != std::string::npos ||
                     info.name.find("synthetic") != std::string::npos;
    countTypes(file, info);
    readMatchingNumbers(file, info);
    if (file.missingParts().empty()) {
        for (std::string& name : requiredTensors(info.role, std::min(info.layers, kMaxLayers))) {
            if (!file.tensor(name)) info.missingTensors.push_back(std::move(name));
        }
    }
    info.sentence = sentenceFor(file, info);
    return info;
}

ModelFileInfo inspectModelFile(const std::filesystem::path& path) {
    ModelFileInfo info;
    info.path = path;
    const auto map = MappedFile::open(path);
    if (!map) {
        describeFailure(map.error(), info);
        return info;
    }
    info.presentBytes = map->size();
    constexpr std::string_view kMagic = "GGUF";
    const std::string_view start(reinterpret_cast<const char*>(map->bytes().data()),
                                 std::min(map->bytes().size(), kMagic.size()));
    if (start.empty() || start != kMagic.substr(0, start.size())) {
        const ForeignFile foreign = describeForeignFile(map->bytes());
        info.state = foreign.unfinished ? FileState::Unfinished : FileState::NotGguf;
        info.sentence = foreign.sentence;
        return info;
    }
    const auto file = GgufFile::openHeader(path);
    if (!file) {
        describeFailure(file.error(), info);
        return info;
    }
    return describeModelFile(*file);
}

} // namespace engine

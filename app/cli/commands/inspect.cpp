// glint-cli inspect: what files are, told from their headers.
#include "app/cli/commands.h"

#include "engine/base/path_text.h"
#include "engine/base/size_text.h"
#include "engine/base/utf8.h"
#include "engine/gguf/gguf_file.h"
#include "engine/gguf/gguf_keys.h"
#include "engine/model/model_file.h"
#include "engine/model/spec.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace app {
namespace {

using engine::FileRole;
using engine::FileState;
using engine::GgufFile;
using engine::GgufKey;
using engine::GgufType;
using engine::ModelFileInfo;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostListed = 64; // longer lists are shown by their length

std::string_view roleWord(FileRole role) {
    switch (role) {
    case FileRole::Target: return "target";
    case FileRole::Projector: return "projector";
    case FileRole::Drafter: return "drafter";
    case FileRole::DsparkDrafter: return "dspark";
    case FileRole::Dflash2Drafter: return "dflash2";
    case FileRole::ReducedVocabularyDrafter: return "reduced_vocabulary_drafter";
    case FileRole::OwnHeadDrafter: return "own_head_drafter";
    case FileRole::OtherModel: return "other_model";
    case FileRole::OtherProjector: return "other_projector";
    case FileRole::Unknown: break;
    }
    return "unknown";
}

std::string_view stateWord(FileState state) {
    switch (state) {
    case FileState::Whole: return "whole";
    case FileState::Unfinished: return "unfinished";
    case FileState::Damaged: return "damaged";
    case FileState::Unsupported: return "unsupported";
    case FileState::NotGguf: return "not_gguf";
    case FileState::Unreadable: break;
    }
    return "unreadable";
}

std::string showPath(const std::filesystem::path& path) {
    return engine::replaceInvalidUtf8(engine::pathToUtf8(path));
}

Json listOf(const GgufFile& file, const GgufKey& key) {
    if (key.count > kMostListed) return {{"count", key.count}};
    Json list = Json::array();
    if (key.type == GgufType::String) {
        for (const std::string_view text : file.texts(key.name).value()) {
            list.push_back(engine::replaceInvalidUtf8(text));
        }
    } else if (const auto integers = file.integers(key.name)) {
        for (const std::int64_t value : *integers) {
            if (key.type == GgufType::Bool) {
                list.push_back(value != 0);
            } else {
                list.push_back(value);
            }
        }
    } else if (const auto numbers = file.numbers(key.name)) {
        for (const double value : *numbers) list.push_back(value);
    }
    return list;
}

Json valueOf(const GgufFile& file, const GgufKey& key) {
    if (key.array) return listOf(file, key);
    if (key.type == GgufType::String) return engine::printableUtf8(*file.text(key.name), 200);
    if (key.type == GgufType::Bool) return *file.boolean(key.name);
    if (const auto value = file.integer(key.name, INT64_MIN)) return *value;
    if (const auto value = file.number(key.name)) return *value;
    return nullptr; // not a finite number
}

// The numbers of the model and the ids of the tokenizer, by their keys.
Json hyperParameters(const GgufFile& file, const std::string& architecture) {
    Json out = Json::object();
    for (const GgufKey& key : file.keys()) {
        const bool own = key.name.starts_with(architecture + ".");
        const bool token = key.name.starts_with("tokenizer.ggml.");
        if (own || token) out[engine::printableUtf8(key.name)] = valueOf(file, key);
    }
    return out;
}

struct Inspected {
    ModelFileInfo info;
    Json hyper = Json::object();
    std::optional<engine::TextSpec> text; // of a target whose numbers make sense
    std::string problem;                  // why it cannot be used, when it should be
};

Inspected inspect(const std::filesystem::path& path) {
    Inspected out;
    out.info = engine::inspectModelFile(path);
    const bool headerKnown =
        out.info.state == FileState::Whole || out.info.state == FileState::Unfinished;
    if (out.info.state != FileState::Whole) out.problem = out.info.sentence;
    if (!headerKnown) return out;
    const auto file = GgufFile::openHeader(path);
    if (!file) return out; // unfinished within its header
    out.hyper = hyperParameters(*file, out.info.architecture);
    if (!out.problem.empty()) return out;
    if (out.info.role == FileRole::Target) {
        const auto spec = engine::TextSpec::read(*file);
        if (spec) {
            out.text = *spec;
        } else {
            out.problem = spec.error().message;
        }
    } else if (out.info.role == FileRole::Projector) {
        const auto spec = engine::VisionSpec::read(*file);
        if (!spec) out.problem = spec.error().message;
    }
    return out;
}

// Whether the vision part and the draft part belong to the model, when one is among the files.
void checkTogether(std::vector<Inspected>& files) {
    const Inspected* target = nullptr;
    for (const Inspected& file : files) {
        if (file.text && !target) target = &file;
    }
    if (!target) return;
    for (Inspected& file : files) {
        const FileRole role = file.info.role;
        if (!file.problem.empty() || (role != FileRole::Projector && role != FileRole::Drafter))
            continue;
        if (const auto match = engine::checkMatch(target->info, file.info); !match) {
            file.problem = match.error().message;
        } else if (role == FileRole::Drafter) {
            const auto opened = GgufFile::open(file.info.path);
            const auto spec = opened ? engine::DraftSpec::read(*opened, *target->text)
                                     : engine::Result<engine::DraftSpec>(opened.error());
            if (!spec) file.problem = spec.error().message;
        }
    }
}

Json toJson(const Inspected& file) {
    const ModelFileInfo& info = file.info;
    Json types = Json::array();
    for (const engine::TensorTypeUse& use : info.types) {
        types.push_back({{"type", use.name},
                         {"tensors", use.tensors},
                         {"bytes", use.bytes},
                         {"readable", use.readable}});
    }
    return {{"path", showPath(info.path)},
            {"role", roleWord(info.role)},
            {"state", stateWord(info.state)},
            {"usable", info.usable() && file.problem.empty()},
            {"sentence", info.sentence},
            {"problem", file.problem.empty() ? Json() : Json(file.problem)},
            {"test_model", info.testModel},
            {"architecture", info.architecture},
            {"name", info.name},
            {"size_label", info.sizeLabel},
            {"gguf_version", info.version},
            {"parts", info.parts},
            {"present_bytes", info.presentBytes},
            {"expected_bytes", info.expectedBytes},
            {"header_bytes", info.headerBytes},
            {"tensors", info.tensors},
            {"parameters", info.parameters},
            {"types", types},
            {"missing_tensors", info.missingTensors},
            {"hyper_parameters", file.hyper}};
}

std::string sizeAgainstHeader(const ModelFileInfo& info) {
    const std::string size = engine::sizeText(info.presentBytes);
    if (info.expectedBytes == 0) return size;
    const std::int64_t more = info.presentBytes - info.expectedBytes;
    // Writers pad the last tensor; less than a page behind it is nothing to mention.
    if (more >= 0 && more < 4096) return size + ", as the header says";
    if (more < 0) return size + ", the header describes " + engine::sizeText(info.expectedBytes);
    return size + ", " + engine::sizeText(more) + " more than the header describes";
}

std::string plainText(const Json& value) {
    if (value.is_object()) {
        return engine::countText(value["count"].get<std::uint64_t>()) + " entries";
    }
    if (value.is_number_float()) { // a float in the file: 1e-05, not 9.999999747378752e-06
        char text[32];
        std::snprintf(text, sizeof text, "%.7g", value.get<double>());
        return text;
    }
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void print(std::string_view label, const std::string& value) {
    std::printf("  %-14s %s\n", std::string(label).c_str(), value.c_str());
}

void printText(const Inspected& file) {
    const ModelFileInfo& info = file.info;
    std::printf("%s\n  %s\n", showPath(info.path).c_str(), info.sentence.c_str());
    if (info.version != 0) {
        if (!info.name.empty()) print("name", info.name);
        print("size", sizeAgainstHeader(info));
        print("container",
              "GGUF " + std::to_string(info.version) + ", header " +
                  engine::sizeText(info.headerBytes) +
                  (info.parts > 1 ? ", " + std::to_string(info.parts) + " files" : ""));
        print("parameters", engine::countText(static_cast<std::uint64_t>(info.parameters)) +
                                " in " + std::to_string(info.tensors) + " tensors");
        for (const engine::TensorTypeUse& use : info.types) {
            print("", use.name + ": " + std::to_string(use.tensors) + " tensors, " +
                          engine::sizeText(use.bytes) + (use.readable ? "" : ", not readable"));
        }
        for (const std::string& name : info.missingTensors) print("missing", name);
        for (const auto& [key, value] : file.hyper.items()) {
            std::printf("  %s = %s\n", key.c_str(), plainText(value).c_str());
        }
    }
    std::printf("\n");
}

engine::Result<int> run(const Options& options) {
    if (options.plain().empty()) {
        return engine::Error{engine::ErrorCode::InvalidFile, "say which files to inspect"};
    }
    std::vector<Inspected> files;
    for (const std::string& path : options.plain())
        files.push_back(inspect(engine::pathFromUtf8(path)));
    checkTogether(files);

    if (options.json()) {
        Json list = Json::array();
        for (const Inspected& file : files) list.push_back(toJson(file));
        const std::string text =
            Json{{"files", list}}.dump(2, ' ', false, Json::error_handler_t::replace);
        std::printf("%s\n", text.c_str());
    } else {
        for (const Inspected& file : files) printText(file);
    }

    std::string problems;
    for (const Inspected& file : files) {
        if (file.problem.empty()) continue;
        problems += (problems.empty() ? "" : " ") + showPath(file.info.path) + ": " + file.problem;
    }
    if (!problems.empty()) return engine::Error{engine::ErrorCode::InvalidFile, problems};
    return 0;
}

} // namespace

const Command kInspect = {
    "inspect", "say what files are: role, numbers, tensor types, size against the header",
    "FILE...", {},
    run,
};

} // namespace app

#include "app/model_library.h"

#include "app/error_text.h"
#include "engine/gguf/gguf_file.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>

namespace app {

using engine::FileRole;
using engine::FileState;
using engine::ModelFileInfo;
using engine::ModelSlots;
using engine::Result;

namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 8;
constexpr int kMaxFilesPerPlace = 20'000;
constexpr std::uintmax_t kLeastBlobBytes = 1'000'000; // smaller ones are settings and licences

struct Text {
    Q_DECLARE_TR_FUNCTIONS(ModelLibrary)
};

bool hasGgufMagic(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::array<char, 4> magic{};
    file.read(magic.data(), magic.size());
    return file && std::string_view(magic.data(), magic.size()) == "GGUF";
}

bool isGgufName(const fs::path& path) {
    std::string extension = path.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return extension == ".gguf";
}

// Follows links to files, as Hugging Face's cache has them, but not to folders: those could run in
// circles.
void collect(const fs::path& folder, bool blobs, int depth, std::stop_token stop, int& left,
             std::vector<fs::path>& out) {
    std::error_code failure;
    for (fs::directory_iterator at(folder, fs::directory_options::skip_permission_denied, failure),
         end;
         !failure && at != end; at.increment(failure)) {
        if (stop.stop_requested() || --left < 0) return;
        std::error_code ignored;
        const fs::directory_entry& entry = *at;
        if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) {
            if (depth < kMaxDepth) collect(entry.path(), blobs, depth + 1, stop, left, out);
        } else if (entry.is_regular_file(ignored)) { // through links
            const bool wanted =
                isGgufName(entry.path()) || (blobs && entry.file_size(ignored) >= kLeastBlobBytes &&
                                             hasGgufMagic(entry.path()));
            if (wanted) out.push_back(entry.path());
        }
    }
}

bool isOneOfThree(const ModelFileInfo& info) {
    switch (info.role) {
    case FileRole::Target:
    case FileRole::Projector:
    case FileRole::Drafter:
    case FileRole::DsparkDrafter:
    case FileRole::Dflash2Drafter:
    case FileRole::ReducedVocabularyDrafter:
    case FileRole::OwnHeadDrafter: return true;
    case FileRole::Unknown: return info.state == FileState::Unfinished;
    case FileRole::OtherModel:
    case FileRole::OtherProjector: return false;
    }
    return false;
}

QString environment(const char* name) {
    return qEnvironmentVariable(name);
}

} // namespace

std::vector<LibraryPlace> libraryPlaces() {
    const QString home = QDir::homePath();
    std::vector<LibraryPlace> places;
    const auto add = [&](const QString& folder, const QString& name, bool blobs = false) {
        if (folder.isEmpty() || !QDir(folder).exists()) return;
        const fs::path path = filePath(QDir(folder).canonicalPath());
        const bool known =
            std::any_of(places.begin(), places.end(),
                        [&](const LibraryPlace& place) { return place.folder == path; });
        if (!known) places.push_back({path, name, blobs});
    };
    const QString lmStudio = Text::tr("LM Studio's folder");
    add(home + QStringLiteral("/.lmstudio/models"), lmStudio);
    add(home + QStringLiteral("/.cache/lm-studio/models"), lmStudio);
    const QString huggingFace = Text::tr("Hugging Face's folder");
    add(environment("HF_HUB_CACHE"), huggingFace);
    if (const QString base = environment("HF_HOME"); !base.isEmpty())
        add(base + QStringLiteral("/hub"), huggingFace);
    add(home + QStringLiteral("/.cache/huggingface/hub"), huggingFace);
    const QString llama = Text::tr("llama.cpp's folder");
    add(home + QStringLiteral("/.cache/llama.cpp"), llama);
    const QString ollama = Text::tr("Ollama's folder");
    if (const QString base = environment("OLLAMA_MODELS"); !base.isEmpty()) {
        add(base + QStringLiteral("/blobs"), ollama, true);
    }
    add(home + QStringLiteral("/.ollama/models/blobs"), ollama, true);
    add(QStringLiteral("/usr/share/ollama/.ollama/models/blobs"), ollama, true);
    add(QStandardPaths::writableLocation(QStandardPaths::DownloadLocation),
        Text::tr("your downloads"));
    return places;
}

std::vector<LibraryFile> lookForModels(const std::vector<LibraryPlace>& places,
                                       std::stop_token stop,
                                       const std::function<void(const QString&)>& entering) {
    std::vector<LibraryFile> found;
    std::set<fs::path> seen; // canonical: where links lead
    for (const LibraryPlace& place : places) {
        if (stop.stop_requested()) break;
        entering(place.name);
        std::vector<fs::path> files;
        int left = kMaxFilesPerPlace;
        collect(place.folder, place.blobs, 0, stop, left, files);
        std::sort(files.begin(), files.end());
        for (const fs::path& file : files) {
            if (stop.stop_requested()) break;
            std::error_code failure;
            const fs::path canonical = fs::canonical(file, failure);
            if (failure || !seen.insert(canonical).second) continue;
            ModelFileInfo info = engine::inspectModelFile(file);
            if (isOneOfThree(info)) found.push_back({std::move(info), place.name});
        }
    }
    return found;
}

ModelSlots withCompanions(ModelSlots chosen) {
    if (!chosen.target || (chosen.projector && chosen.drafter)) return chosen;
    std::vector<fs::path> files;
    std::error_code failure;
    for (fs::directory_iterator at(chosen.target->path.parent_path(), failure), end;
         !failure && at != end; at.increment(failure)) {
        std::error_code ignored;
        if (isGgufName(at->path()) && at->is_regular_file(ignored) &&
            at->path() != chosen.target->path) {
            files.push_back(at->path());
        }
        if (files.size() >= 200) break;
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
        const ModelFileInfo info = engine::inspectModelFile(file);
        if (!info.usable() || !engine::checkMatch(*chosen.target, info).ok()) continue;
        if (info.role == FileRole::Projector && !chosen.projector) chosen.projector = info;
        if (info.role == FileRole::Drafter && !chosen.drafter) chosen.drafter = info;
    }
    return chosen;
}

engine::ModelFiles filesOf(const ModelSlots& trio) {
    engine::ModelFiles files;
    if (trio.target) files.target = trio.target->path;
    if (trio.projector) files.projector = trio.projector->path;
    if (trio.drafter) files.drafter = trio.drafter->path;
    return files;
}

Result<engine::PlacementInput> placementInput(ModelSlots& trio) {
    engine::PlacementInput input;
    const Result<engine::GgufFile> target = engine::GgufFile::openHeader(trio.target->path);
    if (!target.ok()) return target.error();
    Result<engine::TextSpec> text = engine::TextSpec::read(*target);
    if (!text.ok()) return text.error();
    input.text = std::move(text.value());
    input.modelBytes = trio.target->presentBytes;

    const auto readPart = [&](std::optional<ModelFileInfo>& part, auto& spec, std::int64_t& bytes,
                              const auto& read) {
        if (!part) return;
        const Result<engine::GgufFile> file = engine::GgufFile::openHeader(part->path);
        const auto found = file.ok() ? read(*file) : file.error();
        if (found.ok()) {
            spec = *found;
            bytes = part->presentBytes;
            return;
        }
        part->sentence = found.error().message + ".";
        trio.refused.push_back(std::move(*part));
        part.reset();
    };
    readPart(trio.projector, input.vision, input.visionBytes, engine::VisionSpec::read);
    readPart(trio.drafter, input.draft, input.draftBytes, [&](const engine::GgufFile& file) {
        return engine::DraftSpec::read(file, input.text);
    });
    return input;
}

std::vector<std::filesystem::path> demoFiles() {
    const QString program = QCoreApplication::applicationDirPath();
    for (const QString& folder :
         {program + QStringLiteral("/demo"), program + QStringLiteral("/../share/glint/demo"),
          program + QStringLiteral("/../../../resources/demo")}) {
        const QDir demo(folder);
        if (!demo.exists(QStringLiteral("demo-target.gguf"))) continue;
        std::vector<std::filesystem::path> files;
        for (const char* name : {"demo-target.gguf", "demo-mmproj.gguf", "demo-dflash.gguf"}) {
            const QString path = demo.absoluteFilePath(QLatin1String(name));
            if (QFileInfo::exists(path)) files.push_back(filePath(QDir::cleanPath(path)));
        }
        return files;
    }
    return {};
}

} // namespace app

#pragma once
// Finds model files on this computer: in the folders of LM Studio, Hugging Face and Ollama and
// among the downloads, and beside a chosen file. Nothing is copied or changed. What a file is, its
// header says (engine/model/model_file.h).
//
// Pure functions, any thread; looking can take seconds and is stopped by the token.

#include "engine/model/model_file.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/placement.h"

#include <QString>

#include <filesystem>
#include <functional>
#include <stop_token>
#include <vector>

namespace app {

struct LibraryPlace {
    std::filesystem::path folder;
    QString name;       // "LM Studio's folder"
    bool blobs = false; // files without extension, named by their hash
};

// Those that exist.
std::vector<LibraryPlace> libraryPlaces();

struct LibraryFile {
    engine::ModelFileInfo info;
    QString place;
};

// Files that are one of the three parts, or would be if they were whole; each once, though several
// links may lead to it. `entering` is called before each place.
std::vector<LibraryFile> lookForModels(const std::vector<LibraryPlace>& places,
                                       std::stop_token stop,
                                       const std::function<void(const QString&)>& entering);

// Fills empty places of the trio with files that lie in the target's folder and match it.
engine::ModelSlots withCompanions(engine::ModelSlots chosen);

engine::ModelFiles filesOf(const engine::ModelSlots& trio);

// What planning needs, from the headers. The target must be there; parts that are not are left out.
// A part whose header is faulty goes to the refused, with the reason.
engine::Result<engine::PlacementInput> placementInput(engine::ModelSlots& trio);

// The demo trio, installed beside the program or lying in the source tree that it was built in;
// empty if there is none.
std::vector<std::filesystem::path> demoFiles();

} // namespace app

#pragma once
// The reference trio as the tests of this folder use it: golden values, and an engine that runs on
// it.

#include "engine/chat/prompt.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/session.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct GoldenTensor {
    std::size_t columns = 0;
    std::vector<float> values;
    std::span<const float> row(std::size_t index) const {
        return std::span(values).subspan(index * columns, columns);
    }
};

std::filesystem::path fixtureFolder(const std::string& name); // "tiny-f32"

class GoldenFile {
public:
    explicit GoldenFile(const std::string& fixture);
    ~GoldenFile();
    const nlohmann::json& cases() const { return m_cases; }
    GoldenTensor f32(const std::string& name) const;

private:
    struct State;
    std::unique_ptr<State> m;
    nlohmann::json m_cases;
};

struct TinySetup {
    bool projector = true;
    bool drafter = true;
    int threads = 1;
    int prefillChunk = 64;
    std::int64_t context = 1024;
    engine::KvType kvType = engine::KvType::F32;
    bool floatMath = true;
};
engine::ModelFiles tinyFiles(const TinySetup& setup = {});
std::unique_ptr<engine::Backend> tinyBackend(const TinySetup& setup = {});
// Fails the test and gives null if loading fails.
std::unique_ptr<engine::Engine> loadTiny(const TinySetup& setup = {});

// What a turn gave, with everything its events said.
struct Answer {
    engine::TurnFinished finished;
    std::string thinking;
    std::string text;
    std::vector<int> accepted; // per cycle
    std::vector<int> drafted;
    std::vector<engine::Reading> readings;
    int pictures = 0; // encoded
    bool ok = false;
    std::string error;
    const std::vector<std::int32_t>& ids() const { return finished.ids; }
};
Answer generate(engine::Engine& engine, const engine::Prompt& prompt,
                const engine::GenerateOptions& options, std::stop_token stop = {});

engine::Prompt promptOf(std::vector<std::int32_t> ids);
// One of the oracle's picture prompts: index into cases.json image_prompts.
engine::Prompt picturePrompt(const GoldenFile& golden, std::size_t index);
engine::GenerateOptions greedy(std::int64_t tokens, int draftLength);

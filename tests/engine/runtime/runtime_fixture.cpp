#include "runtime_fixture.h"

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/gguf/gguf_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

using namespace engine;

std::filesystem::path fixtureFolder(const std::string& name) {
    return std::filesystem::path(GLINT_FIXTURES) / "oracle" / name;
}

struct GoldenFile::State {
    GgufFile file;
};

GoldenFile::GoldenFile(const std::string& fixture) {
    const auto folder = fixtureFolder(fixture);
    std::ifstream in(folder / "cases.json", std::ios::binary);
    m_cases = nlohmann::json::parse(in);
    auto file = GgufFile::open(folder / "golden.gguf");
    if (!file) throw std::runtime_error(file.error().message);
    m = std::make_unique<State>(State{std::move(*file)});
}
GoldenFile::~GoldenFile() = default;

GoldenTensor GoldenFile::f32(const std::string& name) const {
    const GgufTensor* tensor = m->file.tensor(name);
    if (!tensor || tensor->type() != QuantType::F32)
        throw std::runtime_error("golden.gguf lacks " + name);
    GoldenTensor out;
    out.columns = std::size_t(tensor->columns());
    out.values.resize(tensor->bytes.size() / sizeof(float));
    std::memcpy(out.values.data(), tensor->bytes.data(), tensor->bytes.size());
    return out;
}

ModelFiles tinyFiles(const TinySetup& setup) {
    const auto folder = fixtureFolder("tiny-f32");
    ModelFiles files;
    files.target = folder / "target.gguf";
    if (setup.projector) files.projector = folder / "mmproj.gguf";
    if (setup.drafter) files.drafter = folder / "dflash.gguf";
    return files;
}

std::unique_ptr<Backend> tinyBackend(const TinySetup& setup) {
    CpuOptions options;
    options.math = setup.floatMath ? CpuMath::Float : CpuMath::Int8;
    options.threads = setup.threads;
    auto backend = CpuBackend::make(options);
    if (!backend) throw std::runtime_error(backend.error().message);
    return std::move(*backend);
}

std::unique_ptr<Engine> loadTiny(const TinySetup& setup) {
    EngineOptions options;
    options.contextTokens = setup.context;
    options.prefillChunk = setup.prefillChunk;
    options.kvType = setup.kvType;
    auto engine = Engine::load(tinyBackend(setup), tinyFiles(setup), options, {}, {});
    if (!engine) {
        ADD_FAILURE() << engine.error().message;
        return nullptr;
    }
    return std::move(*engine);
}

Answer generate(Engine& engine, const Prompt& prompt, const GenerateOptions& options,
                std::stop_token stop) {
    Answer answer;
    int drafted = 0;
    int accepted = 0;
    int finishes = 0;
    const auto sink = [&](const TurnEvent& event) {
        EXPECT_EQ(finishes, 0) << "an event after the last one";
        if (const auto* delta = std::get_if<TextDelta>(&event)) {
            (delta->channel == Channel::Thinking ? answer.thinking : answer.text) += delta->text;
        } else if (const auto* progress = std::get_if<Progress>(&event)) {
            if (progress->cycles > 0) {
                answer.accepted.push_back(progress->acceptedTokens - accepted);
                answer.drafted.push_back(progress->draftedTokens - drafted);
            }
            accepted = progress->acceptedTokens;
            drafted = progress->draftedTokens;
        } else if (const auto* reading = std::get_if<Reading>(&event)) {
            answer.readings.push_back(*reading);
        } else if (std::get_if<LookingAtPicture>(&event)) {
            ++answer.pictures;
        } else {
            ++finishes;
        }
    };
    auto turn = engine.session().generate(prompt, options, sink, std::move(stop));
    answer.ok = turn.ok();
    if (!turn) {
        answer.error = turn.error().message;
        return answer;
    }
    EXPECT_EQ(finishes, 1);
    answer.finished = std::move(*turn);
    return answer;
}

Prompt promptOf(std::vector<std::int32_t> ids) {
    Prompt prompt;
    prompt.ids = std::move(ids);
    prompt.turnStarts = {0};
    return prompt;
}

Prompt picturePrompt(const GoldenFile& golden, std::size_t index) {
    const nlohmann::json& c = golden.cases()["image_prompts"][index];
    Prompt prompt = promptOf(c["prompt"].get<std::vector<std::int32_t>>());
    const std::string name = c["image"];
    auto image = readImage(fixtureFolder("tiny-f32") / "images" / (name + ".png"), AlphaRule::Drop);
    if (!image) throw std::runtime_error(image.error().message);
    ImageSlot slot;
    slot.firstToken = c["first_patch"];
    slot.tokens = c["n_patch"];
    slot.key = name;
    slot.image = std::make_shared<const RgbImage>(std::move(*image));
    prompt.images.push_back(std::move(slot));
    return prompt;
}

GenerateOptions greedy(std::int64_t tokens, int draftLength) {
    GenerateOptions options;
    options.sampling.temperature = 0;
    options.maxTokens = tokens;
    options.draftLength = {draftLength};
    options.ignoreEndTokens = true;
    return options;
}

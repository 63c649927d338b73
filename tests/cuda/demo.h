#pragma once
// The demo trio on the card, and one short answer of it.

#include "cuda/cuda_backend.h"
#include "engine/chat/prompt_builder.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cuda::test {

// In the checkout that the test runs in; else in the one it was built in.
inline std::filesystem::path demoFolder() {
    const std::filesystem::path here = "resources/demo";
    return std::filesystem::exists(here / "demo-target.gguf") ? here : GLINT_DEMO;
}

inline engine::ModelFiles demoFiles() {
    const std::filesystem::path folder = demoFolder();
    return {folder / "demo-target.gguf", folder / "demo-mmproj.gguf", folder / "demo-dflash.gguf"};
}

inline engine::Result<std::unique_ptr<engine::Engine>>
loadDemo(std::unique_ptr<engine::Backend> backend, engine::KvType kvType = engine::KvType::F16) {
    engine::EngineOptions options;
    options.contextTokens = 1024;
    options.kvType = kvType;
    return engine::Engine::load(std::move(backend), demoFiles(), options, {}, {});
}

inline engine::Result<std::unique_ptr<engine::Engine>> loadDemo(const CudaOptions& options) {
    auto backend = CudaBackend::make(options);
    if (!backend) return backend.error();
    return loadDemo(std::move(*backend));
}

struct DemoAnswer {
    std::string text; // thinking and answer
    engine::Result<engine::TurnFinished> end = engine::TurnFinished{};
};

// A picture-free question that is answered with thinking. onText is called after each piece.
inline DemoAnswer askDemo(engine::Engine& engine, int draftLength = engine::DraftLength::kAutomatic,
                          const std::function<void()>& onText = {}) {
    engine::PromptRequest request;
    request.messages = {engine::ChatMessage::user("What is 17 x 23?")};
    DemoAnswer answer;
    auto prompt = engine::buildPrompt(request, engine.tokenizer(), engine.vision());
    if (!prompt) {
        answer.end = prompt.error();
        return answer;
    }
    engine::GenerateOptions options;
    options.sampling.temperature = 0;
    options.maxTokens = 60;
    options.draftLength.tokens = draftLength;
    answer.end = engine.session().generate(*prompt, options,
                                           [&](const engine::TurnEvent& event) {
                                               const auto* delta =
                                                   std::get_if<engine::TextDelta>(&event);
                                               if (!delta) return;
                                               answer.text += delta->text;
                                               if (onText) onText();
                                           },
                                           {});
    return answer;
}

} // namespace cuda::test

// The options of every command that computes.

#include "app/backend_choice.h"
#include "app/cli/options.h"
#include "engine/chat/conversation.h"
#include "engine/runtime/kv_cache.h"
#include "engine/runtime/sampler_table.h"

#include <algorithm>
#include <cstdio>
#include <list>
#include <string>
#include <utility>

namespace app {

using engine::Result;

std::span<const OptionSpec> computeOptionSpecs() {
    static constexpr OptionSpec kSpecs[] = {
        {"--math", "float|int8", "arithmetic: plain float, or the integer scheme (default int8)"},
        {"--kv", "f32|f16|q8_0", "how keys and values are kept (default f16)"},
        {"--threads", "N", "threads that compute (default: one per core)"},
        {"--backend", "cpu|cuda|auto", "where to compute (default auto)"},
    };
    return kSpecs;
}

std::vector<OptionSpec> withComputeOptions(std::vector<OptionSpec> own) {
    for (const OptionSpec& spec : computeOptionSpecs()) own.push_back(spec);
    return own;
}

Result<BackendWish> backendWishOption(const Options& options) {
    static constexpr std::string_view kBackends[] = {"auto", "cpu", "cuda"};
    static constexpr BackendKind kKinds[] = {BackendKind::Automatic, BackendKind::Processor,
                                             BackendKind::Card};
    auto kind = options.choice("--backend", 0, kBackends);
    if (!kind) return kind.error();
    static constexpr std::string_view kMaths[] = {"int8", "float"};
    auto math = options.choice("--math", 0, kMaths);
    if (!math) return math.error();
    auto threads = options.integer("--threads", 0, 1, 1024);
    if (!threads) return threads.error();
    auto kvType = kvTypeOption(options);
    if (!kvType) return kvType.error();

    BackendWish wish;
    wish.kind = kKinds[std::size_t(*kind)];
    wish.floatMath = *math == 1;
    wish.threads = int(*threads);
    // Neither is there on the card.
    const bool processorsAlone = wish.floatMath || *kvType == engine::KvType::F32;
    if (processorsAlone && wish.kind == BackendKind::Card) {
        return engine::Error{engine::ErrorCode::Unsupported,
                             "--math float and --kv f32 need --backend cpu"};
    }
    if (processorsAlone) wish.kind = BackendKind::Processor;
    return wish;
}

Result<std::unique_ptr<engine::Backend>> openBackend(const Options& options) {
    auto wish = backendWishOption(options);
    if (!wish) return wish.error();
    auto chosen = chooseBackend(*wish);
    if (!chosen) return chosen.error();
    sayWhyNotCard(chosen->whyNotCard);
    return std::move(chosen->backend);
}

void sayWhyNotCard(const std::string& whyNotCard) {
    if (whyNotCard.empty()) return;
    std::fprintf(stderr, "The graphics card is not used: %s.\n", whyNotCard.c_str());
}

Result<engine::KvType> kvTypeOption(const Options& options) {
    static constexpr std::string_view kWords[] = {"f32", "f16", "q8_0"};
    static constexpr engine::KvType kTypes[] = {engine::KvType::F32, engine::KvType::F16,
                                                engine::KvType::Q8_0};
    auto index = options.choice("--kv", 1, kWords);
    if (!index) return index.error();
    return kTypes[*index];
}

Result<engine::DraftLength> draftLengthOption(const Options& options) {
    const auto given = options.text("--draft-len");
    if (!given || *given == "auto") return engine::DraftLength{};
    auto tokens = options.integer("--draft-len", 0, 0, engine::DraftLength::kMax);
    if (!tokens) {
        return engine::Error{engine::ErrorCode::InvalidFile,
                             "--draft-len takes 0 to 15 or auto, not \"" + *given + "\""};
    }
    return engine::DraftLength{int(*tokens)};
}

std::string samplerOption(std::string_view key) {
    if (key == "temperature") return "--temp";
    std::string name = "--" + std::string(key);
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

std::vector<OptionSpec> samplerOptionSpecs() {
    static std::list<std::string> texts; // the specs view them
    const auto keep = [](std::string text) -> std::string_view {
        return texts.emplace_back(std::move(text));
    };
    std::vector<OptionSpec> specs;
    for (const engine::Sampler& sampler : engine::samplerTable()) {
        for (const engine::SamplerParameter& parameter : sampler.parameters) {
            specs.push_back(
                {keep(samplerOption(parameter.key)), parameter.whole ? "N" : "X",
                 keep(std::string(parameter.name) + ": " + shortNumber(parameter.least) + " to " +
                      shortNumber(parameter.most) + " (default " +
                      shortNumber(parameter.standard()) + ")")});
        }
    }
    return specs;
}

} // namespace app

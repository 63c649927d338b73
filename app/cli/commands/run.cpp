// glint-cli run: one answer, streamed, or as JSON.

#include "app/backend_choice.h"
#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/prompt_input.h"
#include "engine/backend/backend.h"
#include "engine/base/path_text.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/session.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

Error badInput(std::string message) {
    return {ErrorCode::InvalidFile, std::move(message)};
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct Wishes {
    engine::ModelFiles files;
    engine::EngineOptions engine;
    engine::GenerateOptions generate;
};

Result<Wishes> readWishes(const Options& options) {
    Wishes wishes;
    auto target = options.path("--model");
    if (!target) return target.error();
    wishes.files.target = *target;
    if (const auto path = options.text("--mmproj"))
        wishes.files.projector = engine::pathFromUtf8(*path);
    if (const auto path = options.text("--draft"))
        wishes.files.drafter = engine::pathFromUtf8(*path);

    auto kvType = kvTypeOption(options);
    if (!kvType) return kvType.error();
    wishes.engine.kvType = *kvType;
    auto context = options.integer("--ctx", 0, 0, 1 << 24);
    if (!context) return context.error();
    wishes.engine.contextTokens = *context;

    engine::GenerateOptions& generate = wishes.generate;
    auto tokens = options.integer("--max-tokens", 0, 1, 1 << 24);
    if (!tokens) return tokens.error();
    generate.maxTokens = *tokens;
    // --top-k and its like come from the samplers' own table, ranges included.
    for (const engine::Sampler& sampler : engine::samplerTable()) {
        for (const engine::SamplerParameter& parameter : sampler.parameters) {
            const std::string name = samplerOption(parameter.key);
            auto value =
                options.number(name, parameter.standard(), parameter.least, parameter.most);
            if (!value) return value.error();
            if (parameter.whole && *value != double(std::int64_t(*value))) {
                return badInput(name + " takes a whole number");
            }
            parameter.set(generate.sampling, *value);
        }
    }
    auto seed = options.integer("--seed", 0, 0, INT64_MAX);
    if (!seed) return seed.error();
    generate.seed = std::uint64_t(*seed);
    auto draftLength = draftLengthOption(options);
    if (!draftLength) return draftLength.error();
    generate.draftLength = *draftLength;
    generate.ignoreEndTokens = options.has("--ignore-eos");
    return wishes;
}

// The answer goes to stdout as it comes; thinking and figures go to stderr, out of a pipe's way.
struct Printer {
    bool json = false;
    std::string text;
    std::string thinking;
    double gain = 0;

    void operator()(const engine::TurnEvent& event) {
        if (const auto* progress = std::get_if<engine::Progress>(&event)) gain = progress->gain;
        const auto* delta = std::get_if<engine::TextDelta>(&event);
        if (!delta) return;
        const bool answer = delta->channel != engine::Channel::Thinking;
        // Where both end up on one screen, they stand apart.
        if (answer && text.empty() && !thinking.empty() && !json) std::fputs("\n\n", stderr);
        (answer ? text : thinking) += delta->text;
        if (json) return;
        std::fwrite(delta->text.data(), 1, delta->text.size(), answer ? stdout : stderr);
        std::fflush(answer ? stdout : stderr);
    }
};

Result<int> run(const Options& options) {
    auto wishes = readWishes(options);
    if (!wishes) return wishes.error();
    const int sources = options.has("--prompt") + options.has("--messages") + options.has("--ids");
    if (sources != 1) return badInput("give one of --prompt, --messages and --ids");
    if (!options.plain().empty()) {
        return badInput("\"" + options.plain().front() +
                        "\" belongs to no option; text is given with --prompt");
    }
    auto wish = backendWishOption(options);
    if (!wish) return wish.error();

    Interrupt interrupt;
    const double start = now();
    auto loadedEngine = loadEngine(*wish, wishes->files, wishes->engine, {}, interrupt.token());
    if (!loadedEngine) return loadedEngine.error();
    sayWhyNotCard(loadedEngine->whyNotCard);
    const std::unique_ptr<engine::Engine> engine = std::move(loadedEngine->engine);
    const double loaded = now();
    auto prompt = readPrompt(options, {&engine->tokenizer(), engine->vision(), engine->modelKey()});
    if (!prompt) return prompt.error();

    Printer printer;
    printer.json = options.json();
    auto turn =
        engine->session().generate(*prompt, wishes->generate, std::ref(printer), interrupt.token());
    if (!turn) return turn.error();

    const engine::AnswerFigures& figures = turn->figures;
    const double tau =
        figures.cycles > 0 ? double(figures.cycles + figures.acceptedTokens) / figures.cycles : 0;
    const double speed =
        figures.writeSeconds > 0 ? figures.writtenTokens / figures.writeSeconds : 0;
    if (!options.json()) {
        std::fprintf(
            stderr,
            "\n[%s; read %d tokens in %.2f s; wrote %d in %.2f s, %.2f a second, %.2f a cycle]\n",
            std::string(finishWord(turn->reason)).c_str(), figures.readTokens, figures.readSeconds,
            figures.writtenTokens, figures.writeSeconds, speed, tau);
        std::printf("\n");
        return 0;
    }
    const nlohmann::json out{
        {"text", printer.text},
        {"thinking", printer.thinking},
        {"ids", turn->ids},
        {"prompt_tokens", figures.promptTokens},
        {"cycles", figures.cycles},
        {"drafted", figures.draftedTokens},
        {"accepted", figures.acceptedTokens},
        {"tau", tau},
        {"gain", printer.gain},
        {"prefill_ms", figures.readSeconds * 1000},
        {"decode_ms", figures.writeSeconds * 1000},
        {"tokens_per_second", speed},
        {"load_ms", (loaded - start) * 1000},
        {"context", engine->contextTokens()},
        {"seed", wishes->generate.seed},
        {"finish", finishWord(turn->reason)},
    };
    std::printf("%s\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return 0;
}

std::vector<OptionSpec> runOptions() {
    std::vector<OptionSpec> specs{
        {"--model", "FILE", "the model"},
        {"--draft", "FILE", "the drafter"},
        {"--mmproj", "FILE", "the vision part"},
        {"--image", "FILE", "a picture before the last message; may be given several times"},
        {"--prompt", "TEXT", "a message"},
        {"--messages", "FILE",
         "a conversation as JSON: [{\"role\": \"user\", \"content\": \"...\"}, ...]"},
        {"--ids", "\"1 2 3\"", "tokens, read as they are"},
        {"--system", "TEXT", "instructions instead of the default ones"},
        {"--strength", "WORD", "of thinking: low, medium, high (default) or xhigh"},
        {"--date", "YYYY-MM-DD", "the date that the model is told (default today)"},
        {"--max-tokens", "N", "tokens to write at most (default: to the end of the context)"},
        {"--seed", "N", "of the dice (default 0); the same seed gives the same text"},
        {"--draft-len", "0..15|auto",
         "tokens drafted ahead (default auto); never changes the text"},
        {"--ctx", "N", "tokens that the conversation may hold (default: what memory allows)"},
        {"--ignore-eos", "", "go on after the model's end tokens"},
    };
    for (const OptionSpec& spec : samplerOptionSpecs()) specs.push_back(spec);
    return withComputeOptions(std::move(specs));
}

} // namespace

const Command kRun = {
    "run",
    "write one answer",
    "--model FILE (--prompt TEXT | --messages FILE | --ids \"1 2 3\") [options]",
    runOptions(),
    run,
};

} // namespace app

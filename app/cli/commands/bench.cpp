// glint-cli bench: how fast this machine reads and writes with a model, against what its memory
// allows. Every figure is the median of repeated runs; the number of runs is printed with them.

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/memory_speed.h"
#include "engine/backend/backend.h"
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/base/path_text.h"
#include "engine/gguf/gguf_file.h"
#include "engine/runtime/draft_cycle.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/session.h"
#include "engine/token/tokenizer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// A step reads every weight of the model but the embedding table, of which it reads one row.
Result<std::int64_t> bytesPerStep(const std::filesystem::path& target) {
    auto file = engine::GgufFile::openHeader(target);
    if (!file) return file.error();
    std::int64_t bytes = 0;
    for (const engine::GgufTensor& tensor : file->tensors()) {
        const bool table = tensor.name == "token_embd.weight";
        bytes +=
            table ? tensor.sizeBytes / std::max<std::int64_t>(1, tensor.rows()) : tensor.sizeBytes;
    }
    return bytes;
}

struct Plan {
    engine::ModelFiles files;
    engine::EngineOptions engine;
    int promptTokens = 512;
    int writeTokens = 64;
    int repeats = 5;
};

Result<Plan> readPlan(const Options& options) {
    Plan plan;
    auto target = options.path("--model");
    if (!target) return target.error();
    plan.files.target = *target;
    if (const auto path = options.text("--draft")) plan.files.drafter = engine::pathFromUtf8(*path);
    if (const auto path = options.text("--mmproj"))
        plan.files.projector = engine::pathFromUtf8(*path);
    auto kvType = kvTypeOption(options);
    if (!kvType) return kvType.error();
    plan.engine.kvType = *kvType;
    auto prompt = options.integer("--prompt-tokens", plan.promptTokens, 1, 1 << 20);
    if (!prompt) return prompt.error();
    auto tokens = options.integer("--max-tokens", plan.writeTokens, 1, 1 << 20);
    if (!tokens) return tokens.error();
    auto repeats = options.integer("--repeat", plan.repeats, 1, 1000);
    if (!repeats) return repeats.error();
    plan.promptTokens = int(*prompt);
    plan.writeTokens = int(*tokens);
    plan.repeats = int(*repeats);
    auto context =
        options.integer("--ctx", plan.promptTokens + plan.writeTokens + 64, 256, 1 << 24);
    if (!context) return context.error();
    if (*context < plan.promptTokens + plan.writeTokens + engine::DraftCycle::kMaxRows) {
        return Error{ErrorCode::InvalidFile,
                     "--ctx is too small for --prompt-tokens and --max-tokens"};
    }
    plan.engine.contextTokens = *context;
    return plan;
}

// Ordinary tokens, always the same ones.
engine::Prompt randomPrompt(const engine::Tokenizer& tokenizer, int count) {
    std::mt19937 random(1);
    engine::Prompt prompt;
    while (int(prompt.ids.size()) < count) {
        const auto id = engine::TokenId(random() % std::uint32_t(tokenizer.size()));
        if (!tokenizer.isSpecial(id)) prompt.ids.push_back(id);
    }
    return prompt;
}

struct Writing {
    double tokensPerSecond = 0;
    double tau = 0;
    double gain = 0;
};

class Bench {
public:
    Bench(engine::Engine& engine, const Plan& plan, std::stop_token stop)
        : m_engine(engine), m_plan(plan), m_stop(std::move(stop)),
          m_prompt(randomPrompt(engine.tokenizer(), plan.promptTokens)) {}

    Result<double> prefill() { // tokens a second
        std::vector<double> runs;
        for (int i = 0; i < m_plan.repeats; ++i) {
            m_engine.session().clear();
            auto turn = generate(1, {0}, {});
            if (!turn) return turn.error();
            runs.push_back(turn->figures.readTokens / turn->figures.readSeconds);
        }
        return median(runs);
    }

    // At the prompt's end.
    Result<double> pass(int rows) {
        std::vector<double> runs;
        for (int i = -1; i < m_plan.repeats; ++i) {
            auto seconds = m_engine.cycle().timePass(rows, m_prompt.ids.front(), m_stop);
            if (!seconds) return seconds.error();
            if (i >= 0) runs.push_back(*seconds); // the first one warms up
        }
        return median(runs);
    }

    Result<double> draftPass() {
        std::vector<double> runs;
        for (int i = -1; i < m_plan.repeats; ++i) {
            auto seconds = m_engine.cycle().timeDraft(m_prompt.ids.front(), m_stop);
            if (!seconds) return seconds.error();
            if (i >= 0) runs.push_back(*seconds);
        }
        return median(runs);
    }

    Result<Writing> write(engine::DraftLength length) {
        std::vector<double> speeds, taus;
        Writing writing;
        for (int i = 0; i < m_plan.repeats; ++i) {
            const auto sink = [&](const engine::TurnEvent& event) {
                if (const auto* progress = std::get_if<engine::Progress>(&event))
                    writing.gain = progress->gain;
            };
            auto turn = generate(m_plan.writeTokens, length, sink);
            if (!turn) return turn.error();
            const engine::AnswerFigures& figures = turn->figures;
            // The first token is the prompt's last row; its time belongs to reading.
            speeds.push_back((figures.writtenTokens - 1) / std::max(figures.writeSeconds, 1e-9));
            if (figures.cycles > 0)
                taus.push_back(1.0 + double(figures.acceptedTokens) / figures.cycles);
        }
        writing.tokensPerSecond = median(speeds);
        writing.tau = median(taus);
        return writing;
    }

private:
    Result<engine::TurnFinished> generate(int tokens, engine::DraftLength length,
                                          const engine::Session::Sink& sink) {
        engine::GenerateOptions options;
        options.sampling.temperature = 0;
        options.maxTokens = tokens;
        options.draftLength = length;
        options.ignoreEndTokens = true;
        const auto quiet = [](const engine::TurnEvent&) {};
        auto turn = m_engine.session().generate(m_prompt, options, sink ? sink : quiet, m_stop);
        if (turn && turn->reason == engine::FinishReason::Cancelled) {
            return Error{ErrorCode::Cancelled, "the benchmark was stopped"};
        }
        return turn;
    }

    engine::Engine& m_engine;
    const Plan& m_plan;
    std::stop_token m_stop;
    engine::Prompt m_prompt;
};

constexpr int kPassRows[] = {1, 2, 4, 8, 16};

struct Figures {
    std::string backend;
    double ceiling = 0; // bytes a second
    double load = 0;    // seconds
    double prefill = 0;
    double pass[std::size(kPassRows)] = {};
    double draft = 0;
    Writing single, fixed, automatic;
    std::int64_t stepBytes = 0;
    std::int64_t peak = 0;
    std::int64_t files = 0; // bytes of all model files
    std::int64_t keys = 0;  // of the target's keys and values
    bool peakIsOwn = false; // the bandwidth test is not in it
    double stepRate() const { return pass[0] > 0 ? double(stepBytes) / pass[0] : 0; }
};

nlohmann::json toJson(const Figures& f, const Plan& plan, bool drafting) {
    nlohmann::json passes;
    for (std::size_t i = 0; i < std::size(kPassRows); ++i) {
        passes[std::to_string(kPassRows[i])] = {{"ms", f.pass[i] * 1e3},
                                                {"of_s1", f.pass[i] / f.pass[0]}};
    }
    nlohmann::json out{
        {"backend", f.backend},
        {"repeats", plan.repeats},
        {"prompt_tokens", plan.promptTokens},
        {"memory_read_gb_s", f.ceiling / 1e9},
        {"load_s", f.load},
        {"prefill_tok_s", f.prefill},
        {"s1_ms", f.pass[0] * 1e3},
        {"v", passes},
        {"bytes_per_step", f.stepBytes},
        {"step_gb_s", f.stepRate() / 1e9},
        {"step_of_memory", f.ceiling > 0 ? f.stepRate() / f.ceiling : 0},
        {"tok_s", f.single.tokensPerSecond},
        {"peak_bytes", f.peak},
        {"file_bytes", f.files},
        {"kv_bytes", f.keys},
        {"peak_beyond_files_and_kv_bytes", f.peak - f.files - f.keys},
        {"peak_without_bandwidth_test", f.peakIsOwn},
    };
    if (drafting) {
        out["draft_pass_ms"] = f.draft * 1e3;
        out["tok_s_draft_15"] = f.fixed.tokensPerSecond;
        out["tau_draft_15"] = f.fixed.tau;
        out["tok_s_draft_auto"] = f.automatic.tokensPerSecond;
        out["tau_draft_auto"] = f.automatic.tau;
        out["gain_draft_auto"] = f.automatic.gain;
    }
    return out;
}

void printTable(const Figures& f, const Plan& plan, bool drafting) {
    std::printf("%s; medians of %d runs, at %d tokens\n\n", f.backend.c_str(), plan.repeats,
                plan.promptTokens);
    const auto line = [](const char* name, const char* format, auto... values) {
        std::printf("  %-34s ", name);
        std::printf(format, values...);
        std::printf("\n");
    };
    line("memory read bandwidth", "%8.2f GB/s", f.ceiling / 1e9);
    line("load", "%8.2f s", f.load);
    line("prefill", "%8.2f tokens/s", f.prefill);
    for (std::size_t i = 0; i < std::size(kPassRows); ++i) {
        const std::string name =
            i == 0 ? "S1, one token" : "V(" + std::to_string(kPassRows[i]) + ")";
        line(name.c_str(), "%8.2f ms  %5.2f S1", f.pass[i] * 1e3, f.pass[i] / f.pass[0]);
    }
    if (drafting) line("drafter pass", "%8.2f ms  %5.2f S1", f.draft * 1e3, f.draft / f.pass[0]);
    line("bytes per step", "%8.2f GB", double(f.stepBytes) / 1e9);
    line("read while writing", "%8.2f GB/s %5.1f %% of the memory's", f.stepRate() / 1e9,
         f.ceiling > 0 ? 100 * f.stepRate() / f.ceiling : 0.0);
    line("writing, no drafts", "%8.2f tokens/s", f.single.tokensPerSecond);
    if (drafting) {
        line("writing, 15 drafts", "%8.2f tokens/s, %.2f a cycle", f.fixed.tokensPerSecond,
             f.fixed.tau);
        line("writing, automatic drafts", "%8.2f tokens/s, %.2f a cycle",
             f.automatic.tokensPerSecond, f.automatic.tau);
    }
    line("peak memory", "%8.1f MiB%s", double(f.peak) / (1 << 20),
         f.peakIsOwn ? "" : " (or of the bandwidth test)");
    line("beyond files and keys and values", "%8.1f MiB",
         double(f.peak - f.files - f.keys) / (1 << 20));
}

Result<int> run(const Options& options) {
    auto plan = readPlan(options);
    if (!plan) return plan.error();
    auto backend = openBackend(options);
    if (!backend) return backend.error();
    auto bytes = bytesPerStep(plan->files.target);
    if (!bytes) return bytes.error();

    Interrupt interrupt;
    Figures f;
    f.stepBytes = *bytes;
    f.backend = (*backend)->name();
    const auto* cpu = dynamic_cast<const engine::CpuBackend*>(backend->get());
    f.ceiling = memoryReadBandwidth(**backend, cpu ? cpu->options().threads : 1);
    f.peakIsOwn = resetPeakMemory();

    const double start = now();
    auto engine =
        engine::Engine::load(std::move(*backend), plan->files, plan->engine, {}, interrupt.token());
    if (!engine) return engine.error();
    f.load = now() - start;
    const bool drafting = (*engine)->draft() != nullptr;

    Bench bench(**engine, *plan, interrupt.token());
    const auto store = [](double& to, Result<double> from) -> Result<void> {
        if (!from) return from.error();
        to = *from;
        return {};
    };
    const auto storeWriting = [](Writing& to, Result<Writing> from) -> Result<void> {
        if (!from) return from.error();
        to = *from;
        return {};
    };
    if (auto done = store(f.prefill, bench.prefill()); !done) return done.error();
    for (std::size_t i = 0; i < std::size(kPassRows); ++i) {
        if (auto done = store(f.pass[i], bench.pass(kPassRows[i])); !done) return done.error();
    }
    if (auto done = storeWriting(f.single, bench.write({0})); !done) return done.error();
    if (drafting) {
        if (auto done = store(f.draft, bench.draftPass()); !done) return done.error();
        if (auto done = storeWriting(f.fixed, bench.write({15})); !done) return done.error();
        if (auto done = storeWriting(f.automatic, bench.write({})); !done) return done.error();
    }
    f.peak = peakMemoryBytes();
    f.keys = (*engine)->memory().conversation;
    for (const auto& path : {plan->files.target, plan->files.drafter, plan->files.projector}) {
        std::error_code error;
        const auto size = path.empty() ? 0 : std::filesystem::file_size(path, error);
        if (!error) f.files += std::int64_t(size);
    }
    if (options.json()) {
        std::printf("%s\n", toJson(f, *plan, drafting).dump().c_str());
    } else {
        printTable(f, *plan, drafting);
    }
    return 0;
}

} // namespace

const Command kBench = {
    "bench",
    "measure loading, reading and writing against the memory's bandwidth",
    "--model FILE [--draft FILE] [options]",
    withComputeOptions({
        {"--model", "FILE", "the model"},
        {"--draft", "FILE", "the drafter"},
        {"--mmproj", "FILE", "the vision part, for its share of memory and loading"},
        {"--prompt-tokens", "N", "tokens to read (default 512)"},
        {"--max-tokens", "N", "tokens to write (default 64)"},
        {"--repeat", "N", "runs of which the median is given (default 5)"},
        {"--ctx", "N", "tokens that the conversation may hold"},
    }),
    run,
};

} // namespace app

// glint-cli bench: how fast this machine reads and writes with a model, against what its memory
// allows. Every figure is the median of repeated runs; the number of runs is printed with them.

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/memory_speed.h"
#include "engine/backend/backend.h"
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

// Of repeated runs.
struct Sample {
    double median = 0;
    double least = 0;
    double most = 0;
    bool measured() const { return most > 0; }
};

Sample sampleOf(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return {values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2,
            values.front(), values.back()};
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
    std::vector<int> contexts{512}; // tokens read before anything is measured, ascending
    int writeTokens = 64;
    int repeats = 5;
    engine::PixelSize picture{1920, 1080};
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
    if (const auto text = options.text("--prompt-tokens")) {
        auto contexts = parseIds(*text);
        if (contexts) plan.contexts.assign(contexts->begin(), contexts->end());
        std::sort(plan.contexts.begin(), plan.contexts.end());
        if (!contexts || plan.contexts.empty() || plan.contexts.front() < 1 ||
            plan.contexts.back() > 1 << 20) {
            return Error{ErrorCode::InvalidFile,
                         "--prompt-tokens takes numbers from 1 to 1048576, not \"" + *text + "\""};
        }
    }
    auto tokens = options.integer("--max-tokens", plan.writeTokens, 1, 1 << 20);
    if (!tokens) return tokens.error();
    auto repeats = options.integer("--repeat", plan.repeats, 1, 1000);
    if (!repeats) return repeats.error();
    plan.writeTokens = int(*tokens);
    if (const auto text = options.text("--picture")) {
        char rest = 0;
        engine::PixelSize& size = plan.picture;
        if (std::sscanf(text->c_str(), "%dx%d%c", &size.width, &size.height, &rest) != 2 ||
            size.width < 1 || size.height < 1 || size.width > 16384 || size.height > 16384) {
            return Error{ErrorCode::InvalidFile,
                         "--picture takes a size like 1920x1080, not \"" + *text + "\""};
        }
    }
    plan.repeats = int(*repeats);
    const int longest = plan.contexts.back();
    auto context = options.integer("--ctx", longest + plan.writeTokens + 64, 256, 1 << 24);
    if (!context) return context.error();
    if (*context < longest + plan.writeTokens + engine::DraftCycle::kMaxRows) {
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
    Sample tokensPerSecond;
    Sample cycle; // seconds: drafts, the target's pass, the choice and everything between
    double tau = 0;
    double gain = 0;
};

constexpr int kPassRows[] = {1, 2, 4, 8, 9, 16};

struct ContextFigures {
    int tokens = 0;
    Sample prefill; // tokens a second
    Sample pass[std::size(kPassRows)];
    Sample draft;
    Writing single, fixed, automatic;
    double ofS1(const Sample& time) const {
        return pass[0].median > 0 ? time.median / pass[0].median : 0;
    }
};

class Bench {
public:
    Bench(engine::Engine& engine, const Plan& plan, std::stop_token stop)
        : m_engine(engine), m_plan(plan), m_stop(std::move(stop)),
          m_prompt(randomPrompt(engine.tokenizer(), plan.contexts.back())) {}

    Result<ContextFigures> measure(int tokens) {
        ContextFigures f;
        f.tokens = tokens;
        m_context = m_prompt;
        m_context.ids.resize(std::size_t(tokens));
        const auto store = [](auto& to, auto from) -> Result<void> {
            if (!from) return from.error();
            to = *from;
            return {};
        };
        if (auto done = store(f.prefill, prefill()); !done) return done.error();
        for (std::size_t i = 0; i < std::size(kPassRows); ++i) {
            if (auto done = store(f.pass[i], pass(kPassRows[i])); !done) return done.error();
        }
        if (auto done = store(f.single, write({0})); !done) return done.error();
        if (m_engine.draft()) {
            if (auto done = store(f.draft, draftPass()); !done) return done.error();
            if (auto done = store(f.fixed, write({15})); !done) return done.error();
            if (auto done = store(f.automatic, write({})); !done) return done.error();
        }
        return f;
    }

    Result<Sample> picture() {
        return repeated([&] { return m_engine.timePicture(m_plan.picture, m_stop); });
    }

private:
    // The first run warms up and does not count.
    template<class Run> Result<Sample> repeated(Run&& run) {
        std::vector<double> runs;
        for (int i = -1; i < m_plan.repeats; ++i) {
            auto value = run();
            if (!value) return value.error();
            if (i >= 0) runs.push_back(*value);
        }
        return sampleOf(std::move(runs));
    }

    Result<Sample> prefill() { // tokens a second
        std::vector<double> runs;
        // Reading a long text again and again says little more than reading it once.
        const int repeats = m_context.ids.size() > 4096 ? 1 : m_plan.repeats;
        for (int i = 0; i < repeats; ++i) {
            m_engine.session().clear();
            auto turn = generate(1, {0}, {});
            if (!turn) return turn.error();
            runs.push_back(turn->figures.readTokens / turn->figures.readSeconds);
        }
        return sampleOf(std::move(runs));
    }

    // At the prompt's end.
    Result<Sample> pass(int rows) {
        return repeated(
            [&] { return m_engine.cycle().timePass(rows, m_prompt.ids.front(), m_stop); });
    }

    Result<Sample> draftPass() {
        return repeated([&] { return m_engine.cycle().timeDraft(m_prompt.ids.front(), m_stop); });
    }

    Result<Writing> write(engine::DraftLength length) {
        std::vector<double> speeds, cycles, taus;
        Writing writing;
        for (int i = -1; i < m_plan.repeats; ++i) {
            const auto sink = [&](const engine::TurnEvent& event) {
                if (const auto* progress = std::get_if<engine::Progress>(&event))
                    writing.gain = progress->gain;
            };
            auto turn = generate(m_plan.writeTokens, length, sink);
            if (!turn) return turn.error();
            const engine::AnswerFigures& figures = turn->figures;
            if (i < 0) continue;
            // The first token is the prompt's last row; its time belongs to reading.
            speeds.push_back((figures.writtenTokens - 1) / std::max(figures.writeSeconds, 1e-9));
            if (figures.cycles > 0) {
                taus.push_back(1.0 + double(figures.acceptedTokens) / figures.cycles);
                cycles.push_back(figures.writeSeconds / figures.cycles);
            }
        }
        writing.tokensPerSecond = sampleOf(std::move(speeds));
        writing.cycle = sampleOf(std::move(cycles));
        writing.tau = sampleOf(std::move(taus)).median;
        return writing;
    }

    Result<engine::TurnFinished> generate(int tokens, engine::DraftLength length,
                                          const engine::Session::Sink& sink) {
        engine::GenerateOptions options;
        options.sampling.temperature = 0;
        options.maxTokens = tokens;
        options.draftLength = length;
        options.ignoreEndTokens = true;
        const auto quiet = [](const engine::TurnEvent&) {};
        auto turn = m_engine.session().generate(m_context, options, sink ? sink : quiet, m_stop);
        if (turn && turn->reason == engine::FinishReason::Cancelled) {
            return Error{ErrorCode::Cancelled, "the benchmark was stopped"};
        }
        return turn;
    }

    engine::Engine& m_engine;
    const Plan& m_plan;
    std::stop_token m_stop;
    engine::Prompt m_prompt;  // the longest
    engine::Prompt m_context; // its beginning
};

struct Figures {
    std::string backend;
    MemorySpeed ceiling;
    double load = 0; // seconds
    std::vector<ContextFigures> contexts;
    Sample picture; // seconds
    std::int64_t pictureTokens = 0;
    std::int64_t stepBytes = 0;
    std::int64_t peak = 0;
    std::int64_t files = 0; // bytes of all model files
    engine::MemoryByPart memory;
    // Of a card: all that is taken on it, before anything was loaded and at the end.
    std::int64_t deviceBefore = 0, deviceUsed = 0;
    bool peakIsOwn = false; // the bandwidth test is not in it
    double stepRate(const ContextFigures& f) const {
        return f.pass[0].median > 0 ? double(stepBytes) / f.pass[0].median : 0;
    }
};

nlohmann::json toJson(const Sample& sample, double factor) {
    return {{"median", sample.median * factor},
            {"min", sample.least * factor},
            {"max", sample.most * factor}};
}

nlohmann::json toJson(const ContextFigures& f, const Figures& all, bool drafting) {
    nlohmann::json passes;
    for (std::size_t i = 0; i < std::size(kPassRows); ++i) {
        passes[std::to_string(kPassRows[i])] = {{"ms", toJson(f.pass[i], 1e3)},
                                                {"of_s1", f.ofS1(f.pass[i])}};
    }
    nlohmann::json out{
        {"tokens", f.tokens},
        {"prefill_tok_s", toJson(f.prefill, 1)},
        {"s1_ms", toJson(f.pass[0], 1e3)},
        {"v", passes},
        {"step_gb_s", all.stepRate(f) / 1e9},
        {"step_of_memory",
         all.ceiling.bytesPerSecond > 0 ? all.stepRate(f) / all.ceiling.bytesPerSecond : 0},
        {"tok_s", toJson(f.single.tokensPerSecond, 1)},
    };
    if (drafting) {
        out["draft_pass_ms"] = toJson(f.draft, 1e3);
        out["cycle_ms"] = toJson(f.fixed.cycle, 1e3);
        out["cycle_of_s1"] = f.ofS1(f.fixed.cycle);
        out["tok_s_draft_15"] = toJson(f.fixed.tokensPerSecond, 1);
        out["tau_draft_15"] = f.fixed.tau;
        out["tok_s_draft_auto"] = toJson(f.automatic.tokensPerSecond, 1);
        out["tau_draft_auto"] = f.automatic.tau;
        out["gain_draft_auto"] = f.automatic.gain;
    }
    return out;
}

nlohmann::json toJson(const Figures& f, const Plan& plan, bool drafting) {
    nlohmann::json out{
        {"backend", f.backend},
        {"repeats", plan.repeats},
        {"memory_read_gb_s", f.ceiling.bytesPerSecond / 1e9},
        {"load_s", f.load},
        {"bytes_per_step", f.stepBytes},
        {"file_bytes", f.files},
        {"memory_bytes",
         {{"model", f.memory.model},
          {"vision", f.memory.vision},
          {"draft", f.memory.draft},
          {"kv", f.memory.conversation},
          {"working", f.memory.working}}},
        {"contexts", nlohmann::json::array()},
    };
    for (const ContextFigures& context : f.contexts)
        out["contexts"].push_back(toJson(context, f, drafting));
    if (f.ceiling.launchGapSeconds > 0) out["launch_gap_us"] = f.ceiling.launchGapSeconds * 1e6;
    if (f.picture.measured()) {
        out["picture_s"] = toJson(f.picture, 1);
        out["picture_tokens"] = f.pictureTokens;
    }
    if (f.deviceUsed > 0) {
        out["device_used_before_bytes"] = f.deviceBefore;
        out["device_used_bytes"] = f.deviceUsed;
    } else {
        out["peak_bytes"] = f.peak;
        out["peak_beyond_files_and_kv_bytes"] = f.peak - f.files - f.memory.conversation;
        out["peak_without_bandwidth_test"] = f.peakIsOwn;
    }
    return out;
}

template<class... Values> void line(const char* name, const char* format, Values... values) {
    std::printf("  %-34s ", name);
    std::printf(format, values...);
    std::printf("\n");
}

double mebibytes(std::int64_t bytes) {
    return double(bytes) / (1 << 20);
}

// "3.21 ms (3.20 to 3.35)"
std::string milliseconds(const Sample& time) {
    char text[96];
    std::snprintf(text, sizeof text, "%9.3f ms (%.3f to %.3f)", time.median * 1e3, time.least * 1e3,
                  time.most * 1e3);
    return text;
}

void printContext(const ContextFigures& f, const Figures& all, bool drafting) {
    std::printf("\nat %d tokens\n", f.tokens);
    line("prefill", "%9.1f tokens/s", f.prefill.median);
    for (std::size_t i = 0; i < std::size(kPassRows); ++i) {
        const std::string name =
            i == 0 ? "S1, one token" : "V(" + std::to_string(kPassRows[i]) + ")";
        line(name.c_str(), "%s  %5.2f S1", milliseconds(f.pass[i]).c_str(), f.ofS1(f.pass[i]));
    }
    if (drafting) {
        line("drafter pass", "%s  %5.2f S1", milliseconds(f.draft).c_str(), f.ofS1(f.draft));
        line("cycle, 15 drafts", "%s  %5.2f S1", milliseconds(f.fixed.cycle).c_str(),
             f.ofS1(f.fixed.cycle));
    }
    line("read while writing", "%9.2f GB/s %5.1f %% of the memory's", all.stepRate(f) / 1e9,
         all.ceiling.bytesPerSecond > 0 ? 100 * all.stepRate(f) / all.ceiling.bytesPerSecond : 0.0);
    line("writing, no drafts", "%9.2f tokens/s", f.single.tokensPerSecond.median);
    if (drafting) {
        line("writing, 15 drafts", "%9.2f tokens/s, %.2f a cycle", f.fixed.tokensPerSecond.median,
             f.fixed.tau);
        line("writing, automatic drafts", "%9.2f tokens/s, %.2f a cycle",
             f.automatic.tokensPerSecond.median, f.automatic.tau);
    }
}

void printTable(const Figures& f, const Plan& plan, bool drafting) {
    std::printf("%s; medians of %d runs\n\n", f.backend.c_str(), plan.repeats);
    line("memory read bandwidth", "%9.2f GB/s", f.ceiling.bytesPerSecond / 1e9);
    if (f.ceiling.launchGapSeconds > 0)
        line("between two empty kernels", "%9.2f us", f.ceiling.launchGapSeconds * 1e6);
    line("load", "%9.2f s", f.load);
    line("bytes per step", "%9.2f GB", double(f.stepBytes) / 1e9);
    if (f.picture.measured()) {
        const std::string name = "picture of " + std::to_string(f.pictureTokens) + " tokens";
        line(name.c_str(), "%s", milliseconds(f.picture).c_str());
    }
    for (const ContextFigures& context : f.contexts) printContext(context, f, drafting);
    std::printf("\nmemory\n");
    line("model", "%9.1f MiB", mebibytes(f.memory.model));
    if (f.memory.vision > 0) line("vision part", "%9.1f MiB", mebibytes(f.memory.vision));
    if (f.memory.draft > 0) line("drafter", "%9.1f MiB", mebibytes(f.memory.draft));
    line("keys and values", "%9.1f MiB", mebibytes(f.memory.conversation));
    line("working memory", "%9.1f MiB", mebibytes(f.memory.working));
    if (f.deviceUsed > 0) {
        line("taken on the card before loading", "%9.1f MiB", mebibytes(f.deviceBefore));
        line("taken at the end, all programs", "%9.1f MiB", mebibytes(f.deviceUsed));
    } else {
        line("peak of the program", "%9.1f MiB%s", mebibytes(f.peak),
             f.peakIsOwn ? "" : " (or of the bandwidth test)");
        line("beyond files and keys and values", "%9.1f MiB",
             mebibytes(f.peak - f.files - f.memory.conversation));
    }
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
    f.ceiling = memorySpeed(**backend);
    const auto takenOnCard = [](const engine::Backend& card) { return card.memory().takenBytes; };
    f.deviceBefore = takenOnCard(**backend);
    f.peakIsOwn = resetPeakMemory();

    const double start = now();
    auto engine =
        engine::Engine::load(std::move(*backend), plan->files, plan->engine, {}, interrupt.token());
    if (!engine) return engine.error();
    f.load = now() - start;
    const bool drafting = (*engine)->draft() != nullptr;

    Bench bench(**engine, *plan, interrupt.token());
    if ((*engine)->vision()) {
        auto picture = bench.picture();
        if (!picture) return picture.error();
        f.picture = *picture;
        f.pictureTokens = engine::imageTokens(plan->picture, *(*engine)->vision());
    }
    for (const int tokens : plan->contexts) {
        auto figures = bench.measure(tokens);
        if (!figures) return figures.error();
        f.contexts.push_back(*figures);
    }
    f.peak = peakMemoryBytes();
    f.memory = (*engine)->memory();
    f.deviceUsed = takenOnCard((*engine)->backend());
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
        {"--prompt-tokens", "N,N,...", "tokens to read before measuring (default 512)"},
        {"--picture", "WxH", "size of the picture to encode (default 1920x1080)"},
        {"--max-tokens", "N", "tokens to write (default 64)"},
        {"--repeat", "N", "runs of which the median is given (default 5)"},
        {"--ctx", "N", "tokens that the conversation may hold"},
    }),
    run,
};

} // namespace app

// The demo trio answers what its evaluation asks, within a margin of the table of
// resources/demo/train/README.md: a near-tie may turn on another processor. Its values equal the
// reference classes'.

#include "app/cli/fixture/checks.h"
#include "app/cli/message_file.h"
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/session.h"
#include "engine/token/tokenizer.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>

namespace {

using nlohmann::json;

std::string lowerCase(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

std::string trimmed(const std::string& text) {
    constexpr const char* kBlanks = " \t\r\n";
    const auto first = text.find_first_not_of(kBlanks);
    if (first == std::string::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool isRight(const std::string& answer, const json& expect) {
    if (expect.contains("exact")) return trimmed(answer) == expect["exact"].get<std::string>();
    const std::string lower = lowerCase(answer);
    return std::all_of(expect["contains"].begin(), expect["contains"].end(), [&](const json& part) {
        return lower.find(lowerCase(part.get<std::string>())) != std::string::npos;
    });
}

struct Answer {
    std::string text;
    engine::TurnFinished end;
};

class DemoTrio : public testing::Test {
protected:
    void SetUp() override {
        const std::filesystem::path folder = GLINT_DEMO;
        auto backend = engine::CpuBackend::make({});
        ASSERT_TRUE(backend.ok()) << backend.error().message;
        engine::EngineOptions options;
        options.contextTokens = 4096;
        auto engine = engine::Engine::load(
            std::move(*backend),
            {folder / "demo-target.gguf", folder / "demo-mmproj.gguf", folder / "demo-dflash.gguf"},
            options, {}, {});
        ASSERT_TRUE(engine.ok()) << engine.error().message;
        m_engine = std::move(*engine);
        std::ifstream file(folder / "eval.json");
        m_items = json::parse(file)["items"];
        ASSERT_GT(m_items.size(), 500u);
    }

    Answer ask(const json& item, float temperature, int draftLength) {
        engine::PromptRequest request;
        auto messages = app::parseMessages(item["messages"].dump(), GLINT_DEMO,
                                           engine::AlphaRule::LayOverWhite);
        EXPECT_TRUE(messages.ok()) << messages.error().message;
        request.messages = std::move(*messages);
        request.strength = *engine::strengthFromWord(item["strength"].get<std::string>());
        auto prompt = engine::buildPrompt(request, m_engine->tokenizer(), m_engine->vision());
        EXPECT_TRUE(prompt.ok()) << prompt.error().message;
        engine::GenerateOptions options;
        options.sampling.temperature = temperature;
        options.seed = item["id"].get<std::uint64_t>();
        options.maxTokens = 600;
        options.draftLength.tokens = draftLength;
        Answer answer;
        auto end =
            m_engine->session().generate(*prompt, options,
                                         [&](const engine::TurnEvent& event) {
                                             const auto* delta =
                                                 std::get_if<engine::TextDelta>(&event);
                                             if (delta && delta->channel == engine::Channel::Answer)
                                                 answer.text += delta->text;
                                         },
                                         {});
        EXPECT_TRUE(end.ok()) << end.error().message;
        if (end) answer.end = *end;
        return answer;
    }

    std::unique_ptr<engine::Engine> m_engine;
    json m_items;
};

struct Share {
    int right = 0;
    int all = 0;
};

double tokensPerCycle(int accepted, int cycles) {
    return cycles > 0 ? 1.0 + double(accepted) / cycles : 0;
}

TEST_F(DemoTrio, AnswersItsEvaluation) {
    std::map<std::string, Share> groups;
    std::map<std::string, std::vector<int>> thinking; // tokens written, by strength
    int accepted = 0, cycles = 0;
    for (const json& item : m_items) {
        const Answer answer = ask(item, 0, engine::DraftLength::kMax);
        Share& share = groups[item["group"].get<std::string>()];
        ++share.all;
        share.right += isRight(answer.text, item["expect"]);
        thinking[item["strength"].get<std::string>()].push_back(answer.end.figures.writtenTokens);
        if (item["strength"] != "high") continue;
        accepted += answer.end.figures.acceptedTokens;
        cycles += answer.end.figures.cycles;
    }
    const std::map<std::string, double> atLeast{
        {"help", 0.91},   {"arithmetic", 0.96}, {"lists", 0.94},
        {"text", 0.91},   {"shapes", 0.95},     {"windows", 0.92},
        {"charts", 0.92}, {"tables", 0.92},     {"follow-ups", 0.94}};
    for (const auto& [group, bound] : atLeast) {
        const Share share = groups[group];
        ASSERT_GE(share.all, 20) << group;
        std::printf("%-12s %d of %d\n", group.c_str(), share.right, share.all);
        EXPECT_GE(share.right, bound * share.all) << group;
    }
    std::printf("tokens a cycle, strength high: %.2f\n", tokensPerCycle(accepted, cycles));
    EXPECT_GE(tokensPerCycle(accepted, cycles), 8.5);
    // Few tokens at low, the most at xhigh: the strength line is obeyed.
    int before = -1;
    for (const char* strength : {"low", "medium", "high", "xhigh"}) {
        std::vector<int>& counts = thinking[strength];
        ASSERT_GE(counts.size(), 20u) << strength;
        std::nth_element(counts.begin(), counts.begin() + std::ptrdiff_t(counts.size() / 2),
                         counts.end());
        const int median = counts[counts.size() / 2];
        std::printf("tokens written, strength %-6s median %d\n", strength, median);
        EXPECT_GT(median, before) << strength;
        before = median;
    }
}

TEST_F(DemoTrio, DraftingChangesNoTextAndGainsAtTemperatureOne) {
    int accepted = 0, cycles = 0, compared = 0;
    for (const json& item : m_items) {
        if (item["id"].get<int>() % 25 != 0) continue;
        for (const float temperature : {0.0f, 1.0f}) {
            const Answer plain = ask(item, temperature, 0);
            const Answer drafted = ask(item, temperature, engine::DraftLength::kMax);
            EXPECT_EQ(plain.end.ids, drafted.end.ids)
                << "item " << item["id"] << ", temperature " << temperature;
            ++compared;
            if (temperature == 0 || item["strength"] != "high") continue;
            accepted += drafted.end.figures.acceptedTokens;
            cycles += drafted.end.figures.cycles;
        }
    }
    EXPECT_GE(compared, 40);
    std::printf("tokens a cycle at temperature 1: %.2f\n", tokensPerCycle(accepted, cycles));
    EXPECT_GE(tokensPerCycle(accepted, cycles), 8.0);
}

// Logits, picture rows, greedy text and accepted drafts of the transformers classes.
TEST(DemoTrioValues, EqualTheReferenceClasses) {
    const std::filesystem::path demo = GLINT_DEMO;
    const test::TempDir folder;
    for (const char* part : {"target", "mmproj", "dflash"}) {
        const std::string file = std::string(part) + ".gguf";
        std::filesystem::create_symlink(demo / ("demo-" + file), folder.path() / file);
    }
    for (const char* name : {"cases.json", "golden.gguf", "images"})
        std::filesystem::create_symlink(demo / "golden" / name, folder.path() / name);
    for (const engine::CpuMath math : {engine::CpuMath::Float, engine::CpuMath::Int8}) {
        const bool exact = math == engine::CpuMath::Float;
        const app::fixture::Arithmetic arithmetic{!exact, exact ? engine::KvType::F32
                                                                : engine::KvType::F16};
        app::fixture::Report report([](const app::fixture::Check& check) {
            EXPECT_TRUE(check.passed) << app::fixture::line(check);
        });
        engine::CpuOptions options;
        options.math = math;
        auto parts = engine::CpuBackend::make(options);
        ASSERT_TRUE(parts.ok()) << parts.error().message;
        app::fixture::compareParts(folder.path(), **parts, arithmetic, report);
        auto session = engine::CpuBackend::make(options);
        ASSERT_TRUE(session.ok()) << session.error().message;
        app::fixture::compareSession(folder.path(), std::move(*session), arithmetic, report);
        EXPECT_GE(report.checks().size(), exact ? 95u : 45u);
    }
}

} // namespace

// The whole model on the card: the text is the same at every draft length, and everything is near
// what the processor and the reference classes compute.

#include "demo.h"

#include "app/cli/fixture/checks.h"
#include "app/cli/message_file.h"
#include "app/cli/model_run.h"
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/model/spec.h"
#include "engine/runtime/draft_cycle.h"
#include "engine/token/tokenizer.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>

namespace cuda::test {
namespace {

using namespace engine;
using nlohmann::json;

std::unique_ptr<Engine> onCard(KvType kvType) {
    auto backend = CudaBackend::make({});
    EXPECT_TRUE(backend.ok()) << (backend.ok() ? "" : backend.error().message);
    if (!backend) return nullptr;
    EngineOptions options;
    options.contextTokens = 4096;
    options.kvType = kvType;
    auto engine = Engine::load(std::move(*backend), demoFiles(), options, {}, {});
    EXPECT_TRUE(engine.ok()) << (engine.ok() ? "" : engine.error().message);
    return engine.ok() ? std::move(*engine) : nullptr;
}

json evaluation() {
    std::ifstream file(demoFolder() / "eval.json");
    return json::parse(file)["items"];
}

// The question of an item of the evaluation, with its pictures.
Prompt promptOf(const json& item, const Engine& engine) {
    PromptRequest request;
    auto messages =
        app::parseMessages(item["messages"].dump(), demoFolder(), AlphaRule::LayOverWhite);
    EXPECT_TRUE(messages.ok());
    if (!messages) return {};
    request.messages = std::move(*messages);
    request.strength = *strengthFromWord(item["strength"].get<std::string>());
    auto prompt = buildPrompt(request, engine.tokenizer(), engine.vision());
    EXPECT_TRUE(prompt.ok());
    return prompt ? std::move(*prompt) : Prompt{};
}

void expectEqualTexts(KvType kvType, int prompts, int tokens) {
    const auto seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto engine = onCard(kvType);
    ASSERT_TRUE(engine);
    const json items = evaluation();
    ASSERT_GT(items.size(), 500u);
    int accepted[2] = {}, pictures = 0;
    for (int i = 0; i < prompts; ++i) {
        const json& item = items[random() % items.size()];
        const Prompt prompt = promptOf(item, *engine);
        pictures += !prompt.images.empty();
        for (const float temperature : {0.0f, 1.0f}) {
            GenerateOptions options;
            options.sampling.temperature = temperature;
            // Now and then settings for which whole rows of logits come to the host.
            if (i % 7 == 3) options.sampling.repetition = 1.2f;
            options.seed = random();
            options.maxTokens = tokens;
            std::vector<std::int32_t> plain;
            for (const int length : {0, 1, 4, 8, 15, DraftLength::kAutomatic}) {
                options.draftLength.tokens = length;
                const auto end =
                    engine->session().generate(prompt, options, [](const TurnEvent&) {}, {});
                ASSERT_TRUE(end.ok()) << end.error().message;
                if (length == 0) plain = end->ids;
                ASSERT_EQ(end->ids, plain)
                    << "item " << item["id"] << ", temperature " << temperature << ", draft length "
                    << length << ", seed " << options.seed;
                accepted[temperature > 0] += end->figures.acceptedTokens;
            }
        }
    }
    std::printf("%d and %d drafts accepted, %d prompts with pictures\n", accepted[0], accepted[1],
                pictures);
    // Hardly any accepted draft would prove little.
    EXPECT_GT(accepted[0], prompts * 20);
    EXPECT_GT(accepted[1], prompts * 20);
    EXPECT_GT(pictures, prompts / 20);
}

TEST(CardModel, TheTextIsTheSameAtEveryDraftLength) {
    expectEqualTexts(KvType::F16, 200, 128);
}

TEST(CardModel, TheTextIsTheSameAtEveryDraftLengthWithEightBitKeys) {
    expectEqualTexts(KvType::Q8_0, 40, 128);
}

std::vector<double> probabilities(const std::vector<float>& logits) {
    const double top = *std::max_element(logits.begin(), logits.end());
    std::vector<double> p(logits.size());
    double total = 0;
    for (std::size_t i = 0; i < p.size(); ++i) total += p[i] = std::exp(logits[i] - top);
    for (double& value : p) value /= total;
    return p;
}

// Products have the processor's bits. Attention rounds queries and weights to half precision (2^-11
// of their size each), and that turns a rounding of an 8-bit activation now and then; the bounds
// are some times what that gives on this model.
TEST(CardModel, LogitsAreNearTheProcessors) {
    for (const KvType kvType : {KvType::F16, KvType::Q8_0}) {
        const auto card = onCard(kvType);
        auto processor = CpuBackend::make({});
        ASSERT_TRUE(card && processor.ok());
        EngineOptions options;
        options.contextTokens = 4096;
        options.kvType = kvType;
        auto host = Engine::load(std::move(*processor), demoFiles(), options, {}, {});
        ASSERT_TRUE(host.ok()) << host.error().message;

        std::mt19937 random(20261130);
        double divergence = 0, largest = 0;
        int same = 0, rows = 0;
        const json items = evaluation();
        for (int i = 0; i < 60; ++i) {
            // Anywhere within a question or beyond it: ordinary text and noise.
            std::vector<std::int32_t> ids = promptOf(items[random() % items.size()], *card).ids;
            for (std::int32_t& id : ids) // places of pictures
                if (id < 0 || id >= card->tokenizer().size()) id = 0;
            if (i % 4 == 3)
                for (int k = 0; k < 300; ++k) ids.push_back(std::int32_t(random() % 3000));
            if (ids.size() > 512) ids.resize(512);
            std::vector<float> logits[2];
            int which = 0;
            for (Engine* engine : {card.get(), host->get()}) {
                DraftCycle& cycle = engine->cycle();
                cycle.clear();
                for (std::size_t at = 0; at < ids.size();) {
                    const auto count = std::min(ids.size() - at, std::size_t(cycle.maxRows()));
                    ASSERT_TRUE(cycle.read(std::span(ids).subspan(at, count), {}, {}).ok());
                    at += count;
                }
                auto row = cycle.logitsAfterRead();
                ASSERT_TRUE(row.ok());
                logits[which++] = std::move(*row);
                cycle.clear();
            }
            const std::vector<double> p = probabilities(logits[1]), q = probabilities(logits[0]);
            double sum = 0;
            for (std::size_t k = 0; k < p.size(); ++k) {
                if (p[k] > 0) sum += p[k] * std::log(p[k] / std::max(q[k], 1e-300));
                largest = std::max(largest, double(std::abs(logits[0][k] - logits[1][k])));
            }
            divergence += sum;
            same += std::max_element(p.begin(), p.end()) - p.begin() ==
                    std::max_element(q.begin(), q.end()) - q.begin();
            ++rows;
        }
        std::printf("mean divergence %.2e, largest difference of a logit %.3f, the same token %d "
                    "of %d\n",
                    divergence / rows, largest, same, rows);
        EXPECT_LT(divergence / rows, 5e-3);
        EXPECT_LT(largest, 1.0);
        EXPECT_GE(same, rows * 19 / 20);
    }
}

// The picture tower with float weights has bounds for attention in single precision. The card's
// attention rounds queries, keys, values and weights to halves, 2^-12 of their size each, in every
// layer; 4.5e-3 was measured on an H200.
bool nearInHalves(const app::fixture::Check& check) {
    constexpr std::string_view kMeasured = "max abs ";
    if (check.name.rfind("vision.", 0) != 0 || check.measured.rfind(kMeasured, 0) != 0)
        return false;
    return std::stod(check.measured.substr(kMeasured.size())) <= 8e-3;
}

// Values of the reference classes, with the bounds that hold for the processor's integers.
void compareWithReference(const std::filesystem::path& folder) {
    const app::fixture::Arithmetic arithmetic{true, KvType::F16};
    app::fixture::Report report([](const app::fixture::Check& check) {
        EXPECT_TRUE(check.passed || nearInHalves(check)) << app::fixture::line(check);
    });
    auto parts = CudaBackend::make({});
    ASSERT_TRUE(parts.ok()) << parts.error().message;
    app::fixture::compareParts(folder, **parts, arithmetic, report);
    parts->reset();
    auto session = CudaBackend::make({});
    ASSERT_TRUE(session.ok()) << session.error().message;
    app::fixture::compareSession(folder, std::move(*session), arithmetic, report);
    EXPECT_GE(report.checks().size(), 45u);
}

// A recorded pass must not be replayed for other layers' taps that go to the same place.
TEST(CardModel, TapsAreOfTheLayersAskedFor) {
    auto backend = CudaBackend::make({});
    ASSERT_TRUE(backend.ok()) << backend.error().message;
    auto run = app::TextRun::open(**backend, {demoFiles().target, {}, 256});
    ASSERT_TRUE(run.ok()) << run.error().message;
    const std::vector<std::int32_t> ids = {40, 41, 42, 43, 44, 45, 46};
    const auto tapsOf = [&](const std::vector<int>& layers) {
        app::TextRun::Wanted wanted;
        wanted.taps = layers;
        (*run)->clear();
        auto read = (*run)->read(ids, {}, wanted);
        EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
        return read ? read->taps : std::vector<float>();
    };
    const std::size_t width = std::size_t((*run)->text().spec().width);
    const std::vector<float> three = tapsOf({0, 1, 2}), two = tapsOf({1, 2});
    ASSERT_EQ(three.size(), ids.size() * 3 * width);
    ASSERT_EQ(two.size(), ids.size() * 2 * width);
    for (std::size_t row = 0; row < ids.size(); ++row) {
        const auto from = three.begin() + std::ptrdiff_t((3 * row + 1) * width);
        EXPECT_TRUE(std::equal(from, from + std::ptrdiff_t(2 * width),
                               two.begin() + std::ptrdiff_t(2 * row * width)))
            << "row " << row;
    }
}

TEST(CardModel, AgreesWithTheReferenceClassesOnTheDemoTrio) {
    const std::filesystem::path demo = std::filesystem::absolute(demoFolder());
    const ::test::TempDir folder;
    for (const char* part : {"target", "mmproj", "dflash"}) {
        const std::string file = std::string(part) + ".gguf";
        std::filesystem::create_symlink(demo / ("demo-" + file), folder.path() / file);
    }
    for (const char* name : {"cases.json", "golden.gguf", "images"})
        std::filesystem::create_symlink(demo / "golden" / name, folder.path() / name);
    compareWithReference(folder.path());
}

// Float weights, heads of another size, one key/value head.
TEST(CardModel, AgreesWithTheReferenceClassesOnTheFloatFixture) {
    const std::filesystem::path here = "tests/fixtures/oracle/tiny-f32";
    compareWithReference(std::filesystem::exists(here)
                             ? here
                             : std::filesystem::path(GLINT_FIXTURES) / "oracle/tiny-f32");
}

} // namespace
} // namespace cuda::test

#include "runtime_fixture.h"

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/runtime/draft_cycle.h"
#include "engine/token/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace {

using namespace engine;
using Ids = std::vector<std::int32_t>;

// One engine for the whole program: what a test leaves in its caches is part of the next test's
// start, which must not matter.
class SessionTest : public testing::Test {
protected:
    static void SetUpTestSuite() {
        s_engine = loadTiny().release();
        s_golden = new GoldenFile("tiny-f32");
    }
    static void TearDownTestSuite() {
        delete s_engine;
        delete s_golden;
        s_engine = nullptr;
        s_golden = nullptr;
    }
    void SetUp() override { ASSERT_NE(s_engine, nullptr); }

    static Engine& engine() { return *s_engine; }
    static const nlohmann::json& cases() { return s_golden->cases(); }
    static const GoldenFile& golden() { return *s_golden; }

    // The same turn on empty caches.
    static Ids cold(const Prompt& prompt, const GenerateOptions& options) {
        engine().session().clear();
        return generate(engine(), prompt, options).ids();
    }
    static Ids ids(const nlohmann::json& json) { return json.get<Ids>(); }

    // A long ordinary prompt, several windows of 32.
    static Ids longIds(std::size_t count, unsigned seed = 1) {
        std::mt19937 random(seed);
        Ids out;
        while (out.size() < count) out.push_back(std::int32_t(random() % 2000));
        return out;
    }

private:
    static Engine* s_engine;
    static GoldenFile* s_golden;
};
Engine* SessionTest::s_engine = nullptr;
GoldenFile* SessionTest::s_golden = nullptr;

Ids operator+(Ids a, const Ids& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

Ids firstOf(const Ids& ids, std::size_t count) {
    return Ids(ids.begin(), ids.begin() + std::ptrdiff_t(count));
}

// ---- the reference

TEST_F(SessionTest, GreedyTextEqualsTheReference) {
    for (const auto& c : cases()["greedy"]) {
        const Ids wanted = ids(c["tokens"]);
        const Answer answer =
            generate(engine(), promptOf(ids(c["prompt"])), greedy(std::int64_t(wanted.size()), 0));
        EXPECT_EQ(answer.ids(), wanted) << c["name"];
        EXPECT_EQ(answer.finished.figures.cycles, int(wanted.size()) - 1);
    }
}

TEST_F(SessionTest, AcceptedCountsEqualTheReferencesLoop) {
    for (const auto& c : cases()["dflash"]) {
        const Ids wanted = ids(c["tokens"]);
        const Answer answer =
            generate(engine(), promptOf(ids(c["prompt"])), greedy(std::int64_t(wanted.size()), 15));
        EXPECT_EQ(answer.ids(), wanted) << c["name"];
        // The reference's last cycle may go past the tokens asked for.
        std::vector<int> accepted = c["accepted"];
        ASSERT_EQ(answer.accepted.size(), accepted.size()) << c["name"];
        accepted.back() = std::min(accepted.back(), answer.accepted.back());
        EXPECT_EQ(answer.accepted, accepted) << c["name"];
    }
}

TEST_F(SessionTest, PicturePromptsEqualTheReference) {
    for (std::size_t i = 0; i < cases()["image_prompts"].size(); ++i) {
        const auto& c = cases()["image_prompts"][i];
        const Ids wanted = ids(c["tokens"]);
        const Answer answer =
            generate(engine(), picturePrompt(golden(), i), greedy(std::int64_t(wanted.size()), 15));
        EXPECT_EQ(answer.ids(), wanted) << c["image"];
        std::vector<int> accepted = c["accepted"];
        ASSERT_EQ(answer.accepted.size(), accepted.size()) << c["image"];
        accepted.back() = std::min(accepted.back(), answer.accepted.back());
        EXPECT_EQ(answer.accepted, accepted) << c["image"];
    }
}

// Pictures are encoded where hidden rows wait for the drafter: these are taken in before, or the
// drafts after the picture would be others.
TEST_F(SessionTest, APictureBetweenCyclesDoesNotChangeTheDrafts) {
    const auto& c = cases()["dflash"][0];
    const Ids prompt = ids(c["prompt"]), wanted = ids(c["tokens"]);
    const std::vector<int> accepted = c["accepted"];
    ASSERT_GT(accepted.size(), 3u);
    engine().session().clear();
    DraftCycle& cycle = engine().cycle();
    std::vector<std::int32_t> history = prompt;
    ASSERT_TRUE(cycle.read(std::span(history).first(64), {}, {}).ok());
    ASSERT_TRUE(cycle.read(std::span(history).subspan(64), {}, {}).ok());
    DraftCycle::Request request;
    request.sampling.temperature = 0;
    request.draftLength = {15};
    history.push_back(wanted[0]);
    for (std::size_t i = 0; i < 3; ++i) {
        // Large enough to reach them.
        if (i > 0) {
            ASSERT_TRUE(engine().timePicture({700, 700}, {}).ok());
        }
        const auto step = cycle.step(history, request, 64, {});
        ASSERT_TRUE(step.ok());
        EXPECT_EQ(step->accepted, accepted[i]) << "cycle " << i;
        history.insert(history.end(), step->tokens.begin(), step->tokens.end());
    }
    EXPECT_EQ(history, prompt + firstOf(wanted, history.size() - prompt.size()));
    cycle.clear();
}

// The same in a session, where the last cycle of an answer leaves rows to be taken in.
TEST_F(SessionTest, APictureLeavesWhatTheDrafterHasSeen) {
    const auto& c = cases()["dflash"][0];
    const Ids prompt = ids(c["prompt"]);
    DraftCycle& cycle = engine().cycle();
    engine().session().clear();
    const Answer before = generate(engine(), promptOf(prompt), greedy(40, 15));
    ASSERT_TRUE(before.ok) << before.error;
    ASSERT_LT(cycle.draftCache()->length(), cycle.length());

    RgbImage noise; // large enough to reach them
    noise.width = noise.height = 700;
    std::mt19937 random(3);
    noise.pixels.resize(std::size_t(3) * 700 * 700);
    for (std::uint8_t& value : noise.pixels) value = std::uint8_t(random());
    const Ids text = prompt + before.ids();
    ImageSlot slot;
    slot.firstToken = std::int64_t(text.size());
    slot.tokens = imageTokens({700, 700}, *engine().vision());
    slot.key = "noise";
    slot.image = std::make_shared<const RgbImage>(std::move(noise));
    Prompt second = promptOf(text + Ids(std::size_t(slot.tokens) + 1, 7));
    second.images.push_back(std::move(slot));
    ASSERT_LT(std::int64_t(second.ids.size()), cycle.context());
    std::stop_source stop;
    const auto stopAtPicture = [&](const TurnEvent& event) {
        if (std::holds_alternative<LookingAtPicture>(event)) stop.request_stop();
    };
    const auto turn =
        engine().session().generate(second, greedy(1, 15), stopAtPicture, stop.get_token());
    ASSERT_TRUE(turn.ok()) << turn.error().message;
    EXPECT_EQ(turn->reason, FinishReason::Cancelled);

    const std::int64_t length = cycle.length();
    ASSERT_TRUE(cycle.leaveSharedMemory().ok()); // what is not taken in yet
    ASSERT_EQ(cycle.draftCache()->length(), length);
    const auto seen = [&] {
        std::vector<std::vector<float>> rows;
        for (int layer = 0; layer < engine().draft()->layers; ++layer) {
            const KvLayer& kept = cycle.draftCache()->layer(layer);
            for (const Tensor& all : {kept.keys, kept.values}) {
                const Tensor used = all.rowRange(0, length);
                rows.emplace_back(std::size_t(used.rows * used.columns));
                EXPECT_TRUE(engine()
                                .backend()
                                .copyOut(used, std::as_writable_bytes(std::span(rows.back())))
                                .ok());
            }
        }
        return rows;
    };
    const auto after = seen();
    cycle.clear();
    for (std::int64_t at = 0; at < length;) {
        const std::int64_t count = std::min<std::int64_t>(cycle.maxRows(), length - at);
        ASSERT_TRUE(
            cycle.read(std::span(text).subspan(std::size_t(at), std::size_t(count)), {}, {}).ok());
        at += count;
    }
    EXPECT_TRUE(after == seen()); // too many to print
    cycle.clear();
}

// ---- limits

TEST_F(SessionTest, WritesExactlyTheTokensAskedFor) {
    const Prompt prompt = promptOf(ids(cases()["dflash"][0]["prompt"]));
    const Ids wanted = ids(cases()["dflash"][0]["tokens"]);
    for (const int count : {1, 2, 7}) {
        for (const int length : {0, 1, 15, DraftLength::kAutomatic}) {
            const Answer answer = generate(engine(), prompt, greedy(count, length));
            EXPECT_EQ(answer.ids(), firstOf(wanted, std::size_t(count)))
                << count << " with " << length;
            EXPECT_NE(answer.finished.reason, FinishReason::Stop);
            EXPECT_EQ(answer.finished.figures.writtenTokens, count);
        }
    }
}

TEST_F(SessionTest, StopsAtTheEndOfTheContext) {
    const Ids prompt = ids(cases()["dflash"][0]["prompt"]);
    const Ids wanted = ids(cases()["dflash"][0]["tokens"]);
    TinySetup setup;
    setup.context = std::int64_t(prompt.size()) + 30;
    setup.projector = false;
    const auto small = loadTiny(setup);
    ASSERT_NE(small, nullptr);
    for (const int length : {0, 4, 15}) {
        const Answer answer = generate(*small, promptOf(prompt), greedy(0, length));
        EXPECT_EQ(answer.ids(), firstOf(wanted, 30)) << length;
    }
    // One token too many is refused in words, and the session goes on.
    const Answer tooLong =
        generate(*small, promptOf(longIds(std::size_t(setup.context))), greedy(4, 0));
    EXPECT_FALSE(tooLong.ok);
    EXPECT_NE(tooLong.error.find("too long"), std::string::npos) << tooLong.error;
    EXPECT_EQ(tooLong.error.find("picture"), std::string::npos) << tooLong.error;
    Prompt picture = promptOf(longIds(std::size_t(setup.context)));
    picture.images.push_back({1, int(setup.context) - 1, "x", nullptr});
    EXPECT_NE(generate(*small, picture, greedy(4, 0)).error.find("fewer or smaller ones take less"),
              std::string::npos);
    EXPECT_EQ(generate(*small, promptOf(prompt), greedy(5, 0)).ids(), firstOf(wanted, 5));
}

// An end token among accepted drafts ends the turn there. The tiny model never writes one by
// itself, so a token that it does write is declared to be one, below the session.
TEST_F(SessionTest, AnEndTokenWithinAnAcceptedBlockEndsTheTurn) {
    const Ids prompt = ids(cases()["dflash"][0]["prompt"]);
    const Ids wanted =
        ids(cases()["dflash"][0]["tokens"]); // nine drafts accepted in the first cycle
    engine().session().clear();
    DraftCycle& cycle = engine().cycle();
    for (const int end : {1, 4, 9}) { // index of the end token; 0 is the anchor
        std::vector<std::int32_t> history = prompt;
        ASSERT_TRUE(cycle.read(std::span(history).first(64), {}, {}).ok());
        ASSERT_TRUE(cycle.read(std::span(history).subspan(64), {}, {}).ok());
        DraftCycle::Request request;
        request.sampling.temperature = 0;
        request.draftLength = {15};
        request.endsTurn = [&](std::int32_t id) { return id == wanted[std::size_t(end)]; };
        history.push_back(wanted[0]);
        auto step = cycle.step(history, request, 64, {});
        ASSERT_TRUE(step.ok());
        EXPECT_EQ(step->tokens, Ids(wanted.begin() + 1, wanted.begin() + end + 1));
        EXPECT_EQ(step->drafted, end); // nothing after it was judged
        EXPECT_EQ(step->accepted, end);
        EXPECT_EQ(cycle.length(),
                  std::int64_t(prompt.size()) + end); // the end token is not in the caches
        cycle.clear();
    }
}

// A factor below one makes recent tokens likelier, so that what counts as recent decides many
// tokens.
TEST_F(SessionTest, RecentTokensAreTheSameWithinACycle) {
    int accepted = 0;
    for (const std::size_t i : {0, 1, 2}) {
        const auto& known = cases()["dflash"][i];
        for (const float factor : {0.8f, 0.9f}) {
            GenerateOptions options = greedy(40, 0);
            options.sampling.repetition = factor;
            const Ids plain = generate(engine(), promptOf(ids(known["prompt"])), options).ids();
            options.draftLength = {15};
            const Answer drafted = generate(engine(), promptOf(ids(known["prompt"])), options);
            EXPECT_EQ(drafted.ids(), plain) << known["name"] << ", factor " << factor;
            accepted += drafted.finished.figures.acceptedTokens;
        }
    }
    EXPECT_GT(accepted, 5);
    std::printf("%d drafts accepted\n", accepted);
}

TEST_F(SessionTest, RefusesWhatIsNoPrompt) {
    EXPECT_FALSE(generate(engine(), promptOf({}), greedy(1, 0)).ok);
    EXPECT_FALSE(generate(engine(), promptOf({5, 1 << 20}), greedy(1, 0)).ok);
    EXPECT_FALSE(generate(engine(), promptOf({5, -1}), greedy(1, 0)).ok);
    Prompt prompt = promptOf({1, 2, 3});
    prompt.images.push_back({2, 5, "x", nullptr});
    EXPECT_FALSE(generate(engine(), prompt, greedy(1, 0)).ok);
    EXPECT_TRUE(generate(engine(), promptOf({1, 2, 3}), greedy(1, 0)).ok);
}

// ---- reuse of what was read: always the text of a cold start

// Reads `first` and writes to it, then answers `second` warm and cold.
void expectReuse(Engine& engine, const Prompt& first, std::int64_t written, const Prompt& second,
                 const GenerateOptions& options, int mostRead) {
    engine.session().clear();
    ASSERT_TRUE(generate(engine, first, greedy(written, 0)).ok);
    const Answer warm = generate(engine, second, options);
    engine.session().clear();
    const Answer coldAnswer = generate(engine, second, options);
    EXPECT_EQ(warm.ids(), coldAnswer.ids());
    EXPECT_LE(warm.finished.figures.readTokens, mostRead);
    EXPECT_EQ(coldAnswer.finished.figures.readTokens, int(second.ids.size()));
    // Drafting is as good as after a cold start: the drafter's context is the same.
    EXPECT_EQ(warm.accepted, coldAnswer.accepted);
}

TEST_F(SessionTest, TheNextTurnReadsOnlyWhatIsNew) {
    const Ids prompt = ids(cases()["dflash"][0]["prompt"]);
    const Ids reply = firstOf(ids(cases()["dflash"][0]["tokens"]), 40);
    Prompt next = promptOf(prompt + reply + longIds(20));
    next.turnStarts = {0, std::int64_t(prompt.size() + reply.size())};
    expectReuse(engine(), promptOf(prompt), 40, next, greedy(32, 15), 21);
}

TEST_F(SessionTest, TryingAgainReadsNothing) {
    // The answer is longer than what a ring can go back, so this needs the kept place.
    Prompt prompt = promptOf(ids(cases()["dflash"][2]["prompt"]));
    prompt.turnStarts = {0, 150}; // a place is kept there too, but the prompt's end is nearer
    expectReuse(engine(), prompt, 300, prompt, greedy(32, 15), 0);
    // And the other way: a short answer, within the ring.
    expectReuse(engine(), prompt, 20, prompt, greedy(32, 15), 1);
}

TEST_F(SessionTest, EditingTheLastMessageReturnsToItsTurn) {
    const Ids earlier = longIds(150);
    Prompt first = promptOf(earlier + longIds(30, 2));
    first.turnStarts = {0, 150};
    Prompt edited = promptOf(earlier + longIds(25, 3));
    edited.turnStarts = {0, 150};
    expectReuse(engine(), first, 300, edited, greedy(32, 15), 25);
}

// A kept place belongs to the text that was read then, not to another one of the same length.
TEST_F(SessionTest, APlaceIsForgottenWithItsText) {
    const Prompt first = promptOf(longIds(100) + longIds(30, 2));
    const Prompt second = promptOf(longIds(100) + longIds(30, 3));
    const Ids wanted = cold(second, greedy(32, 15));
    engine().session().clear();
    generate(engine(), first, greedy(10, 0));
    generate(engine(), second, greedy(300, 0));
    EXPECT_EQ(generate(engine(), second, greedy(32, 15)).ids(), wanted);
}

TEST_F(SessionTest, EditingEarlyTextReadsAgainAndSaysWhy) {
    Ids changed = longIds(300);
    changed[10] = changed[10] == 7 ? 8 : 7;
    Prompt second = promptOf(changed);
    second.turnStarts = {0, 250};
    expectReuse(engine(), promptOf(longIds(300)), 10, second, greedy(32, 15), 300);
    engine().session().clear();
    generate(engine(), promptOf(longIds(300)), greedy(1, 0));
    const Answer warm = generate(engine(), second, greedy(1, 0));
    ASSERT_FALSE(warm.readings.empty());
    EXPECT_FALSE(warm.readings.front().whyAgain.empty());
    EXPECT_EQ(warm.readings.back().done, warm.readings.back().total);
}

TEST_F(SessionTest, SwitchingTheStrengthReadsAgainFromThere) {
    // The strength's word stands in the system block, at the beginning.
    const auto& chat = cases()["chat"];
    const Ids high = ids(chat[0]["ids"]);
    Ids low = high;
    low[47] = low[47] == 3 ? 4 : 3;
    expectReuse(engine(), promptOf(high), 16, promptOf(low), greedy(32, 15), int(low.size()) - 47);
}

TEST_F(SessionTest, APictureAtTheStartIsNotEncodedAgain) {
    const Prompt prompt = picturePrompt(golden(), 0);
    expectReuse(engine(), prompt, 24, prompt, greedy(24, 15), 1);
    engine().session().clear(); // the caches are gone, the picture's rows are not
    EXPECT_EQ(generate(engine(), prompt, greedy(4, 0)).pictures, 0);
}

TEST_F(SessionTest, AnotherPictureOfTheSameSizeIsNotTakenForIt) {
    const Prompt prompt = picturePrompt(golden(), 0);
    Prompt other = prompt;
    RgbImage inverted = *prompt.images[0].image;
    for (std::uint8_t& value : inverted.pixels) value = std::uint8_t(255 - value);
    other.images[0].key = "inverted";
    other.images[0].image = std::make_shared<const RgbImage>(std::move(inverted));
    const Ids first = cold(prompt, greedy(16, 0));
    const Ids second = generate(engine(), other, greedy(16, 0)).ids();
    EXPECT_NE(first, second);
    EXPECT_EQ(second, cold(other, greedy(16, 0)));
}

TEST_F(SessionTest, APictureWithoutItsPartIsRefused) {
    TinySetup setup;
    setup.projector = false;
    const auto blind = loadTiny(setup);
    ASSERT_NE(blind, nullptr);
    const Answer answer = generate(*blind, picturePrompt(golden(), 0), greedy(4, 0));
    EXPECT_FALSE(answer.ok);
    EXPECT_NE(answer.error.find("vision"), std::string::npos) << answer.error;
    EXPECT_TRUE(generate(*blind, promptOf(longIds(20)), greedy(4, 0)).ok);
}

// Chunks of every size, the ring wrapped many times: the same text.
TEST_F(SessionTest, ChunksDoNotMatterOverSeveralWindows) {
    const Prompt prompt = promptOf(longIds(500));
    const Ids wanted = cold(prompt, greedy(40, 15));
    TinySetup setup;
    setup.projector = false;
    for (const int chunk : {3, 100, 256}) {
        setup.prefillChunk = chunk;
        const auto other = loadTiny(setup);
        ASSERT_NE(other, nullptr);
        EXPECT_EQ(generate(*other, prompt, greedy(40, 15)).ids(), wanted) << chunk;
    }
}

// ---- stopping

TEST_F(SessionTest, StoppingKeepsTheIdsSoFarAndGoesOnTheSame) {
    const Prompt prompt = promptOf(ids(cases()["dflash"][0]["prompt"]));
    const auto seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    const auto options = [&](std::int64_t tokens, int draftLength, float temperature) {
        GenerateOptions out = greedy(tokens, draftLength);
        out.sampling.temperature = temperature;
        out.seed = seed;
        return out;
    };
    const Ids texts[] = {cold(prompt, options(48, 0, 0)), cold(prompt, options(48, 0, 1))};
    for (int round = 0; round < 20; ++round) {
        const float temperature = float(round % 2);
        const Ids& wanted = texts[round % 2];
        engine().session().clear();
        // Stops when a number of events has passed: while reading, or in the middle of writing.
        std::stop_source source;
        int left = int(random() % 12);
        const auto sink = [&](const TurnEvent&) {
            if (left-- == 0) source.request_stop();
        };
        auto turn = engine().session().generate(
            prompt, options(48, int(random() % 16), temperature), sink, source.get_token());
        ASSERT_TRUE(turn.ok());
        if (turn->reason == FinishReason::Cancelled) {
            ASSERT_LT(turn->ids.size(), wanted.size());
        }
        EXPECT_EQ(turn->ids, firstOf(wanted, turn->ids.size()));
        // Going on inside the reply gives what an uninterrupted answer gives.
        Prompt rest = promptOf(prompt.ids + turn->ids);
        rest.replyPrefix = turn->ids;
        const auto count = std::int64_t(wanted.size() - turn->ids.size());
        if (count == 0) continue;
        const Answer answer = generate(engine(), rest, options(count, 15, temperature));
        EXPECT_EQ(turn->ids + answer.ids(), wanted);
    }
}

TEST_F(SessionTest, StoppedBeforeItBeginsWritesNothing) {
    std::stop_source source;
    source.request_stop();
    engine().session().clear();
    const Answer answer =
        generate(engine(), promptOf(longIds(100)), greedy(8, 15), source.get_token());
    ASSERT_TRUE(answer.ok);
    EXPECT_EQ(answer.finished.reason, FinishReason::Cancelled);
    EXPECT_TRUE(answer.ids().empty());
    EXPECT_EQ(engine().session().cachedTokens(), 0);
}

// ---- loading

TEST(EngineLoad, FreesEverythingAndLoadsAgain) {
    const GoldenFile golden("tiny-f32");
    const Ids wanted = golden.cases()["greedy"][1]["tokens"].get<Ids>();
    const Ids prompt = golden.cases()["greedy"][1]["prompt"].get<Ids>();
    std::string key;
    for (int i = 0; i < 2; ++i) {
        const auto engine = loadTiny();
        ASSERT_NE(engine, nullptr);
        EXPECT_EQ(generate(*engine, promptOf(prompt), greedy(16, 15)).ids(), firstOf(wanted, 16));
        EXPECT_TRUE(key.empty() || key == engine->modelKey());
        key = engine->modelKey();
    }
    EXPECT_EQ(key.size(), 16u);
}

TEST(EngineLoad, ReportsProgressAndCanBeStopped) {
    std::vector<LoadProgress> seen;
    std::stop_source source;
    const auto sink = [&](const LoadProgress& progress) {
        seen.push_back(progress);
        if (progress.phase == "Reading the vision part") source.request_stop();
    };
    auto engine = Engine::load(tinyBackend(), tinyFiles(), {}, sink, source.get_token());
    ASSERT_FALSE(engine.ok());
    EXPECT_EQ(engine.error().code, ErrorCode::Cancelled);
    ASSERT_GT(seen.size(), 3u);
    for (std::size_t i = 1; i < seen.size(); ++i) {
        EXPECT_GE(seen[i].bytesDone, seen[i - 1].bytesDone);
        EXPECT_LE(seen[i].bytesDone, seen[i].bytesTotal);
    }
}

TEST(EngineLoad, SaysWhatDoesNotFitTogether) {
    const auto files = tinyFiles();
    const auto errorOf = [](ModelFiles wrong) {
        auto engine = Engine::load(tinyBackend(), wrong, {}, {}, {});
        return engine.ok() ? std::string() : engine.error().message;
    };
    EXPECT_NE(errorOf({files.projector, {}, {}}).find("cannot be used as the model"),
              std::string::npos);
    EXPECT_NE(errorOf({files.target, files.drafter, {}}).find("cannot be used as the vision part"),
              std::string::npos);
    EXPECT_NE(errorOf({files.target, {}, files.target}).find("cannot be used as the drafter"),
              std::string::npos);
    EXPECT_NE(errorOf({"/nowhere/model.gguf", {}, {}}), "");
}

TEST(EngineLoad, MemoryTakenStaysWithinThePlan) {
    const auto engine = loadTiny();
    ASSERT_NE(engine, nullptr);
    const MemoryByPart taken = engine->memory();
    const MemoryByPart planned = engine->plan().memory;
    EXPECT_LE(taken.model, planned.model);
    EXPECT_LE(taken.vision, planned.vision);
    EXPECT_LE(taken.draft, planned.draft);
    EXPECT_LE(taken.conversation, planned.conversation);
    EXPECT_LE(taken.working, planned.working);
    EXPECT_GT(taken.conversation, 0);
    EXPECT_GT(taken.working, 0);
}

TEST(EngineLoad, RefusesAContextBeyondTheModel) {
    EngineOptions options;
    options.contextTokens = std::int64_t(1) << 40;
    auto engine = Engine::load(tinyBackend(), tinyFiles(), options, {}, {});
    ASSERT_FALSE(engine.ok());
    EXPECT_NE(engine.error().message.find("at most"), std::string::npos) << engine.error().message;
}

} // namespace

// What fails on the card ends with a sentence, and never with the program.

#include "app/backend_choice.h"
#include "tests/cuda/demo.h"

#include <algorithm>

namespace cuda::test {

namespace {

using engine::ErrorCode;

bool isSentence(const std::string& message) {
    return message.size() > 10 && message.find(' ') != std::string::npos &&
           message.find("CUDA_ERROR") == std::string::npos;
}

// Allocations (or launches) of loading the demo trio without a fault.
FaultPlan countOf() {
    FaultPlan plan;
    CudaOptions options;
    options.faults = &plan;
    options.selfTest = false;
    auto engine = loadDemo(options);
    EXPECT_TRUE(engine.ok()) << (engine ? "" : engine.error().message);
    return plan;
}

} // namespace

TEST(Faults, EveryRefusedAllocationIsASentenceAndTheNextLoadIsClean) {
    const std::int64_t allocations = countOf().allocations;
    ASSERT_GT(allocations, 10);
    std::printf("%lld allocations\n", static_cast<long long>(allocations));
    for (std::int64_t n = 0; n < allocations; ++n) {
        FaultPlan plan;
        plan.allocation = n;
        CudaOptions options;
        options.faults = &plan;
        options.selfTest = false;
        auto engine = loadDemo(options);
        // The embedding table has a second way: the card's memory when pinned memory is refused;
        // but that is refused as well, because all later ones are.
        ASSERT_FALSE(engine.ok()) << "allocation " << n;
        EXPECT_EQ(engine.error().code, ErrorCode::OutOfMemory) << engine.error().message;
        EXPECT_NE(engine.error().message.find("MiB"), std::string::npos) << engine.error().message;
        EXPECT_TRUE(isSentence(engine.error().message)) << engine.error().message;
    }
    auto engine = loadDemo(CudaOptions{});
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    EXPECT_TRUE(askDemo(**engine).end.ok());
}

TEST(Faults, ACardLostWhileLoadingIsASentence) {
    const std::int64_t launches = countOf().launches;
    ASSERT_GT(launches, 100);
    for (std::int64_t n = 0; n < launches; n += std::max<std::int64_t>(1, launches / 25)) {
        FaultPlan plan;
        plan.launch = n;
        CudaOptions options;
        options.faults = &plan;
        options.selfTest = false;
        auto engine = loadDemo(options);
        ASSERT_FALSE(engine.ok()) << "launch " << n;
        EXPECT_EQ(engine.error().code, ErrorCode::Device) << engine.error().message;
        EXPECT_NE(engine.error().message.find("starting "), std::string::npos);
        EXPECT_TRUE(isSentence(engine.error().message)) << engine.error().message;
    }
}

TEST(Faults, ACardLostInAnAnswerEndsItWithASentenceAndKeepsItsText) {
    auto whole = loadDemo(CudaOptions{});
    ASSERT_TRUE(whole.ok()) << whole.error().message;
    const DemoAnswer expected = askDemo(**whole);
    ASSERT_TRUE(expected.end.ok()) << expected.end.error().message;
    ASSERT_GT(expected.text.size(), 40u);

    for (const int draftLength : {0, engine::DraftLength::kMax}) {
        FaultPlan plan;
        CudaOptions options;
        options.faults = &plan;
        auto engine = loadDemo(options);
        ASSERT_TRUE(engine.ok()) << engine.error().message;
        int pieces = 0;
        const DemoAnswer answer = askDemo(**engine, draftLength, [&] {
            if (++pieces == 2) plan.launch = plan.launches;
        });
        ASSERT_FALSE(answer.end.ok()) << "draft length " << draftLength;
        EXPECT_EQ(answer.end.error().code, ErrorCode::Device);
        EXPECT_TRUE(isSentence(answer.end.error().message)) << answer.end.error().message;
        EXPECT_FALSE(answer.text.empty());
        EXPECT_EQ(expected.text.compare(0, answer.text.size(), answer.text), 0) << answer.text;
        // It stays failed; what was computed is not handed out.
        EXPECT_FALSE(askDemo(**engine).end.ok());
    }
    const DemoAnswer again = askDemo(**whole);
    ASSERT_TRUE(again.end.ok());
    EXPECT_EQ(again.text, expected.text);
}

TEST(Faults, AFullCardIsSaidWithWhatIsNeededAndWhatIsFree) {
    auto backend = CudaBackend::make({});
    ASSERT_TRUE(backend.ok()) << backend.error().message;
    auto buffer = (*backend)->allocate(std::int64_t(1) << 50, "keys and values");
    ASSERT_FALSE(buffer.ok());
    EXPECT_EQ(buffer.error().code, ErrorCode::OutOfMemory);
    const std::string& message = buffer.error().message;
    EXPECT_NE(message.find("keys and values: needs 1073741824 MiB"), std::string::npos) << message;
    EXPECT_NE(message.find("are free"), std::string::npos) << message;
    // That was no failure of the card: it goes on.
    EXPECT_TRUE((*backend)->allocate(1 << 20, "rows").ok());
    EXPECT_TRUE((*backend)->synchronize().ok());
}

TEST(Faults, AModelThatDoesNotFitRunsOnTheProcessor) {
    auto other = CudaBackend::make({}); // of another program
    ASSERT_TRUE(other.ok()) << other.error().message;
    auto taken = (*other)->allocate((*other)->memory().freeBytes, "another program");
    ASSERT_TRUE(taken.ok()) << taken.error().message;
    engine::EngineOptions options;
    options.contextTokens = 1024;
    auto loaded = app::loadEngine({}, demoFiles(), options, {}, {});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_FALSE(loaded->onCard);
    EXPECT_NE(loaded->whyNotCard.find("MiB"), std::string::npos) << loaded->whyNotCard;
    EXPECT_TRUE(askDemo(*loaded->engine).end.ok());
    // Where the card was asked for, that is the error.
    app::BackendWish card;
    card.kind = app::BackendKind::Card;
    auto refused = app::loadEngine(card, demoFiles(), options, {}, {});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
}

TEST(Memory, FiftyLoadsLeaveNothingBehind) {
    auto context =
        Context::make(0, nullptr); // keeps the card open, so that its own memory counts not
    ASSERT_TRUE(context.ok()) << context.error().message;
    const auto loadOnce = [] {
        auto engine = loadDemo(CudaOptions{});
        ASSERT_TRUE(engine.ok()) << engine.error().message;
        ASSERT_TRUE(askDemo(**engine).end.ok());
    };
    loadOnce(); // the driver keeps some memory from its first use on
    const std::int64_t before = (*context)->freeBytes();
    for (int i = 0; i < 50 && !HasFatalFailure(); ++i) loadOnce();
    const std::int64_t after = (*context)->freeBytes();
    EXPECT_LT(before - after, std::int64_t(16) << 20)
        << "free before: " << before << ", after: " << after;
}

} // namespace cuda::test

// Which backend computes. These run with and without a card.

#include "app/backend_choice.h"

#include <gtest/gtest.h>

namespace {

using app::BackendKind;
using app::BackendWish;

bool isProcessor(const app::ChosenBackend& chosen) {
    return !chosen.onCard && chosen.backend->name().rfind("Processor", 0) == 0;
}

} // namespace

TEST(BackendChoice, TheProcessorWhenItIsAskedFor) {
    BackendWish wish;
    wish.kind = BackendKind::Processor;
    auto chosen = app::chooseBackend(wish);
    ASSERT_TRUE(chosen.ok()) << chosen.error().message;
    EXPECT_TRUE(isProcessor(*chosen));
    EXPECT_EQ(chosen->whyNotCard, "");
}

TEST(BackendChoice, FloatArithmeticIsTheProcessors) {
    BackendWish wish;
    wish.floatMath = true;
    auto chosen = app::chooseBackend(wish);
    ASSERT_TRUE(chosen.ok()) << chosen.error().message;
    EXPECT_TRUE(isProcessor(*chosen));
    wish.kind = BackendKind::Card;
    auto refused = app::chooseBackend(wish);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, engine::ErrorCode::Unsupported);
}

TEST(BackendChoice, TheCardOrASentence) {
    BackendWish wish;
    wish.kind = BackendKind::Card;
    auto card = app::chooseBackend(wish);
    if (card) {
        EXPECT_TRUE(card->onCard);
    } else {
        EXPECT_NE(card.error().message.find(' '), std::string::npos) << card.error().message;
    }
    auto automatic = app::chooseBackend({});
    ASSERT_TRUE(automatic.ok()) << automatic.error().message;
    EXPECT_EQ(automatic->onCard, card.ok());
    EXPECT_TRUE(automatic->onCard || isProcessor(*automatic));
    EXPECT_TRUE(!automatic->onCard || automatic->whyNotCard.empty());
}

TEST(BackendChoice, APlanIsMadeForThePlaceThatIsTaken) {
    auto chosen = app::chooseBackend({});
    ASSERT_TRUE(chosen.ok());
    const app::ComputePlace place = app::automaticPlace();
    EXPECT_GT(place.memory.totalBytes, 0);
    EXPECT_GE(place.memory.totalBytes, place.memory.freeBytes);
    EXPECT_EQ(place.card, chosen->onCard);
    EXPECT_EQ(place.memory.totalBytes, chosen->backend->memory().totalBytes);
    EXPECT_FALSE(app::processorPlace().card);
}

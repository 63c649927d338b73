#include "engine/chat/conversation.h"
#include "engine/chat/turn_event.h"

#include <gtest/gtest.h>

using namespace engine;

namespace {

Message message(std::int64_t id, std::int64_t parent, Role role, std::int64_t createdMs = 0) {
    Message m;
    m.id = id;
    m.parentId = parent;
    m.role = role;
    m.createdMs = createdMs;
    return m;
}

std::vector<std::int64_t> ids(const std::vector<const Message*>& messages) {
    std::vector<std::int64_t> all;
    for (const Message* m : messages) all.push_back(m->id);
    return all;
}

// 1 question, answered twice (2 and 5); the question asked anew (3) with one answer (4).
Conversation tree() {
    Conversation c;
    c.messages = {message(5, 1, Role::Assistant, 50), message(1, 0, Role::User, 10),
                  message(4, 3, Role::Assistant, 40), message(2, 1, Role::Assistant, 20),
                  message(3, 0, Role::User, 30)};
    return c;
}

} // namespace

TEST(Conversation, TheActivePathLeadsFromTheFirstMessageToTheLeaf) {
    Conversation c = tree();
    EXPECT_TRUE(c.activePath().empty());
    c.activeLeafId = 4;
    EXPECT_EQ(ids(c.activePath()), (std::vector<std::int64_t>{3, 4}));
    c.activeLeafId = 5;
    EXPECT_EQ(ids(c.activePath()), (std::vector<std::int64_t>{1, 5}));
}

TEST(Conversation, ABrokenTreeGivesAnEndingPath) {
    Conversation c;
    c.messages = {message(1, 2, Role::User), message(2, 1, Role::Assistant)}; // a circle
    c.activeLeafId = 2;
    EXPECT_EQ(c.activePath().size(), 2u);
    c.activeLeafId = 9; // not there
    EXPECT_TRUE(c.activePath().empty());
    c.messages = {message(2, 7, Role::Assistant)}; // its parent is missing
    c.activeLeafId = 2;
    EXPECT_EQ(ids(c.activePath()), (std::vector<std::int64_t>{2}));
}

TEST(Conversation, VersionsAreSiblingsInOrderOfCreation) {
    const Conversation c = tree();
    EXPECT_EQ(ids(c.versions(5)), (std::vector<std::int64_t>{2, 5}));
    EXPECT_EQ(ids(c.versions(3)), (std::vector<std::int64_t>{1, 3}));
    EXPECT_EQ(ids(c.versions(4)), (std::vector<std::int64_t>{4}));
    EXPECT_TRUE(c.versions(99).empty());
}

TEST(Conversation, StrengthWordsGoBothWays) {
    for (const auto strength : {ThinkingStrength::Low, ThinkingStrength::Medium,
                                ThinkingStrength::High, ThinkingStrength::ExtraHigh}) {
        EXPECT_EQ(strengthFromWord(strengthWord(strength)), strength);
    }
    EXPECT_EQ(strengthWord(ThinkingStrength::ExtraHigh), "xhigh");
    EXPECT_FALSE(strengthFromWord("off").has_value());
    EXPECT_FALSE(strengthFromWord("High").has_value());
}

TEST(TurnEvent, FinishWordsAreTheOnesOfTheCommandLine) {
    EXPECT_EQ(finishWord(FinishReason::Stop), "stop");
    EXPECT_EQ(finishWord(FinishReason::Length), "length");
    EXPECT_EQ(finishWord(FinishReason::LengthWhileThinking), "length_while_thinking");
    EXPECT_EQ(finishWord(FinishReason::Cancelled), "cancelled");
}

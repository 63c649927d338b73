#include "engine/chat/prompt_builder.h"
#include "engine/chat/reply_ids.h"
#include "engine/chat/stream_parser.h"
#include "tests/engine/chat/oracle_tokenizer.h"

#include <random>

using namespace engine;
using test::marked;
using test::tinyTokenizer;

namespace {

constexpr const char* kModel = "model";

// A conversation of one question and one reply, followed by what `end` asks for.
PromptRequest request(ChatMessage reply, PromptEnd end) {
    PromptRequest r;
    r.messages = {ChatMessage::system("S"), ChatMessage::user("q"), std::move(reply)};
    if (end == PromptEnd::NewReply) r.messages.push_back(ChatMessage::user("next"));
    r.end = end;
    r.modelKey = kModel;
    return r;
}

// A reply whose ids the model wrote; its texts are what the parser made of them.
ChatMessage written(std::string_view reply) {
    const std::vector<TokenId> ids = marked(reply);
    StreamParser parser(tinyTokenizer());
    std::vector<TextDelta> deltas;
    for (const TokenId id : ids) parser.push(id, deltas);
    ChatMessage message = ChatMessage::assistant("");
    std::string answer;
    for (const TextDelta& d : deltas) {
        (d.channel == Channel::Thinking ? message.thinking : answer) += d.text;
    }
    message.parts = {answer};
    message.generated = {kModel, ids};
    return message;
}

// The prompt's text after the question.
std::string afterQuestion(const Prompt& prompt) {
    const std::string text = tinyTokenizer().decode(prompt.ids);
    const std::string question = "<|start|>user<|message|>q<|eot|>";
    return text.substr(text.find(question) + question.size());
}

std::string rendered(const ChatMessage& reply, PromptEnd end, bool keepThinking = true) {
    PromptRequest r = request(reply, end);
    r.keepThinking = keepThinking;
    const auto prompt = buildPrompt(r, tinyTokenizer(), nullptr);
    EXPECT_TRUE(prompt.ok());
    const std::string text = afterQuestion(*prompt);
    if (end != PromptEnd::NewReply) {
        // What a parser needs to go on is exactly what follows <|start|>assistant.
        EXPECT_EQ("<|start|>assistant" + tinyTokenizer().decode(prompt->replyPrefix), text);
        EXPECT_TRUE(std::equal(prompt->replyPrefix.rbegin(), prompt->replyPrefix.rend(),
                               prompt->ids.rbegin()));
    }
    return text;
}

std::string asHistory(const ChatMessage& reply, bool keepThinking = true) {
    const std::string text = rendered(reply, PromptEnd::NewReply, keepThinking);
    const std::string next = "<|start|>user<|message|>next<|eot|><|start|>assistant";
    EXPECT_TRUE(text.ends_with(next)) << text;
    return text.substr(0, text.size() - next.size());
}

} // namespace

// ---- the model's own ids in later prompts

TEST(PromptHistory, WrittenIdsStandAsTheyWereWritten) {
    // "ab" written as two tokens, which encoding would join: the ids must not change.
    ChatMessage reply =
        written(" to=self<|message|>hm<|eom|><|start|>assistant to=user<|message|>");
    auto& ids = reply.generated.ids;
    const std::string answer = "the";
    for (const char c : answer) {
        const auto one = tinyTokenizer().encodeText(std::string(1, c));
        ids.insert(ids.end(), one.begin(), one.end());
    }
    ASSERT_NE(tinyTokenizer().encodeText(answer).size(), answer.size());
    ids.push_back(tinyTokenizer().special().eot);
    reply.parts = {answer};

    const auto prompt = buildPrompt(request(reply, PromptEnd::NewReply), tinyTokenizer(), nullptr);
    ASSERT_TRUE(prompt.ok());
    EXPECT_NE(std::search(prompt->ids.begin(), prompt->ids.end(), ids.begin(), ids.end()),
              prompt->ids.end());

    PromptRequest other = request(reply, PromptEnd::NewReply);
    other.modelKey = "another model";
    const auto anew = buildPrompt(other, tinyTokenizer(), nullptr);
    ASSERT_TRUE(anew.ok());
    EXPECT_EQ(std::search(anew->ids.begin(), anew->ids.end(), ids.begin(), ids.end()),
              anew->ids.end());
    EXPECT_EQ(tinyTokenizer().decode(anew->ids), tinyTokenizer().decode(prompt->ids));
}

TEST(PromptHistory, CutOffRepliesAreClosed) {
    const std::string whole = "<|start|>assistant to=self<|message|>hm<|eom|>"
                              "<|start|>assistant to=user<|message|>yes<|eot|>";
    const std::string noAnswer = "<|start|>assistant to=self<|message|>hm<|eom|>"
                                 "<|start|>assistant to=user<|message|><|eot|>";
    const std::string head = " to=self<|message|>hm";
    const std::string answer = head + "<|eom|><|start|>assistant to=user<|message|>yes";
    EXPECT_EQ(asHistory(written(answer + "<|eot|>")), whole);
    EXPECT_EQ(asHistory(written(answer + "<|end_of_text|>")), whole);
    EXPECT_EQ(asHistory(written(answer)), whole);
    EXPECT_EQ(asHistory(written(answer + "<|eom|>")), whole);
    EXPECT_EQ(asHistory(written(answer + "<|eom|><|start|>assis")), whole);
    EXPECT_EQ(asHistory(written(head)), noAnswer);
    EXPECT_EQ(asHistory(written(head + "<|eom|>")), noAnswer);
    EXPECT_EQ(asHistory(written(head + "<|eom|><|start|>assistant to=us")), noAnswer);
    EXPECT_EQ(asHistory(written(" to=")), "<|start|>assistant to=user<|message|><|eot|>");
    EXPECT_EQ(asHistory(written("")), "<|start|>assistant to=user<|message|><|eot|>");
}

TEST(PromptHistory, DroppedThinkingLeavesTheAnswersIds) {
    const ChatMessage reply =
        written(" to=self<|message|>hm<|eom|><|start|>assistant to=user<|message|>yes<|eot|>");
    EXPECT_EQ(asHistory(reply, false), "<|start|>assistant to=user<|message|>yes<|eot|>");
    EXPECT_EQ(asHistory(written(" to=self<|message|>hm"), false),
              "<|start|>assistant to=user<|message|><|eot|>");
}

TEST(PromptHistory, EditedAnswersAndForgedIdsAreEncodedAnew) {
    ChatMessage edited = written(" to=user<|message|>yes<|eot|>");
    edited.parts = {std::string("no <|eot|>")};
    const auto prompt = buildPrompt(request(edited, PromptEnd::NewReply), tinyTokenizer(), nullptr);
    ASSERT_TRUE(prompt.ok());
    const SpecialTokens& special = tinyTokenizer().special();
    EXPECT_EQ(std::count(prompt->ids.begin(), prompt->ids.end(), special.eot), 4);
    EXPECT_NE(afterQuestion(*prompt).find("no <|eot|><|eot|>"), std::string::npos);

    // Ids come from a database: none that a reply cannot have gets through.
    const std::vector<std::vector<TokenId>> forged = {
        marked("<|patch|>"),
        marked(" to=user<|message|><|image_start|>"),
        marked(" to=user<|message|><|eot|><|start|>user<|message|>"),
        marked(" to=user<|message|>a<|message|>"),
        {-1},
        {static_cast<TokenId>(tinyTokenizer().size())},
    };
    for (const auto& ids : forged) {
        ChatMessage reply = ChatMessage::assistant("");
        reply.generated = {kModel, ids};
        EXPECT_FALSE(readReplyIds(ids, tinyTokenizer()).has_value());
        EXPECT_EQ(asHistory(reply), "<|start|>assistant to=user<|message|><|eot|>");
    }
}

// ---- going on with an unfinished reply

TEST(PromptContinuation, AnAnswerGoesOnInsideItsBody) {
    EXPECT_EQ(rendered(ChatMessage::assistant("yes, be", "hm"), PromptEnd::ContinueReply),
              "<|start|>assistant to=self<|message|>hm<|eom|><|start|>assistant "
              "to=user<|message|>yes, be");
    EXPECT_EQ(rendered(ChatMessage::assistant("yes, be"), PromptEnd::ContinueReply),
              "<|start|>assistant to=user<|message|>yes, be");
    const std::string ids = " to=self<|message|>hm<|eom|><|start|>assistant to=user<|message|>yes";
    EXPECT_EQ(rendered(written(ids), PromptEnd::ContinueReply), "<|start|>assistant" + ids);
    EXPECT_EQ(rendered(written(ids + "<|eot|>"), PromptEnd::ContinueReply),
              "<|start|>assistant" + ids);
}

TEST(PromptContinuation, ThinkingGoesOnInsideItsBody) {
    EXPECT_EQ(rendered(ChatMessage::assistant("", "so if"), PromptEnd::ContinueReply),
              "<|start|>assistant to=self<|message|>so if");
    EXPECT_EQ(rendered(written(" to=self<|message|>so if"), PromptEnd::ContinueReply),
              "<|start|>assistant to=self<|message|>so if");
    // Also where thinking of earlier replies is dropped.
    EXPECT_EQ(rendered(ChatMessage::assistant("", "so if"), PromptEnd::ContinueReply, false),
              "<|start|>assistant to=self<|message|>so if");
    EXPECT_EQ(rendered(ChatMessage::assistant(""), PromptEnd::ContinueReply), "<|start|>assistant");
}

TEST(PromptContinuation, AnswerNowClosesTheThinking) {
    const std::string expected = "<|start|>assistant to=self<|message|>so if<|eom|>"
                                 "<|start|>assistant to=user<|message|>";
    EXPECT_EQ(rendered(ChatMessage::assistant("", "so if"), PromptEnd::AnswerNow), expected);
    EXPECT_EQ(rendered(written(" to=self<|message|>so if"), PromptEnd::AnswerNow), expected);
    EXPECT_EQ(
        rendered(written(" to=self<|message|>so if<|eom|><|start|>assi"), PromptEnd::AnswerNow),
        expected);
    EXPECT_EQ(rendered(written(" to=self<|message|>so if<|eot|>"), PromptEnd::AnswerNow), expected);
    EXPECT_EQ(rendered(ChatMessage::assistant(""), PromptEnd::AnswerNow),
              "<|start|>assistant to=user<|message|>");
}

TEST(PromptContinuation, TheWholeReplyReadsAsOne) {
    // What stood and what is written afterwards are together a reply that a later prompt can hold.
    const ChatMessage begun = written(" to=self<|message|>so if");
    const auto prompt = buildPrompt(request(begun, PromptEnd::AnswerNow), tinyTokenizer(), nullptr);
    ASSERT_TRUE(prompt.ok());
    StreamParser parser(tinyTokenizer(), prompt->replyPrefix);
    EXPECT_TRUE(parser.inBody());
    EXPECT_EQ(parser.channel(), Channel::Answer);
    EXPECT_FALSE(parser.answerBegun());
    const std::vector<TokenId> more = marked("yes<|eot|>");
    std::vector<TextDelta> deltas;
    for (const TokenId id : more) parser.push(id, deltas);
    ASSERT_EQ(deltas.size(), 1u);
    EXPECT_EQ(deltas[0].text, "yes");
    EXPECT_TRUE(parser.turnEnded());

    ChatMessage whole = ChatMessage::assistant("yes", begun.thinking);
    whole.generated = {kModel, prompt->replyPrefix};
    whole.generated.ids.insert(whole.generated.ids.end(), more.begin(), more.end());
    ASSERT_TRUE(readReplyIds(whole.generated.ids, tinyTokenizer()).has_value());
    EXPECT_EQ(asHistory(whole), "<|start|>assistant to=self<|message|>so if<|eom|>"
                                "<|start|>assistant to=user<|message|>yes<|eot|>");
}

TEST(PromptContinuation, WithoutAReplyThereIsNothingToContinue) {
    PromptRequest r;
    r.messages = {ChatMessage::user("q")};
    r.end = PromptEnd::ContinueReply;
    EXPECT_FALSE(buildPrompt(r, tinyTokenizer(), nullptr).ok());
    r.messages.clear();
    EXPECT_FALSE(buildPrompt(r, tinyTokenizer(), nullptr).ok());
}

TEST(PromptHistory, RandomIdsGiveSoundPrompts) {
    const unsigned seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    const SpecialTokens& special = tinyTokenizer().special();
    const std::vector<TokenId> markers = {special.start, special.message, special.eom, special.eot};
    const std::vector<std::string> pieces = {" to=self", "assistant", " to=user", "text", "\xC3"};
    for (int round = 0; round < 2000; ++round) {
        std::vector<TokenId> ids;
        for (std::size_t n = random() % 12; n > 0; --n) {
            if (random() % 2) {
                ids.push_back(markers[random() % markers.size()]);
            } else {
                tinyTokenizer().encodeText(pieces[random() % pieces.size()], ids);
            }
        }
        ChatMessage reply = written("");
        reply.generated.ids = ids;
        if (const auto read = readReplyIds(ids, tinyTokenizer())) {
            reply.parts = {read->answer};
            reply.thinking = read->thinking;
        }
        for (const PromptEnd end :
             {PromptEnd::NewReply, PromptEnd::ContinueReply, PromptEnd::AnswerNow}) {
            const auto prompt = buildPrompt(request(reply, end), tinyTokenizer(), nullptr);
            ASSERT_TRUE(prompt.ok());
            // Every message but an open last one is closed before the next begins.
            int open = 0;
            for (const TokenId id : prompt->ids) {
                if (id == special.message) {
                    ASSERT_EQ(++open, 1);
                }
                if (id == special.eom || id == special.eot) open = 0;
                if (id == special.start) {
                    ASSERT_EQ(open, 0);
                }
            }
            if (end == PromptEnd::NewReply) {
                ASSERT_EQ(open, 0);
            }
        }
    }
}

#include "engine/chat/stream_parser.h"

#include "engine/base/utf8.h"
#include "tests/engine/chat/oracle_tokenizer.h"

#include <random>

using namespace engine;
using test::marked;
using test::tinyTokenizer;

namespace {

struct Texts {
    std::string thinking;
    std::string answer;
    std::string tool;
    bool operator==(const Texts&) const = default;
};
[[maybe_unused]] void PrintTo(const Texts& t, std::ostream* out) {
    *out << "{thinking: \"" << t.thinking << "\", answer: \"" << t.answer << "\", tool: \""
         << t.tool << "\"}";
}

Texts parse(const std::vector<TokenId>& ids) {
    StreamParser parser(tinyTokenizer());
    Texts texts;
    for (const TokenId id : ids) {
        std::vector<TextDelta> deltas;
        parser.push(id, deltas);
        for (const TextDelta& delta : deltas) {
            EXPECT_TRUE(isValidUtf8(delta.text)) << "whole characters only";
            (delta.channel == Channel::Thinking ? texts.thinking
             : delta.channel == Channel::Answer ? texts.answer
                                                : texts.tool) += delta.text;
        }
    }
    parser.finish();
    return texts;
}
Texts parse(std::string_view reply) {
    return parse(marked(reply));
}

// Every byte as a token of its own.
std::vector<TokenId> byteByByte(std::string_view text) {
    std::vector<TokenId> ids;
    for (const char c : text) tinyTokenizer().encodeText(std::string_view(&c, 1), ids);
    EXPECT_EQ(ids.size(), text.size());
    return ids;
}

std::vector<TokenId> answerOf(const std::vector<TokenId>& body) {
    std::vector<TokenId> ids = marked(" to=user<|message|>");
    ids.insert(ids.end(), body.begin(), body.end());
    return ids;
}

} // namespace

TEST(StreamParser, TheFirstHeaderComesWithoutItsBeginning) {
    EXPECT_EQ(parse(" to=self<|message|>Let me see.<|eom|><|start|>assistant "
                    "to=user<|message|>Yes.<|eot|>"),
              (Texts{"Let me see.", "Yes.", ""}));
}

TEST(StreamParser, OtherRecipientsAreTools) {
    EXPECT_EQ(parse(" to=fs.read<|message|><atem:function_calls>\n…<|eot|>"),
              (Texts{"", "", "<atem:function_calls>\n…"}));
    EXPECT_EQ(parse(" to=atem:function_calls<|message|>x<|eom|>").tool, "x");
    EXPECT_EQ(parse(" to=selfish<|message|>x").tool, "x");
}

TEST(StreamParser, ToleratesWhatModelsWrite) {
    EXPECT_EQ(parse("<|message|>Hi<|eot|>"), (Texts{"", "Hi", ""})) << "no recipient";
    EXPECT_EQ(parse(" to=user<|message|>Hi<|eom|>"), (Texts{"", "Hi", ""}))
        << "an answer ended with eom";
    EXPECT_EQ(parse("<|start|>assistant to=self<|message|>r<|eom|><|start|>assistant<|message|>Hi"),
              (Texts{"r", "Hi", ""}))
        << "a first header with its beginning";
    EXPECT_EQ(parse(" to=self<|message|>r<|start|>assistant to=user<|message|>Hi"),
              (Texts{"r", "Hi", ""}))
        << "a header inside a body";
    EXPECT_EQ(parse(" to=user<|message|>a<|message|>b"), (Texts{"", "ab", ""})) << "a stray marker";
    EXPECT_EQ(parse(" to=user<|message|>a<|patch|><|video|>b"), (Texts{"", "ab", ""}));
    EXPECT_EQ(parse("Hello"), (Texts{"", "Hello", ""})) << "no header at all";
    EXPECT_EQ(parse(" to=self I think"), (Texts{"I think", "", ""})) << "no <|message|>";
    EXPECT_EQ(parse(" to=self<|message|>r<|eom|>Hello"), (Texts{"r", "Hello", ""}));
    EXPECT_EQ(parse("<|start|>assistant Hello"), (Texts{"", "Hello", ""}));
    const std::string endless(1000, 'x');
    EXPECT_EQ(parse(" to=" + endless), (Texts{"", " to=" + endless, ""}))
        << "no recipient is so long";
    EXPECT_EQ(parse("<|eom|><|start|><|start|><|message|>"), (Texts{}));
}

TEST(StreamParser, TextThatSpellsAMarkerIsText) {
    auto ids = marked(" to=user<|message|>");
    tinyTokenizer().encodeText("Write <|eot|> and <|start|>assistant to=self<|message|> like this.",
                               ids);
    EXPECT_EQ(
        parse(ids),
        (Texts{"", "Write <|eot|> and <|start|>assistant to=self<|message|> like this.", ""}));
}

TEST(StreamParser, SeveralMessagesToOneRecipientAreParagraphs) {
    EXPECT_EQ(parse(" to=user<|message|>a<|eom|><|start|>assistant to=self<|message|>r<|eom|>"
                    "<|start|>assistant to=user<|message|>b<|eot|>"),
              (Texts{"r", "a\n\nb", ""}));
}

TEST(StreamParser, SaysWhereTheReplyStands) {
    StreamParser parser(tinyTokenizer());
    std::vector<TextDelta> deltas;
    const auto push = [&](std::string_view text) {
        for (const TokenId id : marked(text)) parser.push(id, deltas);
    };
    EXPECT_FALSE(parser.inBody());
    push(" to=self<|message|>");
    EXPECT_TRUE(parser.thinking());
    push("r<|eom|>");
    EXPECT_FALSE(parser.thinking());
    EXPECT_FALSE(parser.turnEnded()) << "<|eom|> ends no turn";
    push("<|start|>assistant to=user<|message|> \n");
    EXPECT_FALSE(parser.answerBegun()) << "no word yet";
    push("Yes");
    EXPECT_TRUE(parser.answerBegun());
    push("<|eot|>");
    EXPECT_TRUE(parser.turnEnded());
}

TEST(StreamParser, EveryByteAloneGivesWholeCharacters) {
    const std::string text = "👩‍👩‍👧‍👦 🇨🇭 क्षि नमस्ते שלום API عربي "
                             "API "
                             "هذا "
                             "شرح "
                             "日本語";
    const Texts texts = parse(answerOf(byteByByte(text)));
    EXPECT_EQ(texts.answer, text);
    EXPECT_EQ(texts.answer.find("\uFFFD"), std::string::npos);

    // One delta for each character, given out with its last byte.
    StreamParser parser(tinyTokenizer());
    std::vector<TextDelta> deltas;
    for (const TokenId id : answerOf(byteByByte("é"))) parser.push(id, deltas);
    ASSERT_EQ(deltas.size(), 1u);
    EXPECT_EQ(deltas[0].text, "é");
}

TEST(StreamParser, ReallyBadBytesBecomeTheReplacementCharacter) {
    EXPECT_EQ(parse(answerOf(byteByByte("a\x80z"))).answer, "a\uFFFDz");
    EXPECT_EQ(parse(answerOf(byteByByte("\xFF\xFE"))).answer, "\uFFFD\uFFFD");
    EXPECT_EQ(parse(answerOf(byteByByte("\xE2\x82z"))).answer, "\uFFFDz")
        << "a character that never ends";
    // The message's end makes an unfinished character bad; a cut does not.
    auto ended = answerOf(byteByByte("a\xF0\x9F\x91"));
    EXPECT_EQ(parse(ended).answer, "a") << "stopped in the middle of a character";
    ended.push_back(tinyTokenizer().special().eot);
    EXPECT_EQ(parse(ended).answer, "a\uFFFD");
}

TEST(StreamParser, GoesOnInTheMiddleOfACharacter) {
    const std::vector<TokenId> bytes = byteByByte("a👩");
    const std::vector<TokenId> whole = answerOf(bytes);
    for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
        const std::vector<TokenId> prefix(whole.begin(),
                                          whole.begin() + static_cast<std::ptrdiff_t>(cut));
        std::string text = parse(prefix).answer;
        StreamParser parser(tinyTokenizer(), prefix);
        std::vector<TextDelta> deltas;
        for (std::size_t i = cut; i < whole.size(); ++i) parser.push(whole[i], deltas);
        for (const TextDelta& delta : deltas) text += delta.text;
        EXPECT_EQ(text, "a👩") << "cut at " << cut;
    }
}

TEST(StreamParser, AnyIdsGiveValidTextAndTheSameInAnyBatch) {
    const unsigned seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    const SpecialTokens& special = tinyTokenizer().special();
    const std::vector<TokenId> markers = {special.start, special.message, special.eom,
                                          special.eot,   special.patch,   special.endOfText};
    for (int round = 0; round < 1000; ++round) {
        std::vector<TokenId> ids(random() % 40);
        for (TokenId& id : ids) {
            switch (random() % 4) {
            case 0: id = markers[random() % markers.size()]; break;
            case 1: id = static_cast<TokenId>(random()); break; // mostly outside the vocabulary
            default: id = static_cast<TokenId>(random() % tinyTokenizer().size());
            }
        }
        const Texts alone = parse(ids);
        StreamParser parser(tinyTokenizer());
        std::vector<TextDelta> all;
        for (const TokenId id : ids) parser.push(id, all);
        Texts together;
        for (const TextDelta& d : all) {
            (d.channel == Channel::Thinking ? together.thinking
             : d.channel == Channel::Answer ? together.answer
                                            : together.tool) += d.text;
        }
        ASSERT_EQ(alone, together);
    }
}

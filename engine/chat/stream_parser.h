#pragma once
// Token ids in; thinking, answer and tool text out, by message recipient (the "Chat form" of
// tests/fixtures/oracle/README.md). Works on ids, so text that merely spells a marker is text.
// Gives out whole UTF-8 characters only: the bytes of an unfinished one wait for the rest.
//
// Tolerates what models do write: a header without a recipient or without <|message|>, answers
// ended with
// <|eom|>, a header inside a body, markers where none belong. Bytes that can be no UTF-8 become
// U+FFFD.

#include "engine/chat/turn_event.h"
#include "engine/token/special_tokens.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace engine {

class Tokenizer;

class StreamParser {
public:
    // replyPrefix: Prompt::replyPrefix, what already stands of the reply; gives no text again.
    explicit StreamParser(const Tokenizer& tokenizer, std::span<const TokenId> replyPrefix = {});

    // Appends what can be said now; joined to out.back() where that is of the same channel.
    void push(TokenId id, std::vector<TextDelta>& out);
    // No more ids come. A character cut in the middle is dropped: it is not bad, only unfinished.
    void finish();

    bool turnEnded() const { return m_turnEnded; } // <|eot|> or <|end_of_text|> was pushed
    // The answer has its first word; until then a limit came "while thinking".
    bool answerBegun() const { return m_answerBegun; }
    // Inside a message, whose channel() then is to be asked; otherwise before or within a header.
    bool inBody() const { return m_inBody; }
    Channel channel() const { return m_channel; }
    bool thinking() const { return m_inBody && m_channel == Channel::Thinking; }

private:
    void header(std::string_view bytes, std::vector<TextDelta>& out);
    void openBody(std::string_view recipient);
    void body(std::string_view bytes, std::vector<TextDelta>& out);
    void endMessage(std::vector<TextDelta>& out);
    void emit(std::string text, std::vector<TextDelta>& out);

    const Tokenizer& m_tokenizer;
    bool m_inBody = false;
    bool m_afterStart = false; // <|start|> was seen, so the header begins with a role
    bool m_turnEnded = false;
    bool m_answerBegun = false;
    Channel m_channel = Channel::Answer;
    std::string m_header;  // text of the header so far
    std::string m_pending; // first bytes of an unfinished character
    bool m_channelHasText[3] = {};
    bool m_bodyHasText = false;
};

} // namespace engine

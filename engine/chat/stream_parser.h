#pragma once
// Token ids in; thinking, answer and tool text out, by message recipient (fact page §3.4). Works on ids, so
// text that merely spells a marker is text. Gives out whole UTF-8 characters only: the bytes of an
// unfinished one wait for the rest.
//
// Tolerates what models do write: a header without a recipient or without <|message|>, answers ended with
// <|eom|>, a header inside a body, markers where none belong. Bytes that can be no UTF-8 become U+FFFD.

#include "engine/chat/turn_event.h"
#include "engine/token/special_tokens.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace engine {

class Tokenizer;

class StreamParser {
public:
    // replyPrefix: Prompt::replyPrefix, what already stands of the reply; gives no text again.
    explicit StreamParser(const Tokenizer& tokenizer, std::span<const TokenId> replyPrefix = {});

    // Appends what can be said now. Deltas of one call differ in channel from their neighbours.
    void push(TokenId id, std::vector<TextDelta>& out);
    // No more ids come. A character cut in the middle is dropped: it is not bad, only unfinished.
    void finish(std::vector<TextDelta>& out);

    bool turnEnded() const { return m_turnEnded; }     // <|eot|> or <|end_of_text|> was pushed
    bool answerBegun() const { return m_answerBegun; } // the answer has text; else a limit came "while thinking"
    // Between the first id of a message to "self" and its end.
    bool thinking() const { return m_inBody && m_channel == Channel::Thinking; }

private:
    void text(std::string_view bytes, std::vector<TextDelta>& out);
    void openBody(std::vector<TextDelta>& out);
    void endMessage(std::vector<TextDelta>& out);
    void emit(std::string_view whole, std::vector<TextDelta>& out);

    const Tokenizer& m_tokenizer;
    bool m_inBody = false;
    bool m_laterHeader = false; // after <|start|>, so the role's name comes first
    bool m_turnEnded = false;
    bool m_answerBegun = false;
    Channel m_channel = Channel::Answer;
    std::string m_header;       // text of the header so far
    std::string m_pending;      // first bytes of an unfinished character
    bool m_channelHasText[3] = {};
    bool m_newBody = false;     // nothing of this body was given out yet
};

} // namespace engine

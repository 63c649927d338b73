#pragma once
// The ids that the model wrote for a reply, read back so that a later prompt can hold exactly them:
// then the caches that were built while writing stay valid. They come from a database and are
// checked.

#include "engine/token/special_tokens.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace engine {

class Tokenizer;

struct ReplyIds {
    // Where the ids stop, a marker that ended the turn aside.
    enum class End {
        Thinking,      // inside a message to "self"
        AfterThinking, // behind one, before the next header
        Answer,        // inside a message to someone else or behind one
    };
    End end = End::Answer;
    bool turnEnded = false; // by the model
    // What follows <|start|>assistant, without the marker that ended the turn or, at End::Answer,
    // the message, and without a header that was only begun.
    std::vector<TokenId> ids;
    std::string thinking; // the text of the ids as StreamParser gives it
    std::string answer;
    // The body of the answer, when the reply has one message to the user and it is the last.
    std::optional<std::vector<TokenId>> onlyAnswer;
};

// nullopt when the ids are none of a sound reply: outside the vocabulary, markers where none
// belong, anything after the end of the turn, or not even one message begun.
std::optional<ReplyIds> readReplyIds(std::span<const TokenId> ids, const Tokenizer& tokenizer);

} // namespace engine

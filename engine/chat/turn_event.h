#pragma once
// TurnEvent: what a session gives back while it reads a prompt and writes an answer. Values; they
// cross threads by copy.

#include "engine/chat/conversation.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace engine {

enum class FinishReason {
    Stop,                // the model ended its turn
    Length,              // the token limit or the end of the context
    LengthWhileThinking, // the same, before the answer began
    Cancelled,
};

// "stop", "length", "length_while_thinking", "cancelled"
std::string_view finishWord(FinishReason reason);

struct LookingAtPicture { // encoding picture `index` of `count`, both from 1
    int index = 0;
    int count = 0;
};

struct Reading { // tokens of the prompt read so far, without those found in the cache
    int done = 0;
    int total = 0;
    int cached = 0;       // tokens that were not read again
    std::string whyAgain; // not empty: earlier text must be read again, and why
};

enum class Channel { Thinking, Answer, Tool };

struct TextDelta { // whole UTF-8 characters only
    Channel channel = Channel::Answer;
    std::string text;
};

struct Progress { // once per cycle while writing
    int writtenTokens = 0;
    int draftedTokens = 0;
    int acceptedTokens = 0;
    int cycles = 0;
    double writeSeconds = 0;
    int contextTokens = 0; // in the cache now
    bool draftingPaused = false;
    double gain = 0; // speed against no drafting, measured; 0: not known yet
};

struct TurnFinished {
    FinishReason reason = FinishReason::Stop;
    AnswerFigures figures;
    std::vector<std::int32_t> ids; // all ids written, special ones included
};

using TurnEvent = std::variant<LookingAtPicture, Reading, TextDelta, Progress, TurnFinished>;

} // namespace engine

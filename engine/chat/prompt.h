#pragma once
// What a session reads: token ids, with the places that pictures take.

#include "engine/model/image.h"
#include "engine/token/special_tokens.h" // TokenId

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace engine {

struct ImageSlot {
    std::int64_t firstToken = 0; // index in Prompt::ids of its first <|patch|>
    std::int64_t tokens = 0;     // number of <|patch|> ids, one per embedding row
    std::string key;             // equal keys mean equal pictures; rows are cached by it
    std::shared_ptr<const RgbImage> image;
};

struct Prompt {
    std::vector<TokenId> ids;
    std::vector<ImageSlot> images; // ascending
    // Token indices at which a user's turn begins: where a session keeps snapshots, since "Try
    // again" and editing return there. Ascending; the last one belongs to the message to be
    // answered.
    std::vector<std::int64_t> turnStarts;
    // When an unfinished reply goes on: what stands of it already, that is, the last ids of `ids`,
    // after
    // <|start|>assistant. A StreamParser starts from it, and the whole reply is replyPrefix
    // followed by TurnFinished::ids (what GeneratedIds keeps). Empty for a new reply.
    std::vector<TokenId> replyPrefix;
};

} // namespace engine

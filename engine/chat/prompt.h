#pragma once
// What a session reads: token ids, with the places that pictures take.

#include "engine/model/image.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace engine {

using TokenId = std::int32_t;

struct ImageSlot {
    std::int64_t firstToken = 0; // index in Prompt::ids of its first <|patch|>
    std::int64_t tokens = 0;     // number of <|patch|> ids, one per embedding row
    std::string key;             // equal keys mean equal pictures; rows are cached by it
    std::shared_ptr<const RgbImage> image;
};

struct Prompt {
    std::vector<TokenId> ids;
    std::vector<ImageSlot> images; // ascending
    // Token indices at which a user's turn begins: where a session keeps snapshots, since "Try again" and
    // editing return there. Ascending; the last one belongs to the message to be answered.
    std::vector<std::int64_t> turnStarts;
};

} // namespace engine

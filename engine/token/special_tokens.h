#pragma once
// The markers of the chat format, found in the vocabulary by their literal text. They exist only as
// ids: no text that a person, a file or a model wrote is ever turned into one.

#include "engine/base/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace engine {

using TokenId = std::int32_t;
inline constexpr TokenId kNoToken = -1;

// The size of the released vocabulary. A vocabulary of this size must carry the released ids.
inline constexpr std::int64_t kReleasedVocabulary = 202'048;

struct SpecialTokens {
    // Required.
    TokenId beginOfText = kNoToken; // <|begin_of_text|>
    TokenId endOfText = kNoToken;   // <|end_of_text|>  ends a turn
    TokenId eom = kNoToken;         // <|eom|>          ends a message, the turn goes on
    TokenId eot = kNoToken;         // <|eot|>          ends a turn
    TokenId start = kNoToken;       // <|start|>        opens a header
    TokenId message = kNoToken;     // <|message|>      closes a header
    // kNoToken where the vocabulary has none: then pictures cannot be shown to the model.
    TokenId imageStart = kNoToken; // <|image_start|>
    TokenId imageEnd = kNoToken;   // <|image_end|>
    TokenId patch = kNoToken;      // <|patch|>, one per embedding row of a picture
    TokenId video = kNoToken;      // <|video|>
    TokenId pad = kNoToken;        // <|finetune_right_pad|> or <|pad|>
    // The drafter's mask is not here: its id comes from the drafter's metadata
    // (DraftSpec::maskToken).

    bool endsTurn(TokenId id) const { return id == eot || id == endOfText; }
    bool hasPictures() const {
        return imageStart != kNoToken && imageEnd != kNoToken && patch != kNoToken;
    }

    // tokens: the whole vocabulary as stored. InvalidFile when a required marker is missing, or
    // when a vocabulary of the released size has one at another id than the release.
    static Result<SpecialTokens> find(std::span<const std::string_view> tokens);
};

} // namespace engine

#include "engine/token/special_tokens.h"

#include <unordered_map>

namespace engine {

namespace {

struct Marker {
    std::string_view text;
    TokenId releasedId;
    TokenId SpecialTokens::*place;
    bool required;
};

constexpr Marker kMarkers[] = {
    {"<|begin_of_text|>", 200000, &SpecialTokens::beginOfText, true},
    {"<|end_of_text|>", 200001, &SpecialTokens::endOfText, true},
    {"<|eom|>", 200007, &SpecialTokens::eom, true},
    {"<|eot|>", 200008, &SpecialTokens::eot, true},
    {"<|start|>", 200022, &SpecialTokens::start, true},
    {"<|message|>", 200023, &SpecialTokens::message, true},
    {"<|image_start|>", 200080, &SpecialTokens::imageStart, false},
    {"<|image_end|>", 200081, &SpecialTokens::imageEnd, false},
    {"<|patch|>", 200092, &SpecialTokens::patch, false},
    {"<|video|>", 200091, &SpecialTokens::video, false},
    {"<|finetune_right_pad|>", 200018, &SpecialTokens::pad, false},
};

} // namespace

Result<SpecialTokens> SpecialTokens::find(std::span<const std::string_view> tokens) {
    // Markers stand behind the words, so of two tokens with the same text the later one is the
    // marker.
    std::unordered_map<std::string_view, TokenId> ids;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i].starts_with("<|")) ids[tokens[i]] = static_cast<TokenId>(i);
    }
    const bool released = static_cast<std::int64_t>(tokens.size()) == kReleasedVocabulary;

    SpecialTokens special;
    for (const Marker& marker : kMarkers) {
        const auto found = ids.find(marker.text);
        if (found != ids.end()) special.*marker.place = found->second;
        const TokenId id = special.*marker.place;
        if (id == kNoToken && (marker.required || released)) {
            return Error{ErrorCode::InvalidFile,
                         "the vocabulary has no " + std::string(marker.text) + " token"};
        }
        if (released && id != marker.releasedId) {
            return Error{ErrorCode::InvalidFile,
                         "the token " + std::string(marker.text) + " has id " + std::to_string(id) +
                             " where the model has " + std::to_string(marker.releasedId)};
        }
    }
    if (special.pad == kNoToken) {
        if (const auto found = ids.find("<|pad|>"); found != ids.end()) special.pad = found->second;
    }
    return special;
}

} // namespace engine

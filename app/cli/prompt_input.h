#pragma once
// What a command reads as its prompt: --ids, --messages or --prompt, with the pictures of --image.

#include "app/cli/options.h"
#include "engine/base/result.h"
#include "engine/chat/prompt.h"
#include "engine/model/image.h"

#include <string>

namespace engine {
class Tokenizer;
struct VisionSpec;
} // namespace engine

namespace app {

struct PromptContext {
    const engine::Tokenizer* tokenizer = nullptr;
    const engine::VisionSpec* vision = nullptr; // null: no pictures
    std::string modelKey; // Engine::modelKey(); empty: replies are encoded from their text
    engine::AlphaRule alpha = engine::AlphaRule::LayOverWhite;
};

// Given ids are read as they are; the pictures take the runs of <|patch|> among them, in order.
// Otherwise the pictures stand before the text of the last message, as in the window. Reads
// --system, --strength, --date (today if absent) as well. Exactly one of the three sources is
// given.
engine::Result<engine::Prompt> readPrompt(const Options& options, const PromptContext& context);

} // namespace app

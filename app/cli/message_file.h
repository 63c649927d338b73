#pragma once
// Conversations as JSON files, in the form that chat interfaces share:
//   [{"role": "user", "content": "..."}, ...]   or   {"messages": [...]}
// content is a text, or parts {"type": "text", "text": "..."} and {"type": "image", "path": "..."};
// paths are relative to the file. Assistants may have "reasoning_content", "recipient", "end_turn"
// and "tool_calls", tools "name" or "tool_call_id". As in the model's own format, messages with
// other roles are left out, which is said on stderr.

#include "engine/base/result.h"
#include "engine/chat/prompt_builder.h"
#include "engine/model/image.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace app {

engine::Result<std::vector<engine::ChatMessage>>
readMessageFile(const std::filesystem::path& path,
                engine::AlphaRule alpha = engine::AlphaRule::LayOverWhite);

// The same from the file's text; `folder` is where pictures are looked for.
engine::Result<std::vector<engine::ChatMessage>>
parseMessages(std::string_view json, const std::filesystem::path& folder, engine::AlphaRule alpha);

} // namespace app

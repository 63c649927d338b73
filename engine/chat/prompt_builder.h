#pragma once
// Renders a conversation in the model's chat format (ATEM), in code and never by a template
// from a file. Markers are put down as ids and everything else is encoded as plain text, so nothing
// that a person typed, a file held or a model wrote can become a marker.
//
// Pure functions; any thread.

#include "engine/base/result.h"
#include "engine/chat/conversation.h"
#include "engine/chat/prompt.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace engine {

class Tokenizer;
struct VisionSpec;

enum class ChatRole { System, User, Assistant, Tool };

struct ChatPicture {
    std::shared_ptr<const RgbImage> image;
    std::string key; // equal keys mean equal pictures (the attachment's hash)
};
using ChatPart = std::variant<std::string, ChatPicture>;

struct ToolCall { // of an assistant; values already in their text form
    std::string name;
    std::vector<std::pair<std::string, std::string>> parameters;
};

struct ChatMessage {
    ChatRole role = ChatRole::User;
    std::vector<ChatPart> parts; // text and pictures in order; text is never trimmed
    std::string thinking;        // assistant only
    GeneratedIds generated;      // assistant only; used instead of text while both say the same

    // Only from message files; chats in the window have none of these.
    std::string recipient;       // assistant: to whom instead of "user"
    std::optional<bool> endTurn; // assistant: <|eot|> or <|eom|> instead of the rule
    std::vector<ToolCall> calls; // assistant: then the text is not rendered
    std::string toolName;        // tool

    static ChatMessage system(std::string text);
    static ChatMessage user(std::string text);
    static ChatMessage assistant(std::string text, std::string thinking = {});
};

enum class PromptEnd {
    NewReply,      // <|start|>assistant: the model writes the header itself
    ContinueReply, // the last message is an unfinished reply: goes on inside its last part
    AnswerNow,     // the last message is unfinished thinking: closes it and opens the answer
};

struct PromptRequest {
    std::vector<ChatMessage> messages; // no System among them: the default block stands first
    ThinkingStrength strength = ThinkingStrength::High;
    std::string date;         // "2026-08-15" for the default block; empty: no date line
    bool keepThinking = true; // of earlier replies; one that goes on always keeps its own
    PromptEnd end = PromptEnd::NewReply;
    std::string modelKey; // Engine::modelKey(): generated ids with another key are not used
};

// vision: of the projector in use, or null. Unsupported when a message has a picture and there is
// no vision part; Internal when `end` asks to continue and the last message is not an assistant's.
Result<Prompt> buildPrompt(const PromptRequest& request, const Tokenizer& tokenizer,
                           const VisionSpec* vision);

// The body of a system message: a caller's text (not trimmed) with the strength line if it has
// none, or, without one (nullopt), the default text. Both end with the line of recipients.
std::string systemText(const std::optional<std::string>& callersText, ThinkingStrength strength,
                       std::string_view date);

} // namespace engine

#include "app/cli/message_file.h"

#include "app/cli/options.h"
#include "engine/base/path_text.h"
#include "engine/base/utf8.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>
#include <memory>
#include <string>

namespace app {

using engine::ChatMessage;
using engine::ChatRole;
using engine::Error;
using engine::ErrorCode;
using engine::Result;
using Json = nlohmann::ordered_json;

namespace {

constexpr int kMaxDepth = 64; // of values in a tool call

Error bad(std::string message) {
    return {ErrorCode::InvalidFile, std::move(message)};
}

// The text under a key; empty when the key is absent or null.
Result<std::string> textOf(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return std::string();
    if (!found->is_string()) return bad("\"" + std::string(key) + "\" is not a text");
    return found->get<std::string>();
}

// JSON as the model was shown it: ", " and ": " between values, other characters than ASCII as they
// are.
Result<std::string> spacedJson(const Json& value, int depth = 0) {
    if (depth > kMaxDepth) return bad("a tool call's value is nested too deeply");
    if (!value.is_structured()) return value.dump();
    const bool object = value.is_object();
    std::string text(1, object ? '{' : '[');
    for (auto item = value.begin(); item != value.end(); ++item) {
        if (item != value.begin()) text += ", ";
        if (object) text += Json(item.key()).dump() + ": ";
        auto inner = spacedJson(*item, depth + 1);
        if (!inner) return inner;
        text += *inner;
    }
    return text + (object ? '}' : ']');
}

class Reader {
public:
    Reader(const std::filesystem::path& folder, engine::AlphaRule alpha)
        : m_folder(folder), m_alpha(alpha) {}

    Result<std::vector<ChatMessage>> read(const Json& list) {
        std::vector<ChatMessage> messages;
        for (std::size_t i = 0; i < list.size(); ++i) {
            ChatMessage message;
            auto known = readMessage(list[i], message);
            if (!known) return withContext(known.error(), "message " + std::to_string(i + 1));
            if (*known) messages.push_back(std::move(message));
        }
        return messages;
    }

private:
    // False: a role that the format leaves out.
    Result<bool> readMessage(const Json& json, ChatMessage& message) {
        if (!json.is_object()) return bad("is not an object with role and content");
        const auto role = textOf(json, "role");
        if (!role) return role.error();
        if (*role == "system")
            message.role = ChatRole::System;
        else if (*role == "user")
            message.role = ChatRole::User;
        else if (*role == "assistant")
            message.role = ChatRole::Assistant;
        else if (*role == "tool")
            message.role = ChatRole::Tool;
        else if (role->empty())
            return bad("has no role");
        else {
            std::fprintf(
                stderr,
                "glint-cli: a message of role \"%s\" is left out, as the model's format has it.\n",
                engine::printableUtf8(*role).c_str());
            return false;
        }
        if (auto content = readContent(json, message); !content) return content.error();
        if (message.role == ChatRole::Assistant) {
            if (auto extras = readAssistant(json, message); !extras) return extras.error();
        }
        if (message.role == ChatRole::Tool) {
            if (auto name = readToolName(json, message); !name) return name.error();
        }
        return true;
    }

    Result<void> readContent(const Json& json, ChatMessage& message) {
        const auto content = json.find("content");
        if (content == json.end() || content->is_null()) return {};
        if (content->is_string()) {
            message.parts.emplace_back(content->get<std::string>());
            return {};
        }
        if (!content->is_array()) return bad("\"content\" is neither a text nor a list of parts");
        for (const Json& part : *content) {
            if (!part.is_object()) return bad("a part of \"content\" is not an object");
            const auto type = textOf(part, "type");
            if (!type) return type.error();
            if (*type == "text") {
                auto text = textOf(part, "text");
                if (!text) return text.error();
                message.parts.emplace_back(std::move(*text));
            } else if (*type == "image") {
                if (auto picture = readPicture(part, message); !picture) return picture;
            } else {
                return bad("a part has type \"" + engine::printableUtf8(*type) +
                           "\"; text and image are known");
            }
        }
        return {};
    }

    Result<void> readPicture(const Json& part, ChatMessage& message) {
        if (message.role == ChatRole::System) return bad("a system message cannot hold a picture");
        const auto name = textOf(part, "path");
        if (!name) return name.error();
        if (name->empty()) return bad("a picture has no \"path\"");
        const std::filesystem::path path = m_folder / engine::pathFromUtf8(*name);
        auto image = engine::readImage(path, m_alpha);
        if (!image) return withContext(image.error(), engine::printableUtf8(*name, 200));
        message.parts.emplace_back(engine::ChatPicture{
            std::make_shared<const engine::RgbImage>(std::move(*image)), engine::pathToUtf8(path)});
        return {};
    }

    Result<void> readAssistant(const Json& json, ChatMessage& message) {
        auto thinking = textOf(json, "reasoning_content");
        if (!thinking) return thinking.error();
        message.thinking = std::move(*thinking);
        auto recipient = textOf(json, "recipient");
        if (!recipient) return recipient.error();
        message.recipient = std::move(*recipient);
        if (const auto end = json.find("end_turn"); end != json.end() && !end->is_null()) {
            if (!end->is_boolean()) return bad("\"end_turn\" is neither true nor false");
            message.endTurn = end->get<bool>();
        }
        const auto calls = json.find("tool_calls");
        if (calls == json.end() || calls->is_null()) return {};
        if (!calls->is_array()) return bad("\"tool_calls\" is not a list");
        for (const Json& call : *calls) {
            if (auto read = readCall(call, message); !read) return read;
        }
        return {};
    }

    Result<void> readCall(const Json& json, ChatMessage& message) {
        if (!json.is_object()) return bad("a tool call is not an object");
        const Json& function = json.contains("function") ? json["function"] : json;
        if (!function.is_object()) return bad("a tool call's function is not an object");
        engine::ToolCall call;
        auto name = textOf(function, "name");
        if (!name) return name.error();
        if (name->empty()) return bad("a tool call has no name");
        call.name = std::move(*name);
        const auto id = textOf(json, "id");
        if (!id) return id.error();
        if (!id->empty()) m_callNames[*id] = call.name;

        // Looked at where they stand: a copy would recurse as deep as the file nests them.
        Json held = Json::object();
        const auto found = function.find("arguments");
        const Json* arguments = found == function.end() ? &held : &*found;
        if (arguments->is_string()) {
            held = Json::parse(arguments->get_ref<const std::string&>(), nullptr, false);
            arguments = &held;
        }
        if (!arguments->is_object()) return bad("the arguments of a tool call are not an object");
        for (const auto& [key, value] : arguments->items()) {
            auto text = value.is_string() ? Result<std::string>(value.get<std::string>())
                                          : spacedJson(value);
            if (!text) return text.error();
            call.parameters.emplace_back(key, std::move(*text));
        }
        message.calls.push_back(std::move(call));
        return {};
    }

    // The name itself, else that of the call with this id, else the id.
    Result<void> readToolName(const Json& json, ChatMessage& message) {
        auto name = textOf(json, "name");
        if (!name) return name.error();
        const auto id = textOf(json, "tool_call_id");
        if (!id) return id.error();
        const auto called = m_callNames.find(*id);
        message.toolName = !name->empty()                ? *name
                           : called != m_callNames.end() ? called->second
                                                         : *id;
        return {};
    }

    const std::filesystem::path& m_folder;
    engine::AlphaRule m_alpha;
    std::map<std::string, std::string> m_callNames; // by id
};

} // namespace

Result<std::vector<ChatMessage>>
parseMessages(std::string_view text, const std::filesystem::path& folder, engine::AlphaRule alpha) {
    Json json;
    try {
        json = Json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
        return bad("is not JSON: something is wrong at byte " + std::to_string(error.byte));
    } catch (const nlohmann::json::out_of_range&) {
        return bad("holds a number that is too large");
    }
    const Json* list = &json;
    if (json.is_object()) {
        const auto found = json.find("messages");
        if (found == json.end()) return bad("has no \"messages\"");
        list = &*found;
    }
    if (!list->is_array()) return bad("is not a list of messages");
    return Reader(folder, alpha).read(*list);
}

Result<std::vector<ChatMessage>> readMessageFile(const std::filesystem::path& path,
                                                 engine::AlphaRule alpha) {
    const auto text = readTextFile(path);
    if (!text) return text.error();
    return parseMessages(*text, path.parent_path(), alpha).context(engine::pathToUtf8(path));
}

} // namespace app

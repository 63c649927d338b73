#include "engine/chat/prompt_builder.h"

#include "engine/chat/reply_ids.h"
#include "engine/model/image_patches.h"
#include "engine/model/spec.h"
#include "engine/token/tokenizer.h"

#include <algorithm>

namespace engine {

namespace {

constexpr std::string_view kDefaultText =
    "You are a helpful AI assistant.\nKnowledge cutoff: 2026-01-04.";
constexpr std::string_view kRecipients = "\n\n# Valid recipients: \"self\", \"user\".";

void replaceAll(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
}

std::string lowerAscii(std::string text) {
    for (char& c : text) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
}

std::string callText(const ToolCall& call) {
    std::string text = "<atem:function_calls>\n<atem:invoke name=\"" + call.name + "\">\n";
    for (const auto& [name, value] : call.parameters) {
        text += "<atem:parameter name=\"" + name + "\">" + value + "</atem:parameter>\n";
    }
    return text + "</atem:invoke>\n</atem:function_calls>";
}

std::string plainText(const ChatMessage& message) {
    std::string text;
    for (const ChatPart& part : message.parts) {
        if (const auto* piece = std::get_if<std::string>(&part)) text += *piece;
    }
    return text;
}

// Markers go in as ids, text is collected and encoded between them. Nothing else writes ids, but
// for those the model itself wrote.
class Writer {
public:
    Writer(const PromptRequest& request, const Tokenizer& tokenizer, const VisionSpec* vision)
        : m_request(request), m_tokenizer(tokenizer), m_special(tokenizer.special()),
          m_vision(vision) {}

    Result<Prompt> write() {
        marker(m_special.beginOfText);
        const auto& messages = m_request.messages;
        const bool hasSystem =
            std::any_of(messages.begin(), messages.end(),
                        [](const ChatMessage& m) { return m.role == ChatRole::System; });
        if (!hasSystem) system(std::nullopt);

        const bool goesOn = m_request.end != PromptEnd::NewReply;
        if (goesOn && (messages.empty() || messages.back().role != ChatRole::Assistant)) {
            return Error{ErrorCode::Internal, "there is no reply to continue"};
        }
        const std::size_t whole = messages.size() - (goesOn ? 1 : 0);
        for (std::size_t i = 0; i < whole; ++i) {
            const bool assistantNext =
                i + 1 < messages.size() && messages[i + 1].role == ChatRole::Assistant;
            if (auto written = message(messages[i], assistantNext); !written) {
                return std::move(written).context("message " + std::to_string(i + 1)).error();
            }
        }
        marker(m_special.start);
        text("assistant");
        flush();
        if (goesOn) unfinished(messages.back());
        return std::move(m_prompt);
    }

private:
    void flush() {
        m_tokenizer.encodeText(m_text, m_prompt.ids);
        m_text.clear();
    }
    void text(std::string_view piece) { m_text += piece; }
    void marker(TokenId id) {
        flush();
        m_prompt.ids.push_back(id);
    }
    void ids(std::span<const TokenId> own) {
        flush();
        m_prompt.ids.insert(m_prompt.ids.end(), own.begin(), own.end());
    }
    void open(std::string_view header) {
        marker(m_special.start);
        text(header);
        marker(m_special.message);
    }

    Result<void> picture(const ChatPicture& picture) {
        if (!m_vision) {
            return Error{ErrorCode::Unsupported,
                         "there is a picture, and no vision part is loaded to see it"};
        }
        if (!m_special.hasPictures()) {
            return Error{ErrorCode::Unsupported,
                         "the model's vocabulary has no markers for pictures"};
        }
        if (!picture.image || picture.image->width < 1 || picture.image->height < 1) {
            return Error{ErrorCode::Internal, "a picture without pixels"};
        }
        ImageSlot slot;
        slot.tokens = imageTokens({picture.image->width, picture.image->height}, *m_vision);
        slot.key = picture.key;
        slot.image = picture.image;
        marker(m_special.imageStart);
        slot.firstToken = static_cast<std::int64_t>(m_prompt.ids.size());
        m_prompt.ids.insert(m_prompt.ids.end(), static_cast<std::size_t>(slot.tokens),
                            m_special.patch);
        marker(m_special.imageEnd);
        m_prompt.images.push_back(std::move(slot));
        return {};
    }

    Result<void> parts(const ChatMessage& message) {
        for (const ChatPart& part : message.parts) {
            if (const auto* piece = std::get_if<std::string>(&part)) {
                text(*piece);
            } else if (auto written = picture(std::get<ChatPicture>(part)); !written) {
                return written;
            }
        }
        return {};
    }

    void system(const std::optional<std::string>& callersText) {
        open("system");
        text(systemText(callersText, m_request.strength, m_request.date));
        marker(m_special.eot);
    }

    Result<void> message(const ChatMessage& message, bool assistantNext) {
        switch (message.role) {
        case ChatRole::System: system(plainText(message)); return {};
        case ChatRole::User:
            flush();
            m_prompt.turnStarts.push_back(static_cast<std::int64_t>(m_prompt.ids.size()));
            open("user");
            if (auto written = parts(message); !written) return written;
            marker(m_special.eot);
            return {};
        case ChatRole::Tool:
            open("tool " + message.toolName);
            text("<tool_output name=\"" + message.toolName + "\">\n");
            if (auto written = parts(message); !written) return written;
            text("\n</tool_output>");
            marker(m_special.eot);
            return {};
        case ChatRole::Assistant: return assistant(message, assistantNext);
        }
        return {};
    }

    // The reply's own ids when they belong to this model and still say what the message says.
    std::optional<ReplyIds> ownIds(const ChatMessage& message) const {
        const GeneratedIds& generated = message.generated;
        if (generated.ids.empty() || m_request.modelKey.empty() ||
            generated.modelKey != m_request.modelKey || !message.calls.empty() ||
            !message.recipient.empty() || message.endTurn) {
            return std::nullopt;
        }
        auto reply = readReplyIds(generated.ids, m_tokenizer);
        if (!reply || reply->answer != plainText(message) || reply->thinking != message.thinking) {
            return std::nullopt;
        }
        return reply;
    }

    Result<void> assistant(const ChatMessage& message, bool assistantNext) {
        const bool think = m_request.keepThinking && !message.thinking.empty();
        if (const auto own = ownIds(message)) {
            if (think || message.thinking.empty()) {
                marker(m_special.start);
                text("assistant");
                ids(own->ids);
                close(*own);
                return {};
            }
            if (own->onlyAnswer) {
                open("assistant to=user");
                ids(*own->onlyAnswer);
                marker(m_special.eot);
                return {};
            }
        }
        if (think) {
            open("assistant to=self");
            text(message.thinking);
            marker(m_special.eom);
        }
        for (std::size_t i = 0; i < message.calls.size(); ++i) {
            const bool last = i + 1 == message.calls.size();
            open("assistant to=" + message.calls[i].name);
            text(callText(message.calls[i]));
            marker(last && !assistantNext ? m_special.eot : m_special.eom);
        }
        if (!message.calls.empty()) return {};

        const std::string recipient = message.recipient.empty() ? "user" : message.recipient;
        open("assistant to=" + recipient);
        if (auto written = parts(message); !written) return written;
        marker(message.endTurn.value_or(recipient == "user") ? m_special.eot : m_special.eom);
        return {};
    }

    // What a reply that was cut off lacks to be a whole turn.
    void close(const ReplyIds& own) {
        if (!own.turnEnded && own.end == ReplyIds::End::Thinking) marker(m_special.eom);
        if (!own.turnEnded && own.end != ReplyIds::End::Answer) open("assistant to=user");
        marker(m_special.eot);
    }

    void unfinished(const ChatMessage& message) {
        const std::size_t replyAt = m_prompt.ids.size();
        const bool answerNow = m_request.end == PromptEnd::AnswerNow;
        if (const auto own = ownIds(message)) {
            ids(own->ids);
            const bool thinking = own->end == ReplyIds::End::Thinking;
            if (answerNow && thinking) marker(m_special.eom);
            if (answerNow && (thinking || own->end == ReplyIds::End::AfterThinking)) {
                open("assistant to=user");
            }
        } else {
            const std::string answer = plainText(message);
            const bool answering = answerNow || !answer.empty();
            if (!message.thinking.empty()) {
                text(" to=self");
                marker(m_special.message);
                text(message.thinking);
                if (answering) {
                    marker(m_special.eom);
                    open("assistant to=user");
                }
            } else if (answering) {
                text(" to=user");
                marker(m_special.message);
            }
            if (answering) text(answer);
            flush();
        }
        m_prompt.replyPrefix.assign(m_prompt.ids.begin() + static_cast<std::ptrdiff_t>(replyAt),
                                    m_prompt.ids.end());
    }

    const PromptRequest& m_request;
    const Tokenizer& m_tokenizer;
    const SpecialTokens& m_special;
    const VisionSpec* m_vision;
    Prompt m_prompt;
    std::string m_text; // not encoded yet
};

} // namespace

ChatMessage ChatMessage::system(std::string text) {
    ChatMessage message;
    message.role = ChatRole::System;
    message.parts.emplace_back(std::move(text));
    return message;
}

ChatMessage ChatMessage::user(std::string text) {
    ChatMessage message;
    message.parts.emplace_back(std::move(text));
    return message;
}

ChatMessage ChatMessage::assistant(std::string text, std::string thinking) {
    ChatMessage message;
    message.role = ChatRole::Assistant;
    message.parts.emplace_back(std::move(text));
    message.thinking = std::move(thinking);
    return message;
}

std::string systemText(const std::optional<std::string>& callersText, ThinkingStrength strength,
                       std::string_view date) {
    std::string text;
    bool addStrength = true;
    if (callersText) {
        text = *callersText;
        replaceAll(text, "Reasoning effort", "Reasoning strength");
        replaceAll(text, "Reasoning Effort", "Reasoning Strength");
        replaceAll(text, "reasoning effort", "reasoning strength");
        replaceAll(text, "REASONING EFFORT", "REASONING STRENGTH");
        addStrength = lowerAscii(text).find("reasoning strength") == std::string::npos;
    } else {
        text = kDefaultText;
        if (!date.empty()) {
            text += "\nCurrent date: ";
            text += date;
            text += ".";
        }
    }
    if (addStrength) {
        text += "\n\nReasoning strength: ";
        text += strengthWord(strength);
        text += ".";
    }
    text += kRecipients;
    return text;
}

Result<Prompt> buildPrompt(const PromptRequest& request, const Tokenizer& tokenizer,
                           const VisionSpec* vision) {
    return Writer(request, tokenizer, vision).write();
}

} // namespace engine

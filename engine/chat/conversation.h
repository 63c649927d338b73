#pragma once
// The vocabulary that all rooms share: a conversation is a tree of messages with one active path.
// All text is UTF-8. Values only; nothing here knows a database, a widget or a model.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace engine {

enum class Role { User, Assistant };

enum class ThinkingStrength { Low, Medium, High, ExtraHigh };

// "low", "medium", "high", "xhigh": the word the model reads, and the word in files and on the
// command line.
std::string_view strengthWord(ThinkingStrength strength);
std::optional<ThinkingStrength> strengthFromWord(std::string_view word);

// How many words the drafter proposes: 0 (off) .. 15, or automatic.
struct DraftLength {
    static constexpr int kAutomatic = -1;
    static constexpr int kMax = 15;
    int tokens = kAutomatic;
    bool automatic() const { return tokens == kAutomatic; }
    bool operator==(const DraftLength&) const = default;
};

// A file that came with a message. The bytes lie in the store under their hash.
struct Attachment {
    std::string sha256; // lower-case hex
    std::string fileName;
    std::string mimeType;
    std::int64_t bytes = 0;
    int width = 0; // pixels, upright; 0 if not a picture
    int height = 0;
    bool operator==(const Attachment&) const = default;
};

enum class MessageState {
    Complete,
    Growing,            // being written
    Interrupted,        // the program ended before the answer did; found at the next start
    Stopped,            // by the person
    LengthReached,      // answer limit or full conversation
    EndedWhileThinking, // the limit came before the first word of the answer
    Failed,
};

// The ids the model itself wrote for a message, so that a later turn reads exactly those again and
// keeps its caches. Valid only for the model with this key; otherwise the text is encoded anew.
struct GeneratedIds {
    std::string modelKey;
    std::vector<std::int32_t> ids;
    bool operator==(const GeneratedIds&) const = default;
};

struct AnswerFigures { // of one answer; 0 where not available
    double thinkingSeconds = 0;
    double readSeconds = 0;
    double writeSeconds = 0;
    int promptTokens = 0;
    int readTokens = 0; // of promptTokens, those not found in the cache
    int writtenTokens = 0;
    int draftedTokens = 0;
    int acceptedTokens = 0;
    int cycles = 0;
    bool operator==(const AnswerFigures&) const = default;
};

struct Message {
    std::int64_t id = 0;       // 0: not stored yet
    std::int64_t parentId = 0; // 0: the conversation's first message. Versions are siblings.
    Role role = Role::User;
    std::string text;
    std::string thinking; // assistant only
    std::vector<Attachment> attachments;
    MessageState state = MessageState::Complete;
    std::int64_t createdMs = 0; // since 1970, UTC
    AnswerFigures figures;
    GeneratedIds generated;
    bool operator==(const Message&) const = default;
};

struct Conversation {
    std::int64_t id = 0;
    std::string title;
    std::string instructions; // the person's system text; empty: the default block
    ThinkingStrength strength = ThinkingStrength::High;
    DraftLength draftLength;
    std::vector<Message> messages; // all versions, any order
    std::int64_t activeLeafId = 0; // 0: empty

    // From the first message to the active leaf. Pointers into `messages`.
    std::vector<const Message*> activePath() const;
    // Siblings of the message (itself included) in order of creation: its versions.
    std::vector<const Message*> versions(std::int64_t messageId) const;
    const Message* find(std::int64_t messageId) const;
};

} // namespace engine

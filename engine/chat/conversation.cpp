#include "engine/chat/conversation.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace engine {

namespace {
constexpr std::array<std::string_view, 4> kStrengthWords = {"low", "medium", "high", "xhigh"};
} // namespace

std::string_view strengthWord(ThinkingStrength strength) {
    return kStrengthWords[static_cast<std::size_t>(strength)];
}

std::optional<ThinkingStrength> strengthFromWord(std::string_view word) {
    const auto found = std::find(kStrengthWords.begin(), kStrengthWords.end(), word);
    if (found == kStrengthWords.end()) return std::nullopt;
    return static_cast<ThinkingStrength>(found - kStrengthWords.begin());
}

std::vector<const Message*> Conversation::activePath() const {
    std::unordered_map<std::int64_t, const Message*> byId;
    byId.reserve(messages.size());
    for (const Message& message : messages) byId.emplace(message.id, &message);

    std::vector<const Message*> path;
    std::int64_t next = activeLeafId;
    // Stored trees are foreign too: a path cannot be longer than there are messages, so a circle
    // ends.
    while (next != 0 && path.size() < messages.size()) {
        const auto found = byId.find(next);
        if (found == byId.end()) break;
        path.push_back(found->second);
        next = found->second->parentId;
    }
    std::reverse(path.begin(), path.end());
    return path;
}

std::vector<const Message*> Conversation::versions(std::int64_t messageId) const {
    std::vector<const Message*> siblings;
    const Message* message = find(messageId);
    if (!message) return siblings;
    for (const Message& other : messages) {
        if (other.parentId == message->parentId && other.role == message->role)
            siblings.push_back(&other);
    }
    std::sort(siblings.begin(), siblings.end(), [](const Message* a, const Message* b) {
        return a->createdMs != b->createdMs ? a->createdMs < b->createdMs : a->id < b->id;
    });
    return siblings;
}

const Message* Conversation::find(std::int64_t messageId) const {
    for (const Message& message : messages) {
        if (message.id == messageId) return &message;
    }
    return nullptr;
}

} // namespace engine

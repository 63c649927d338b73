#pragma once
// The history: conversations, their messages as trees with versions, attachments by content hash,
// unsent text, trash. What is acknowledged is on the disk: every call is one transaction with full
// sync.
//
// Disk thread. All SQL of the program lies in app/store. Ids come from the caller (see newId), so
// that a message keeps its id whether or not it could be stored, and storing it again later is the
// same call.

#include "app/store/search.h"
#include "app/store/sqlite.h"
#include "engine/base/result.h"
#include "engine/chat/conversation.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace app {

// A time in microseconds since 1970, later than every id given before in this program. Any thread.
std::int64_t newId();
std::int64_t nowMs();

struct ChatSummary { // a row of the sidebar
    std::int64_t id = 0;
    std::string title;
    bool titleChosen = false; // by the person
    bool pinned = false;
    bool archived = false;
    bool unread = false;
    bool hasMessages = false;
    bool hasDraft = false;
    std::int64_t changedMs = 0;
    std::int64_t deletedMs = 0; // 0: not in the trash
    bool operator==(const ChatSummary&) const = default;
};

struct Draft { // what a person has typed and attached, and not sent
    std::string text;
    std::vector<std::string> pasted; // long pastes, each a chip of its own
    std::vector<engine::Attachment> attachments;
    bool empty() const { return text.empty() && pasted.empty() && attachments.empty(); }
    bool operator==(const Draft&) const = default;
};

struct StoredChat {
    engine::Conversation conversation;
    Draft draft;
};

// Everything of a chat but its messages and its draft.
struct ChatHeader {
    std::int64_t id = 0;
    std::string title;
    bool titleChosen = false;
    std::string instructions;
    engine::ThinkingStrength strength = engine::ThinkingStrength::High;
    engine::DraftLength draftLength;
};

enum class ChatFlag { Pinned, Archived, Unread };

class ConversationStore {
public:
    struct Opened {
        std::unique_ptr<ConversationStore> store;
        // Not empty: what lay at `path` was damaged or foreign and was renamed to this.
        std::filesystem::path setAside;
        int interruptedAnswers = 0; // found growing, now marked as interrupted
    };
    // Opens or creates the file, brings it to the newest version, checks it and marks interrupted
    // answers. A damaged or foreign file is kept under another name and a new one is begun; a newer
    // one is refused (Unsupported), as is one that another program holds (Io).
    static engine::Result<Opened> open(const std::filesystem::path& path);

    engine::Result<std::vector<ChatSummary>> chats();
    engine::Result<StoredChat> load(std::int64_t chatId);

    // Creates the chat or writes its header anew.
    engine::Result<void> saveHeader(const ChatHeader& header);
    // Creates the message or writes it anew, and makes it the active leaf. Its attachments' bytes
    // must be there already. sentDraft: the message was the chat's draft, which is emptied in the
    // same transaction.
    engine::Result<void> saveMessage(std::int64_t chatId, const engine::Message& message,
                                     bool sentDraft);
    // The growing or finished answer: text, thinking, state, figures, ids. The active leaf stays.
    engine::Result<void> saveAnswer(const engine::Message& message);
    engine::Result<void> setActiveLeaf(std::int64_t chatId, std::int64_t messageId);
    engine::Result<void> setFlag(std::int64_t chatId, ChatFlag flag, bool on);
    engine::Result<void> saveDraft(std::int64_t chatId, const Draft& draft);

    engine::Result<void> moveToTrash(std::int64_t chatId);
    engine::Result<void> restoreFromTrash(std::int64_t chatId);
    // Only those that are in the trash.
    engine::Result<void> deleteForever(std::span<const std::int64_t> chatIds);

    // Keeps the bytes under their hash and returns it. The same bytes are kept once.
    engine::Result<std::string> saveBytes(std::span<const std::byte> bytes);
    engine::Result<std::vector<std::byte>> bytes(std::string_view sha256);

    engine::Result<std::vector<SearchHit>> search(std::string_view words,
                                                  const SearchOptions& options);

    // A consistent copy in a new file, made beside `path` and renamed when it is whole.
    engine::Result<void> backUp(const std::filesystem::path& path);
    // Error: what SQLite's own check of the whole file found.
    engine::Result<void> checkIntegrity();

private:
    explicit ConversationStore(Database database) : m_database(std::move(database)) {}
    static engine::Result<std::unique_ptr<ConversationStore>>
    openFile(const std::filesystem::path& path);
    engine::Result<int> markInterrupted();
    engine::Result<void> removeUnusedBytes();
    engine::Result<void> writeDraft(std::int64_t chatId, const Draft& draft);
    engine::Result<void> loadDraft(StoredChat& chat);

    Database m_database;
};

// Lower-case hex.
std::string sha256Of(std::span<const std::byte> bytes);

} // namespace app

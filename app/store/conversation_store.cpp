#include "app/store/conversation_store.h"

#include "app/store/message_rows.h"
#include "app/store/schema.h"

#include <QCryptographicHash>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <optional>

namespace app {

using engine::Attachment;
using engine::Error;
using engine::ErrorCode;
using engine::Message;
using engine::Result;

namespace {

namespace fs = std::filesystem;

// A file of up to this size is checked whole at every start (about a third of a second).
constexpr std::uintmax_t kAlwaysCheckedBytes = 256u << 20;
// SQLite's own limit for one value is a little below this.
constexpr std::size_t kMaxBlobBytes = 900u << 20;

// history.db, history.db-wal and history.db-shm become history-damaged-20261130-001500.db and so
// on, so that a tool for recovery finds them together.
Result<fs::path> setAside(const fs::path& path, std::string_view why) {
    const std::time_t now = std::time(nullptr);
    std::array<char, 32> stamp{};
    std::strftime(stamp.data(), stamp.size(), "%Y%m%d-%H%M%S", std::gmtime(&now));
    fs::path target;
    std::error_code failure;
    for (int attempt = 0; attempt < 100; ++attempt) {
        const std::string name = path.stem().string() + "-" + std::string(why) + "-" +
                                 stamp.data() + (attempt ? "-" + std::to_string(attempt) : "") +
                                 path.extension().string();
        target = path.parent_path() / name;
        if (!fs::exists(target, failure)) break;
    }
    for (const char* suffix : {"-wal", "-shm", ""}) {
        fs::path from = path, to = target;
        from += suffix;
        to += suffix;
        if (!fs::exists(from, failure)) continue;
        fs::rename(from, to, failure);
        if (failure)
            return Error{ErrorCode::Io, "renaming the damaged history: " + failure.message()};
    }
    return target;
}

} // namespace

std::int64_t nowMs() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::int64_t newId() {
    using namespace std::chrono;
    static std::atomic<std::int64_t> last{0};
    const std::int64_t now =
        duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
    std::int64_t before = last.load();
    while (!last.compare_exchange_weak(before, std::max(now, before + 1))) {
    }
    return std::max(now, before + 1);
}

std::string sha256Of(std::span<const std::byte> bytes) {
    QCryptographicHash hash(QCryptographicHash::Sha256);
    hash.addData(QByteArrayView(reinterpret_cast<const char*>(bytes.data()),
                                static_cast<qsizetype>(bytes.size())));
    return hash.result().toHex().toStdString();
}

Result<std::unique_ptr<ConversationStore>> ConversationStore::openFile(const fs::path& path) {
    Result<Database> database = Database::open(path);
    if (!database.ok()) return database.error();
    std::unique_ptr<ConversationStore> store(new ConversationStore(std::move(database.value())));
    if (Result<void> migrated = migrate(store->m_database); !migrated.ok()) return migrated.error();
    std::error_code failure;
    const std::uintmax_t bytes = fs::file_size(path, failure);
    if (!failure && bytes <= kAlwaysCheckedBytes) {
        if (Result<void> sound = store->checkIntegrity(); !sound.ok()) return sound.error();
    }
    return store;
}

Result<ConversationStore::Opened> ConversationStore::open(const fs::path& path) {
    Opened opened;
    std::error_code failure;
    fs::create_directories(path.parent_path(), failure);
    if (failure) return Error{ErrorCode::Io, "making the data folder: " + failure.message()};

    Result<std::unique_ptr<ConversationStore>> store = openFile(path);
    if (!store.ok() && store.error().code == ErrorCode::InvalidFile) {
        Result<fs::path> kept = setAside(path, "damaged");
        if (!kept.ok()) return kept.error();
        opened.setAside = kept.value();
        store = openFile(path);
    }
    if (!store.ok()) return store.error();
    opened.store = std::move(store.value());

    Result<int> interrupted = opened.store->markInterrupted();
    if (!interrupted.ok()) return interrupted.error();
    opened.interruptedAnswers = interrupted.value();
    if (Result<void> done = opened.store->removeUnusedBytes(); !done.ok()) return done.error();
    return opened;
}

Result<int> ConversationStore::markInterrupted() {
    if (Result<void> done =
            m_database.execute("UPDATE message SET state = 'interrupted' WHERE state = 'growing'");
        !done.ok()) {
        return done.error();
    }
    return static_cast<int>(m_database.changedRows());
}

// Pictures that were attached and removed again, and those of chats deleted for ever. Only at
// start, so that what was removed can still be undone.
Result<void> ConversationStore::removeUnusedBytes() {
    return m_database.execute(
        "DELETE FROM blob WHERE sha256 NOT IN (SELECT sha256 FROM message_attachment)"
        " AND sha256 NOT IN (SELECT sha256 FROM draft_attachment)");
}

Result<void> ConversationStore::checkIntegrity() {
    Result<Statement> check = m_database.prepare("PRAGMA quick_check(1)");
    if (!check.ok()) return check.error();
    const Result<bool> row = check->step();
    if (!row.ok()) return row.error();
    const std::string finding = row.value() ? check->text(0) : std::string();
    if (finding != "ok") return Error{ErrorCode::InvalidFile, "the history is damaged: " + finding};
    return {};
}

Result<std::vector<ChatSummary>> ConversationStore::chats() {
    Result<Statement> rows = m_database.prepare(R"(
        SELECT id, title, title_chosen, pinned, archived, unread, changed_ms, deleted_ms,
            EXISTS (SELECT 1 FROM message WHERE conversation_id = c.id),
            draft_text <> ''
                OR EXISTS (SELECT 1 FROM draft_attachment WHERE conversation_id = c.id)
                OR EXISTS (SELECT 1 FROM draft_paste WHERE conversation_id = c.id)
        FROM conversation c ORDER BY changed_ms DESC, id DESC)");
    if (!rows.ok()) return rows.error();
    std::vector<ChatSummary> chats;
    for (;;) {
        const Result<bool> row = rows->step();
        if (!row.ok()) return row.error();
        if (!row.value()) return chats;
        ChatSummary chat;
        chat.id = rows->integer(0);
        chat.title = rows->text(1);
        chat.titleChosen = rows->integer(2) != 0;
        chat.pinned = rows->integer(3) != 0;
        chat.archived = rows->integer(4) != 0;
        chat.unread = rows->integer(5) != 0;
        chat.changedMs = rows->integer(6);
        chat.deletedMs = rows->integer(7);
        chat.hasMessages = rows->integer(8) != 0;
        chat.hasDraft = rows->integer(9) != 0;
        chats.push_back(std::move(chat));
    }
}

Result<StoredChat> ConversationStore::load(std::int64_t chatId) {
    Result<Statement> row =
        m_database.prepare("SELECT title, instructions, strength, draft_length, active_leaf,"
                           " draft_text FROM conversation WHERE id = ?");
    if (!row.ok()) return row.error();
    const Result<bool> found = row->bind(chatId).step();
    if (!found.ok()) return found.error();
    if (!found.value()) return Error{ErrorCode::InvalidFile, "the chat is no longer there"};
    StoredChat chat;
    chat.conversation.id = chatId;
    chat.conversation.title = row->text(0);
    chat.conversation.instructions = row->text(1);
    chat.conversation.strength =
        engine::strengthFromWord(row->text(2)).value_or(engine::ThinkingStrength::High);
    const std::int64_t length = row->integer(3);
    const bool lengthKnown =
        length >= engine::DraftLength::kAutomatic && length <= engine::DraftLength::kMax;
    chat.conversation.draftLength.tokens =
        lengthKnown ? static_cast<int>(length) : engine::DraftLength::kAutomatic;
    chat.conversation.activeLeafId = row->integer(4);
    chat.draft.text = row->text(5);
    Result<std::vector<Message>> messages = readMessages(m_database, chatId);
    if (!messages.ok()) return messages.error();
    chat.conversation.messages = std::move(messages.value());
    if (Result<void> done = loadDraft(chat); !done.ok()) return done.error();
    return chat;
}

Result<void> ConversationStore::loadDraft(StoredChat& chat) {
    Result<Statement> pastes = m_database.prepare(
        "SELECT text FROM draft_paste WHERE conversation_id = ? ORDER BY position");
    if (!pastes.ok()) return pastes.error();
    pastes->bind(chat.conversation.id);
    for (;;) {
        const Result<bool> row = pastes->step();
        if (!row.ok()) return row.error();
        if (!row.value()) break;
        chat.draft.pasted.push_back(pastes->text(0));
    }
    Result<std::vector<Attachment>> attachments =
        readDraftAttachments(m_database, chat.conversation.id);
    if (!attachments.ok()) return attachments.error();
    chat.draft.attachments = std::move(attachments.value());
    return {};
}

Result<void> ConversationStore::saveHeader(const ChatHeader& header) {
    Result<Statement> write = m_database.prepare(R"(
        INSERT INTO conversation (
            id, title, title_chosen, instructions, strength, draft_length, changed_ms)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (id) DO UPDATE SET
            title = ?2, title_chosen = ?3, instructions = ?4, strength = ?5, draft_length = ?6)");
    if (!write.ok()) return write.error();
    return write->bind(header.id)
        .bind(header.title)
        .bind(std::int64_t(header.titleChosen))
        .bind(header.instructions)
        .bind(engine::strengthWord(header.strength))
        .bind(std::int64_t(header.draftLength.tokens))
        .bind(nowMs())
        .run();
}

Result<void> ConversationStore::saveMessage(std::int64_t chatId, const Message& message,
                                            bool sentDraft) {
    Result<Transaction> transaction = Transaction::begin(m_database);
    if (!transaction.ok()) return transaction.error();
    if (Result<void> done = writeMessageRow(m_database, chatId, message); !done.ok()) return done;
    if (Result<void> done =
            writeAttachments(m_database, AttachmentOwner::Message, message.id, message.attachments);
        !done.ok()) {
        return done;
    }
    if (sentDraft) {
        if (Result<void> done = writeDraft(chatId, {}); !done.ok()) return done;
    }
    Result<Statement> leaf =
        m_database.prepare("UPDATE conversation SET active_leaf = ?, changed_ms = ? WHERE id = ?");
    if (!leaf.ok()) return leaf.error();
    if (Result<void> done = leaf->bind(message.id).bind(nowMs()).bind(chatId).run(); !done.ok())
        return done;
    return transaction->commit();
}

Result<void> ConversationStore::saveAnswer(const Message& message) {
    Result<Statement> owner =
        m_database.prepare("SELECT conversation_id FROM message WHERE id = ?");
    if (!owner.ok()) return owner.error();
    const Result<bool> found = owner->bind(message.id).step();
    if (!found.ok()) return found.error();
    if (!found.value()) return {}; // deleted for ever while it grew
    return writeMessageRow(m_database, owner->integer(0), message);
}

Result<void> ConversationStore::setActiveLeaf(std::int64_t chatId, std::int64_t messageId) {
    Result<Statement> write =
        m_database.prepare("UPDATE conversation SET active_leaf = ? WHERE id = ?");
    if (!write.ok()) return write.error();
    return write->bind(messageId).bind(chatId).run();
}

Result<void> ConversationStore::setFlag(std::int64_t chatId, ChatFlag flag, bool on) {
    const char* column = flag == ChatFlag::Pinned     ? "pinned"
                         : flag == ChatFlag::Archived ? "archived"
                                                      : "unread";
    Result<Statement> write =
        m_database.prepare("UPDATE conversation SET " + std::string(column) + " = ? WHERE id = ?");
    if (!write.ok()) return write.error();
    return write->bind(std::int64_t(on)).bind(chatId).run();
}

Result<void> ConversationStore::saveDraft(std::int64_t chatId, const Draft& draft) {
    Result<Transaction> transaction = Transaction::begin(m_database);
    if (!transaction.ok()) return transaction.error();
    if (Result<void> done = writeDraft(chatId, draft); !done.ok()) return done;
    return transaction->commit();
}

Result<void> ConversationStore::writeDraft(std::int64_t chatId, const Draft& draft) {
    Result<Statement> write =
        m_database.prepare("UPDATE conversation SET draft_text = ? WHERE id = ?");
    if (!write.ok()) return write.error();
    if (Result<void> done = write->bind(draft.text).bind(chatId).run(); !done.ok()) return done;
    if (m_database.changedRows() == 0)
        return Error{ErrorCode::InvalidFile, "the chat is no longer there"};
    Result<Statement> removal =
        m_database.prepare("DELETE FROM draft_paste WHERE conversation_id = ?");
    if (!removal.ok()) return removal.error();
    if (Result<void> done = removal->bind(chatId).run(); !done.ok()) return done;
    Result<Statement> insert = m_database.prepare("INSERT INTO draft_paste VALUES (?, ?, ?)");
    if (!insert.ok()) return insert.error();
    for (std::size_t i = 0; i < draft.pasted.size(); ++i) {
        insert->bind(chatId).bind(static_cast<std::int64_t>(i)).bind(draft.pasted[i]);
        if (Result<void> done = insert->run(); !done.ok()) return done;
    }
    return writeAttachments(m_database, AttachmentOwner::Draft, chatId, draft.attachments);
}

Result<void> ConversationStore::moveToTrash(std::int64_t chatId) {
    Result<Statement> write =
        m_database.prepare("UPDATE conversation SET deleted_ms = ? WHERE id = ?");
    if (!write.ok()) return write.error();
    return write->bind(nowMs()).bind(chatId).run();
}

Result<void> ConversationStore::restoreFromTrash(std::int64_t chatId) {
    Result<Statement> write =
        m_database.prepare("UPDATE conversation SET deleted_ms = 0 WHERE id = ?");
    if (!write.ok()) return write.error();
    return write->bind(chatId).run();
}

Result<void> ConversationStore::deleteForever(std::span<const std::int64_t> chatIds) {
    Result<Transaction> transaction = Transaction::begin(m_database);
    if (!transaction.ok()) return transaction.error();
    Result<Statement> removal =
        m_database.prepare("DELETE FROM conversation WHERE id = ? AND deleted_ms <> 0");
    if (!removal.ok()) return removal.error();
    for (const std::int64_t id : chatIds) {
        if (Result<void> done = removal->bind(id).run(); !done.ok()) return done;
    }
    return transaction->commit();
}

Result<std::string> ConversationStore::saveBytes(std::span<const std::byte> bytes) {
    if (bytes.size() > kMaxBlobBytes)
        return Error{ErrorCode::Unsupported, "the file is larger than 900 MB"};
    std::string hash = sha256Of(bytes);
    Result<Statement> write =
        m_database.prepare("INSERT OR IGNORE INTO blob (sha256, bytes) VALUES (?, ?)");
    if (!write.ok()) return write.error();
    if (Result<void> done = write->bind(hash).bindBlob(bytes).run(); !done.ok())
        return done.error();
    return hash;
}

Result<std::vector<std::byte>> ConversationStore::bytes(std::string_view sha256) {
    Result<Statement> row = m_database.prepare("SELECT bytes FROM blob WHERE sha256 = ?");
    if (!row.ok()) return row.error();
    const Result<bool> found = row->bind(sha256).step();
    if (!found.ok()) return found.error();
    if (!found.value())
        return Error{ErrorCode::InvalidFile, "the attachment's bytes are not in the history"};
    return row->blob(0);
}

Result<std::vector<SearchHit>> ConversationStore::search(std::string_view words,
                                                         const SearchOptions& options) {
    return searchHistory(m_database, words, options);
}

Result<void> ConversationStore::backUp(const fs::path& path) {
    fs::path partial = path;
    partial += ".part";
    std::error_code failure;
    fs::remove(partial, failure);
    if (Result<void> copied = m_database.copyTo(partial); !copied.ok()) return copied;
    fs::rename(partial, path, failure);
    if (failure) return Error{ErrorCode::Io, "renaming the finished backup: " + failure.message()};
    return {};
}

} // namespace app

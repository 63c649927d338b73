#include "app/store/message_rows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace app {

using engine::Attachment;
using engine::Message;
using engine::MessageState;
using engine::Result;
using engine::Role;

namespace {

struct StateWord {
    MessageState state;
    std::string_view word;
};
constexpr std::array<StateWord, 7> kStates{
    {{MessageState::Complete, "complete"},
     {MessageState::Growing, "growing"},
     {MessageState::Interrupted, "interrupted"},
     {MessageState::Stopped, "stopped"},
     {MessageState::LengthReached, "length"},
     {MessageState::EndedWhileThinking, "length_while_thinking"},
     {MessageState::Failed, "failed"}}};

std::string_view stateWord(MessageState state) {
    return std::find_if(kStates.begin(), kStates.end(),
                        [&](const StateWord& s) { return s.state == state; })
        ->word;
}

MessageState stateFromWord(std::string_view word) {
    const auto found = std::find_if(kStates.begin(), kStates.end(),
                                    [&](const StateWord& s) { return s.word == word; });
    // A word that a person wrote into the file by hand: the text is shown as it is.
    return found == kStates.end() ? MessageState::Complete : found->state;
}

std::vector<std::byte> idBytes(const std::vector<std::int32_t>& ids) {
    std::vector<std::byte> bytes;
    bytes.reserve(ids.size() * 4);
    for (const std::int32_t id : ids) {
        const auto value = static_cast<std::uint32_t>(id);
        for (int shift = 0; shift < 32; shift += 8)
            bytes.push_back(static_cast<std::byte>(value >> shift));
    }
    return bytes;
}

std::vector<std::int32_t> idsFromBytes(std::span<const std::byte> bytes) {
    std::vector<std::int32_t> ids;
    ids.reserve(bytes.size() / 4);
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        std::uint32_t value = 0;
        for (std::size_t k = 0; k < 4; ++k)
            value |= std::to_integer<std::uint32_t>(bytes[i + k]) << (8 * k);
        ids.push_back(static_cast<std::int32_t>(value));
    }
    return ids;
}

// Columns from `first` on: sha256, file_name, mime_type, bytes, width, height.
Attachment attachmentAt(const Statement& row, int first) {
    Attachment a;
    a.sha256 = row.text(first);
    a.fileName = row.text(first + 1);
    a.mimeType = row.text(first + 2);
    a.bytes = row.integer(first + 3);
    a.width = static_cast<int>(row.integer(first + 4));
    a.height = static_cast<int>(row.integer(first + 5));
    return a;
}

// Columns as readMessages asks for them.
Message messageAt(const Statement& row) {
    Message m;
    m.id = row.integer(0);
    m.parentId = row.integer(1);
    m.role = row.text(2) == "user" ? Role::User : Role::Assistant;
    m.text = row.text(3);
    m.thinking = row.text(4);
    m.state = stateFromWord(row.text(5));
    m.createdMs = row.integer(6);
    m.figures.thinkingSeconds = row.real(7);
    m.figures.readSeconds = row.real(8);
    m.figures.writeSeconds = row.real(9);
    m.figures.promptTokens = static_cast<int>(row.integer(10));
    m.figures.readTokens = static_cast<int>(row.integer(11));
    m.figures.writtenTokens = static_cast<int>(row.integer(12));
    m.figures.draftedTokens = static_cast<int>(row.integer(13));
    m.figures.acceptedTokens = static_cast<int>(row.integer(14));
    m.figures.cycles = static_cast<int>(row.integer(15));
    m.generated.modelKey = row.text(16);
    m.generated.ids = idsFromBytes(row.blob(17));
    return m;
}

} // namespace

Result<void> writeMessageRow(Database& database, std::int64_t chatId, const Message& message) {
    Result<Statement> write = database.prepare(R"(
        INSERT INTO message (
            id, conversation_id, parent_id, role, text, thinking, file_names, state, created_ms,
            thinking_seconds, read_seconds, write_seconds, prompt_tokens, read_tokens,
            written_tokens, drafted_tokens, accepted_tokens, cycles, model_key, generated_ids)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
            ?19, ?20)
        ON CONFLICT (id) DO UPDATE SET
            text = ?5, thinking = ?6, state = ?8, thinking_seconds = ?10, read_seconds = ?11,
            write_seconds = ?12, prompt_tokens = ?13, read_tokens = ?14, written_tokens = ?15,
            drafted_tokens = ?16, accepted_tokens = ?17, cycles = ?18, model_key = ?19,
            generated_ids = ?20)");
    if (!write.ok()) return write.error();
    std::string fileNames;
    for (const Attachment& attachment : message.attachments)
        fileNames += attachment.fileName + "\n";
    const engine::AnswerFigures& f = message.figures;
    return write->bind(message.id)
        .bind(chatId)
        .bind(message.parentId)
        .bind(std::string_view(message.role == Role::User ? "user" : "assistant"))
        .bind(message.text)
        .bind(message.thinking)
        .bind(fileNames)
        .bind(stateWord(message.state))
        .bind(message.createdMs)
        .bind(f.thinkingSeconds)
        .bind(f.readSeconds)
        .bind(f.writeSeconds)
        .bind(std::int64_t(f.promptTokens))
        .bind(std::int64_t(f.readTokens))
        .bind(std::int64_t(f.writtenTokens))
        .bind(std::int64_t(f.draftedTokens))
        .bind(std::int64_t(f.acceptedTokens))
        .bind(std::int64_t(f.cycles))
        .bind(message.generated.modelKey)
        .bindBlob(idBytes(message.generated.ids))
        .run();
}

Result<std::vector<Message>> readMessages(Database& database, std::int64_t chatId) {
    Result<Statement> rows = database.prepare(R"(
        SELECT id, parent_id, role, text, thinking, state, created_ms, thinking_seconds,
            read_seconds, write_seconds, prompt_tokens, read_tokens, written_tokens,
            drafted_tokens, accepted_tokens, cycles, model_key, generated_ids
        FROM message WHERE conversation_id = ? ORDER BY id)");
    if (!rows.ok()) return rows.error();
    rows->bind(chatId);
    std::vector<Message> messages;
    for (;;) {
        const Result<bool> row = rows->step();
        if (!row.ok()) return row.error();
        if (!row.value()) break;
        messages.push_back(messageAt(*rows));
    }
    Result<Statement> files = database.prepare(R"(
        SELECT a.message_id, a.sha256, a.file_name, a.mime_type, a.bytes, a.width, a.height
        FROM message_attachment a JOIN message m ON m.id = a.message_id
        WHERE m.conversation_id = ? ORDER BY a.message_id, a.position)");
    if (!files.ok()) return files.error();
    files->bind(chatId);
    for (;;) {
        const Result<bool> row = files->step();
        if (!row.ok()) return row.error();
        if (!row.value()) return messages;
        const auto owner =
            std::lower_bound(messages.begin(), messages.end(), files->integer(0),
                             [](const Message& m, std::int64_t id) { return m.id < id; });
        if (owner != messages.end()) owner->attachments.push_back(attachmentAt(*files, 1));
    }
}

Result<void> writeAttachments(Database& database, AttachmentOwner owner, std::int64_t ownerId,
                              const std::vector<Attachment>& attachments) {
    const bool ofMessage = owner == AttachmentOwner::Message;
    Result<Statement> removal =
        database.prepare(ofMessage ? "DELETE FROM message_attachment WHERE message_id = ?"
                                   : "DELETE FROM draft_attachment WHERE conversation_id = ?");
    if (!removal.ok()) return removal.error();
    if (Result<void> done = removal->bind(ownerId).run(); !done.ok()) return done;
    Result<Statement> insert = database.prepare(
        ofMessage ? "INSERT INTO message_attachment VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                  : "INSERT INTO draft_attachment VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    if (!insert.ok()) return insert.error();
    for (std::size_t i = 0; i < attachments.size(); ++i) {
        const Attachment& a = attachments[i];
        insert->bind(ownerId).bind(static_cast<std::int64_t>(i));
        insert->bind(a.sha256).bind(a.fileName).bind(a.mimeType);
        insert->bind(a.bytes).bind(std::int64_t(a.width)).bind(std::int64_t(a.height));
        if (Result<void> done = insert->run(); !done.ok()) return done;
    }
    return {};
}

Result<std::vector<Attachment>> readDraftAttachments(Database& database, std::int64_t chatId) {
    Result<Statement> rows =
        database.prepare("SELECT sha256, file_name, mime_type, bytes, width, height"
                         " FROM draft_attachment WHERE conversation_id = ? ORDER BY position");
    if (!rows.ok()) return rows.error();
    rows->bind(chatId);
    std::vector<Attachment> attachments;
    for (;;) {
        const Result<bool> row = rows->step();
        if (!row.ok()) return row.error();
        if (!row.value()) return attachments;
        attachments.push_back(attachmentAt(*rows, 0));
    }
}

} // namespace app

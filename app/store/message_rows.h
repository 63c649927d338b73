#pragma once
// Messages and attachments as rows: how a value becomes columns and comes back.
//
// Disk thread; callers own the transaction.

#include "app/store/sqlite.h"
#include "engine/base/result.h"
#include "engine/chat/conversation.h"

#include <cstdint>
#include <vector>

namespace app {

enum class AttachmentOwner { Message, Draft };

// Creates the row or writes it anew, without its attachments.
engine::Result<void> writeMessageRow(Database& database, std::int64_t chatId,
                                     const engine::Message& message);
// All versions, ascending by id, with their attachments.
engine::Result<std::vector<engine::Message>> readMessages(Database& database, std::int64_t chatId);

// Replaces the owner's list. Fails if the bytes of one are not there.
engine::Result<void> writeAttachments(Database& database, AttachmentOwner owner,
                                      std::int64_t ownerId,
                                      const std::vector<engine::Attachment>& attachments);
engine::Result<std::vector<engine::Attachment>> readDraftAttachments(Database& database,
                                                                     std::int64_t chatId);

} // namespace app

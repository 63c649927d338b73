#pragma once
// A chat in memory, and what can be said of it without a database, a widget or a model. The open
// chat and the one whose answer grows are shared by the controllers on the GUI thread; nobody else
// sees them.

#include "app/store/conversation_store.h"
#include "engine/chat/conversation.h"
#include "ui/composer.h"

#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace app {

struct Chat {
    engine::Conversation conversation;
    bool titleChosen = false;
    bool stored = false; // its header was handed to the store
    ui::Draft typed;     // what the composer holds, or held when another chat was opened
    // Sent while its answer is being written; goes out when that has ended.
    std::optional<ui::Draft> queued;
    Draft draft; // all that is unsent, as last handed to the store
    // While an earlier message is asked anew. If nothing comes of it, what was shown before comes
    // back.
    struct Earlier {
        qint64 leafId = 0; // 0: nothing was asked anew
        qint64 edited = 0; // the message that got a new version, 0 if its answer did
    } earlier;

    qint64 id() const { return conversation.id; }
    engine::Message* find(qint64 messageId);
};
using ChatPtr = std::shared_ptr<Chat>;

ChatHeader headerOf(const Chat& chat);

// The first words of a first message, at most about forty characters, cut between words.
QString titleFromText(const QString& text);

// The newest path through this message: from it down to a leaf, always the latest version.
qint64 latestLeafBelow(const engine::Conversation& conversation, qint64 messageId);

// From the first message to this one, which need not lie on the active path. Pointers into
// `messages`.
std::vector<const engine::Message*> pathTo(const engine::Conversation& conversation,
                                           qint64 messageId);

// The last message of the active path; null in an empty chat.
const engine::Message* activeLeaf(const engine::Conversation& conversation);

// Everything that is unsent in this chat.
Draft unsentOf(const Chat& chat);
Draft storedDraft(const ui::Draft& draft);
ui::Draft shownDraft(const Draft& draft);
ui::Draft joined(const ui::Draft& first, const ui::Draft& second);

} // namespace app

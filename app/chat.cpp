#include "app/chat.h"

#include <QTextBoundaryFinder>

#include <algorithm>
#include <unordered_map>

namespace app {

using engine::Conversation;
using engine::Message;

Message* Chat::find(qint64 messageId) {
    const auto found = std::find_if(conversation.messages.begin(), conversation.messages.end(),
                                    [&](const Message& m) { return m.id == messageId; });
    return found == conversation.messages.end() ? nullptr : &*found;
}

ChatHeader headerOf(const Chat& chat) {
    const Conversation& c = chat.conversation;
    return {c.id, c.title, chat.titleChosen, c.instructions, c.strength, c.draftLength};
}

QString titleFromText(const QString& text) {
    constexpr qsizetype kMost = 40;
    const QString line = text.left(400).simplified();
    if (line.size() <= kMost) return line;
    QTextBoundaryFinder words(QTextBoundaryFinder::Word, line);
    words.setPosition(kMost);
    qsizetype cut = words.isAtBoundary() ? kMost : words.toPreviousBoundary();
    if (cut < kMost / 2) { // one long word, or text without spaces
        QTextBoundaryFinder letters(QTextBoundaryFinder::Grapheme, line);
        letters.setPosition(kMost);
        cut = letters.isAtBoundary() ? kMost : letters.toPreviousBoundary();
    }
    return line.left(cut).trimmed() + QChar(0x2026);
}

qint64 latestLeafBelow(const Conversation& conversation, qint64 messageId) {
    qint64 leaf = messageId;
    // As many steps as there are messages at most: a stored tree may hold a circle.
    for (std::size_t step = 0; step < conversation.messages.size(); ++step) {
        qint64 child = 0;
        for (const Message& message : conversation.messages) {
            if (message.parentId == leaf) child = std::max<qint64>(child, message.id);
        }
        if (child == 0) break;
        leaf = child;
    }
    return leaf;
}

std::vector<const Message*> pathTo(const Conversation& conversation, qint64 messageId) {
    std::unordered_map<qint64, const Message*> byId;
    for (const Message& message : conversation.messages) byId.emplace(message.id, &message);
    std::vector<const Message*> path;
    qint64 id = messageId;
    while (id != 0 && path.size() < conversation.messages.size()) {
        const auto found = byId.find(id);
        if (found == byId.end()) break;
        path.push_back(found->second);
        id = found->second->parentId;
    }
    std::reverse(path.begin(), path.end());
    return path;
}

const Message* activeLeaf(const Conversation& conversation) {
    return conversation.find(conversation.activeLeafId);
}

Draft unsentOf(const Chat& chat) {
    return storedDraft(chat.queued ? joined(*chat.queued, chat.typed) : chat.typed);
}

Draft storedDraft(const ui::Draft& draft) {
    Draft stored;
    stored.text = draft.text.toStdString();
    for (const QString& text : draft.pasted) stored.pasted.push_back(text.toStdString());
    stored.attachments = draft.attachments;
    return stored;
}

ui::Draft shownDraft(const Draft& draft) {
    ui::Draft shown;
    shown.text = QString::fromStdString(draft.text);
    for (const std::string& text : draft.pasted) shown.pasted.append(QString::fromStdString(text));
    shown.attachments = draft.attachments;
    return shown;
}

ui::Draft joined(const ui::Draft& first, const ui::Draft& second) {
    if (first.empty()) return second;
    ui::Draft both = first;
    if (!second.text.isEmpty()) {
        if (!both.text.isEmpty()) both.text += QStringLiteral("\n\n");
        both.text += second.text;
    }
    both.pasted += second.pasted;
    both.attachments.insert(both.attachments.end(), second.attachments.begin(),
                            second.attachments.end());
    return both;
}

} // namespace app

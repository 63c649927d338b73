#include "app/chat_list.h"

#include <QDateTime>
#include <QTimer>

#include <algorithm>

namespace app {

using engine::Result;

namespace {

ui::ChatEntry entryOf(const ChatSummary& chat, bool running) {
    ui::ChatEntry entry;
    entry.id = chat.id;
    entry.title = QString::fromStdString(chat.title);
    if (entry.title.isEmpty()) entry.title = ChatList::tr("New chat");
    entry.changed = QDateTime::fromMSecsSinceEpoch(chat.changedMs);
    entry.pinned = chat.pinned;
    entry.running = running;
    entry.unread = chat.unread;
    return entry;
}

// The first mark of the snippet becomes the mark of the line; the others are taken out.
ui::SearchHit hitOf(const SearchHit& hit) {
    ui::SearchHit shown;
    shown.chatId = hit.chatId;
    shown.messageId = hit.messageId;
    shown.chatTitle = QString::fromStdString(hit.title);
    bool first = true;
    for (const QChar c : QString::fromStdString(hit.snippet)) {
        if (c == QLatin1Char(kMarkBegin)) {
            if (first) shown.markStart = static_cast<int>(shown.line.size());
        } else if (c == QLatin1Char(kMarkEnd)) {
            if (first) shown.markLength = static_cast<int>(shown.line.size()) - shown.markStart;
            first = false;
        } else {
            shown.line += c == QLatin1Char('\n') ? QLatin1Char(' ') : c;
        }
    }
    return shown;
}

} // namespace

ChatList::ChatList(ui::Sidebar& sidebar, DiskWorker& disk, ChatSaver& saver, QObject* parent)
    : QObject(parent), m_sidebar(sidebar), m_disk(disk), m_saver(saver) {
    connect(&sidebar, &ui::Sidebar::searchWished, this, &ChatList::search);
    connect(&sidebar, &ui::Sidebar::pinWished, this, &ChatList::setPinned);
    connect(&sidebar, &ui::Sidebar::trashWished, this, &ChatList::moveToTrash);
    connect(&sidebar, &ui::Sidebar::restoreWished, this, &ChatList::restore);
    connect(&sidebar, &ui::Sidebar::deleteForeverWished, this, &ChatList::deleteForever);
    connect(&sidebar, &ui::Sidebar::trashShown, this, &ChatList::show);
    connect(&sidebar, &ui::Sidebar::renameWished, this, &ChatList::renamed);
}

void ChatList::setChats(std::vector<ChatSummary> chats) {
    m_chats = std::move(chats);
    show();
}

const ChatSummary* ChatList::find(qint64 chatId) const {
    const auto found = std::find_if(m_chats.begin(), m_chats.end(),
                                    [&](const ChatSummary& chat) { return chat.id == chatId; });
    return found == m_chats.end() ? nullptr : &*found;
}

ChatSummary* ChatList::findRow(qint64 chatId) {
    return const_cast<ChatSummary*>(std::as_const(*this).find(chatId));
}

void ChatList::update(const Chat& chat, bool changed) {
    ChatSummary* row = findRow(chat.id());
    if (!row) {
        m_chats.emplace_back();
        row = &m_chats.back();
        row->id = chat.id();
        row->changedMs = nowMs();
    }
    const ChatSummary before = *row;
    row->title = chat.conversation.title;
    row->titleChosen = chat.titleChosen;
    row->hasMessages = !chat.conversation.messages.empty();
    row->hasDraft = !chat.draft.empty() || chat.queued.has_value();
    if (changed) row->changedMs = nowMs();
    if (*row != before) showSoon();
}

void ChatList::setRunning(qint64 chatId, bool running) {
    if (m_running.contains(chatId) == running) return;
    if (running) {
        m_running.insert(chatId);
    } else {
        m_running.remove(chatId);
    }
    showSoon();
}

void ChatList::setUnread(qint64 chatId, bool unread) {
    ChatSummary* const row = findRow(chatId);
    if (!row || row->unread == unread) return;
    row->unread = unread;
    m_saver.flag(chatId, ChatFlag::Unread, unread);
    showSoon();
}

void ChatList::setPinned(qint64 chatId, bool pinned) {
    ChatSummary* const row = findRow(chatId);
    if (!row || row->pinned == pinned) return;
    row->pinned = pinned;
    m_saver.flag(chatId, ChatFlag::Pinned, pinned);
    showSoon();
}

void ChatList::moveToTrash(qint64 chatId) {
    ChatSummary* const row = findRow(chatId);
    if (!row || row->deletedMs != 0) return;
    row->deletedMs = nowMs();
    m_disk.askStore(
        this, [chatId](ConversationStore& store) { return store.moveToTrash(chatId); },
        [this](const Result<void>& result) {
            if (!result.ok()) emit failed(result.error());
        });
    m_sidebar.showUndo(chatId, QString::fromStdString(row->title));
    show();
    emit trashed(chatId);
}

void ChatList::restore(qint64 chatId) {
    ChatSummary* const row = findRow(chatId);
    if (!row || row->deletedMs == 0) return;
    row->deletedMs = 0;
    m_disk.askStore(
        this, [chatId](ConversationStore& store) { return store.restoreFromTrash(chatId); },
        [this](const Result<void>& result) {
            if (!result.ok()) emit failed(result.error());
        });
    show();
}

void ChatList::deleteForever(const QList<qint64>& chatIds) {
    m_disk.askStore(
        this,
        [ids = std::vector<std::int64_t>(chatIds.begin(), chatIds.end())](
            ConversationStore& store) { return store.deleteForever(ids); },
        [this, chatIds](const Result<void>& result) {
            if (!result.ok()) {
                emit failed(result.error());
                return;
            }
            std::erase_if(m_chats, [&](const ChatSummary& chat) {
                return chat.deletedMs != 0 && chatIds.contains(chat.id);
            });
            show();
        });
}

void ChatList::search(const QString& query) {
    SearchOptions options;
    options.thinking = m_searchThinking;
    m_disk.askStore(
        this,
        [words = query.toStdString(), options](ConversationStore& store) {
            return store.search(words, options);
        },
        [this, query](const Result<std::vector<SearchHit>>& result) {
            if (!result.ok()) {
                emit failed(result.error());
                return;
            }
            QList<ui::SearchHit> hits;
            for (const SearchHit& hit : result.value()) hits.append(hitOf(hit));
            m_sidebar.setHits(query, hits);
        });
}

void ChatList::showSoon() {
    if (m_showPending) return;
    m_showPending = true;
    QTimer::singleShot(0, this, &ChatList::show);
}

void ChatList::show() {
    m_showPending = false;
    QList<ui::ChatEntry> chats, trash;
    for (const ChatSummary& chat : m_chats) {
        if (!chat.hasMessages && !chat.hasDraft) continue; // begun and left empty
        (chat.deletedMs ? trash : chats).append(entryOf(chat, m_running.contains(chat.id)));
    }
    m_sidebar.setChats(chats);
    m_sidebar.setTrash(trash);
}

} // namespace app

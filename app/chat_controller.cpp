#include "app/chat_controller.h"

#include "app/error_text.h"
#include "ui/action_table.h"
#include "ui/sidebar.h"
#include "ui/status_line.h"
#include "ui/transcript_view.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace app {

using engine::Error;
using engine::Message;
using engine::MessageState;
using engine::Role;

namespace {

constexpr auto kStrengthNotice = "strength";

bool canGoOn(MessageState state) {
    return state == MessageState::Stopped || state == MessageState::Interrupted ||
           state == MessageState::LengthReached || state == MessageState::EndedWhileThinking ||
           state == MessageState::Failed;
}

} // namespace

ChatController::ChatController(const Parts& parts, QObject* parent)
    : QObject(parent), m_parts(parts), m_open(std::make_shared<Chat>()) {
    m_parts.window.transcript().setModel(&m_model);
    connectWindow();
    connectRunner();
    newChat();
}

void ChatController::connectWindow() {
    ui::Sidebar& sidebar = m_parts.window.sidebar();
    ui::Composer& composer = m_parts.window.composer();
    ui::TranscriptView& transcript = m_parts.window.transcript();

    connect(&sidebar, &ui::Sidebar::newChatWished, this, [this] { newChat(); });
    connect(&sidebar, &ui::Sidebar::chatChosen, this, [this](qint64 id) { openChat(id); });
    connect(&sidebar, &ui::Sidebar::hitChosen, this, &ChatController::openChat);
    connect(&sidebar, &ui::Sidebar::pinWished, this,
            &ChatController::showPin); // after the list has it
    connect(&m_parts.list, &ChatList::renamed, this, &ChatController::rename);
    connect(&m_parts.list, &ChatList::trashed, this, [this](qint64 id) {
        m_parts.runner.stop(id);
        // The focus stays where the chat was deleted: Ctrl+Z takes it back there.
        if (id == openId()) newChat(false);
    });

    connect(&composer, &ui::Composer::sendWished, this, &ChatController::send);
    connect(&composer, &ui::Composer::stopWished, this, &ChatController::stop);
    connect(&composer, &ui::Composer::draftChanged, this, &ChatController::keepDraft);

    connect(&transcript, &ui::TranscriptView::editWished, this, &ChatController::edit);
    connect(&transcript, &ui::TranscriptView::tryAgainWished, this, &ChatController::tryAgain);
    connect(&transcript, &ui::TranscriptView::continueWished, this, &ChatController::goOn);
    connect(&transcript, &ui::TranscriptView::versionWished, this, &ChatController::showVersion);
    connect(&transcript, &ui::TranscriptView::answerNowWished, this, &ChatController::answerNow);
    connect(&transcript, &ui::TranscriptView::stopWished, this, &ChatController::stop);

    connect(&m_parts.window, &ui::MainWindow::strengthChosen, this, &ChatController::setStrength);
    connect(&m_parts.window, &ui::MainWindow::draftLengthChosen, this,
            &ChatController::setDraftLength);
    connect(&m_parts.window, &ui::MainWindow::instructionsChosen, this,
            &ChatController::setInstructions);
    connect(&transcript, &ui::TranscriptView::remedyWished, this, [this](const QString& id) {
        if (id == QLatin1String(remedy::kTryAgain)) retry();
        if (id == QLatin1String(remedy::kNewChat)) newChat();
    });
}

void ChatController::connectRunner() {
    AnswerRunner& runner = m_parts.runner;
    connect(&runner, &AnswerRunner::answerAdded, this, [this](qint64 chatId, qint64 messageId) {
        if (chatId != openId()) return;
        m_model.appendRow(rowFor(*m_open->find(messageId)));
        emit pathChanged();
    });
    connect(&runner, &AnswerRunner::answerGrew, this, &ChatController::grow);
    connect(&runner, &AnswerRunner::answerEnded, this, &ChatController::ended);
    connect(&runner, &AnswerRunner::activityChanged, this, [this](qint64 chatId) {
        m_parts.list.setRunning(chatId, m_parts.runner.busy(chatId));
        if (chatId == openId()) showActivity();
    });
}

// ---- opening

void ChatController::newChat(bool focusComposer) {
    m_opening = 0;
    keepDraft();
    const auto chat = std::make_shared<Chat>();
    const ui::SettingsValues values = m_parts.settings.values();
    chat->conversation.id = newId();
    chat->conversation.strength = values.strength;
    chat->conversation.draftLength = values.draftLength;
    show(chat);
    if (focusComposer) m_parts.window.composer().focusText();
}

void ChatController::openChat(qint64 chatId, qint64 messageId, const QString& mark) {
    const auto arrive = [this, messageId, mark](const ChatPtr& chat) {
        if (chat != m_open) show(chat);
        if (messageId == 0) return;
        const auto path = chat->conversation.activePath();
        const bool shown = std::any_of(path.begin(), path.end(),
                                       [&](const Message* m) { return m->id == messageId; });
        if (!shown && chat->find(messageId))
            setLeaf(chat, latestLeafBelow(chat->conversation, messageId));
        m_parts.window.transcript().scrollToMessage(messageId, mark);
    };
    m_opening = 0;
    if (chatId == openId()) {
        arrive(m_open);
        return;
    }
    keepDraft();
    if (const ChatPtr chat = m_parts.runner.chatInHand(chatId)) {
        arrive(chat);
        return;
    }
    m_opening = chatId;
    m_parts.disk.askStore(
        this, [chatId](ConversationStore& store) { return store.load(chatId); },
        [this, chatId, arrive](engine::Result<StoredChat> loaded) {
            if (m_opening != chatId) return; // another one was chosen meanwhile
            m_opening = 0;
            if (!loaded.ok()) {
                emit failed(loaded.error());
                return;
            }
            const auto chat = std::make_shared<Chat>();
            chat->conversation = std::move(loaded->conversation);
            chat->typed = shownDraft(loaded->draft);
            chat->draft = std::move(loaded->draft);
            chat->stored = true;
            if (const ChatSummary* row = m_parts.list.find(chatId))
                chat->titleChosen = row->titleChosen;
            arrive(chat);
        });
}

void ChatController::openNeighbour(int step) {
    if (const qint64 id = m_parts.window.sidebar().neighbour(step)) openChat(id);
}

void ChatController::show(const ChatPtr& chat) {
    keepDraft(); // what was typed while this chat was being read
    m_open = chat;
    m_cameBack = false;
    m_askedAnew = 0;
    fillComposer(chat->typed, chat->queued);
    m_parts.list.setUnread(chat->id(), false);
    m_parts.window.sidebar().setCurrent(chat->id());
    m_parts.settings.setOpenChat(chat->id());
    m_model.setErrorCard(std::nullopt);
    showTitle();
    m_parts.window.setStrength(chat->conversation.strength);
    m_parts.window.setDraftLength(chat->conversation.draftLength);
    m_parts.window.hideNotice(QString::fromLatin1(kStrengthNotice));
    showPath();
    showPin();
    emit opened();
}

void ChatController::showPath() {
    // Versions are counted once for all rows: a chat may have thousands.
    std::unordered_map<qint64, std::vector<const Message*>> siblings;
    for (const Message& message : m_open->conversation.messages)
        siblings[message.parentId].push_back(&message);
    for (auto& [parent, versions] : siblings) {
        std::sort(versions.begin(), versions.end(), [](const Message* a, const Message* b) {
            return a->createdMs != b->createdMs ? a->createdMs < b->createdMs : a->id < b->id;
        });
    }
    std::vector<ui::MessageRow> rows;
    for (const Message* message : m_open->conversation.activePath()) {
        const std::vector<const Message*>& versions = siblings[message->parentId];
        const auto at = std::find(versions.begin(), versions.end(), message);
        rows.push_back({*message, static_cast<int>(at - versions.begin()) + 1,
                        static_cast<int>(versions.size())});
    }
    m_model.setRows(std::move(rows));
    showActivity();
    emit pathChanged();
}

ui::MessageRow ChatController::rowFor(const Message& message) const {
    const auto versions = m_open->conversation.versions(message.id);
    ui::MessageRow row;
    row.message = message;
    row.versions = static_cast<int>(versions.size());
    const auto at = std::find_if(versions.begin(), versions.end(),
                                 [&](const Message* m) { return m->id == message.id; });
    row.version = static_cast<int>(at - versions.begin()) + 1;
    return row;
}

void ChatController::showActivity() {
    const bool busy = m_parts.runner.busy(openId());
    m_parts.window.setAnswering(busy);
    m_model.setActivity(m_parts.runner.activity(openId()));
}

void ChatController::showTitle() {
    const QString title = QString::fromStdString(m_open->conversation.title);
    m_parts.window.setTitle(title.isEmpty() ? tr("New chat") : title);
}

// ---- writing

void ChatController::fillComposer(const ui::Draft& draft, const std::optional<ui::Draft>& queued) {
    m_restoring = true;
    m_parts.window.composer().setDraft(draft);
    m_parts.window.composer().setQueued(queued);
    m_restoring = false;
}

void ChatController::keepDraft() {
    if (m_restoring) return;
    const ui::Composer& composer = m_parts.window.composer();
    m_open->typed = composer.draft();
    m_open->queued = composer.queued();
    // Text typed as a new version of a message is kept too, after what was there before.
    if (composer.editing() != 0) m_open->typed = joined(m_draftBeforeEdit, m_open->typed);
    Draft draft = unsentOf(*m_open);
    if (draft == m_open->draft) return;
    m_open->draft = std::move(draft);
    m_parts.saver.draft(m_open);
    m_parts.list.update(*m_open, false);
}

void ChatController::send(const ui::Draft& draft, qint64 editOf) {
    if (draft.empty()) return;
    ui::Composer& composer = m_parts.window.composer();
    if (m_parts.runner.busy(openId())) {
        composer.setQueued(composer.queued() ? joined(*composer.queued(), draft) : draft);
        keepDraft();
        return;
    }
    qint64 parent = m_open->conversation.activeLeafId;
    if (editOf != 0) {
        const Message* const edited = m_open->find(editOf);
        parent = edited ? edited->parentId : parent;
        if (!edited) editOf = 0;
        if (composer.draft().empty())
            fillComposer(std::exchange(m_draftBeforeEdit, {}), composer.queued());
    }
    sendNow(m_open, draft, parent, editOf);
}

// editOf: the message that this is a new version of.
void ChatController::sendNow(const ChatPtr& chat, const ui::Draft& draft, qint64 parentId,
                             qint64 editOf) {
    Message message;
    message.id = newId();
    message.parentId = parentId;
    message.role = Role::User;
    message.text = draft.fullText().toStdString();
    message.attachments = draft.attachments;
    message.createdMs = nowMs();
    engine::Conversation& conversation = chat->conversation;
    if (conversation.messages.empty() && !chat->titleChosen) {
        QString title = titleFromText(draft.fullText());
        if (title.isEmpty() && !draft.attachments.empty()) {
            title = QString::fromStdString(draft.attachments.front().fileName);
        }
        conversation.title = title.toStdString();
        m_parts.saver.header(chat);
    }
    const bool below = parentId == conversation.activeLeafId;
    chat->earlier = below ? Chat::Earlier() : Chat::Earlier{conversation.activeLeafId, editOf};
    conversation.messages.push_back(message);
    conversation.activeLeafId = message.id;
    const bool isOpen = chat == m_open;
    // The composer may already hold the next draft; then that is what stays unsent.
    if (isOpen) {
        chat->typed = m_parts.window.composer().draft();
        chat->queued = m_parts.window.composer().queued();
    }
    chat->draft = unsentOf(*chat);
    m_parts.runner.ask(chat, message);
    if (!chat->draft.empty()) m_parts.saver.draft(chat);
    m_parts.list.update(*chat, true);
    if (!isOpen) return;
    m_cameBack = false;
    m_askedAnew = 0;
    m_model.setErrorCard(std::nullopt);
    showTitle();
    showPin(); // the list has it now
    m_parts.window.sidebar().setCurrent(chat->id());
    if (below) {
        m_model.appendRow(rowFor(message));
        emit pathChanged();
    } else {
        showPath();
    }
    m_parts.window.transcript().scrollToEnd();
}

// The person stopped, or there was an error: what waited comes back to the field.
void ChatController::takeBackQueued() {
    ui::Composer& composer = m_parts.window.composer();
    const std::optional<ui::Draft> queued = composer.queued();
    if (!queued) return;
    composer.setQueued(std::nullopt);
    composer.giveBack(*queued);
    keepDraft();
}

// ---- answers

void ChatController::stop() {
    m_parts.runner.stop(openId());
}

const Message* ChatController::lastOf(Role role) const {
    const auto path = m_open->conversation.activePath();
    const auto last =
        std::find_if(path.rbegin(), path.rend(), [&](const Message* m) { return m->role == role; });
    return last == path.rend() ? nullptr : *last;
}

void ChatController::tryAgain(qint64 answerId) {
    if (m_parts.runner.busy(openId())) return;
    const Message* const answer = answerId ? m_open->find(answerId) : lastOf(Role::Assistant);
    const Message* const leaf = activeLeaf(m_open->conversation);
    // A question may have no answer at all, if the program ended between the two.
    qint64 question = answer && answer->role == Role::Assistant ? answer->parentId : 0;
    if (answerId == 0 && leaf && leaf->role == Role::User) question = leaf->id;
    if (question != 0) askAnew(question);
}

void ChatController::askAnew(qint64 questionId) {
    if (m_parts.runner.busy(openId())) return;
    m_cameBack = false;
    m_askedAnew = questionId;
    m_model.setErrorCard(std::nullopt);
    const qint64 leaf = m_open->conversation.activeLeafId;
    m_open->earlier = leaf == questionId ? Chat::Earlier() : Chat::Earlier{leaf, 0};
    m_open->conversation.activeLeafId = questionId;
    showPath();
    m_parts.runner.answer(m_open, questionId);
    m_parts.window.transcript().scrollToEnd();
}

// What failed: the message that came back to the field, or the question that was asked anew.
void ChatController::retry() {
    if (m_cameBack)
        m_parts.window.composer().send();
    else if (m_askedAnew != 0 && m_open->find(m_askedAnew))
        askAnew(m_askedAnew);
    else
        tryAgain();
}

void ChatController::goOn(qint64 answerId) {
    const Message* const leaf = activeLeaf(m_open->conversation);
    if (!leaf || leaf->role != Role::Assistant || (answerId != 0 && leaf->id != answerId)) return;
    if (!canGoOn(leaf->state) || m_parts.runner.busy(openId())) return;
    m_cameBack = false;
    m_askedAnew = 0;
    m_open->earlier = {};
    m_model.setErrorCard(std::nullopt);
    m_parts.runner.goOn(m_open, leaf->id);
    m_model.replaceRow(m_model.rowOf(leaf->id), rowFor(*leaf));
}

void ChatController::answerNow() {
    if (m_parts.runner.activity(openId()).kind == ui::Activity::Kind::Thinking)
        m_parts.runner.answerNow();
}

void ChatController::grow(qint64 chatId, qint64 messageId, const engine::TextDelta& delta) {
    if (chatId != openId()) return;
    // Another version may be shown while this one grows.
    if (m_model.rowCount() > 0 && m_model.rowOf(messageId) == m_model.rowCount() - 1)
        m_model.appendDelta(delta);
}

void ChatController::ended(const ChatPtr& chat, qint64 messageId,
                           const std::optional<Error>& error) {
    m_parts.list.setRunning(chat->id(), m_parts.runner.busy(chat->id()));
    if (chat != m_open) {
        m_parts.list.setUnread(chat->id(), true);
        if (const std::optional<ui::Draft> queued = std::exchange(chat->queued, std::nullopt)) {
            sendNow(chat, *queued, chat->conversation.activeLeafId);
        }
        return;
    }
    const Message* const message = chat->find(messageId);
    if (const int row = m_model.rowOf(messageId); row >= 0 && message)
        m_model.replaceRow(row, rowFor(*message));
    if (error || (message && message->state == MessageState::Stopped)) takeBackQueued();
    if (error) {
        if (message && message->text.empty() && message->thinking.empty())
            takeBack(chat, messageId);
        // After the path was shown anew, which takes an earlier card away.
        m_model.setErrorCard(errorNotice(QStringLiteral("answer"), *error, Doing::Answering));
    }
    chat->earlier = {};
    // The conversation has been read with the new strength by now.
    if (!error) m_parts.window.hideNotice(QString::fromLatin1(kStrengthNotice));
    emit pathChanged();
    emit answerFinished();
    // Last: the composer sends what waited as soon as it hears that the answer has ended.
    showActivity();
}

// Nothing was answered. A question that was sent returns to the composer, and sending it makes a
// new version; what an edit or another try had taken from the screen is shown again.
void ChatController::takeBack(const ChatPtr& chat, qint64 answerId) {
    const Message* const answer = chat->find(answerId);
    const Message* const question = answer ? chat->find(answer->parentId) : nullptr;
    if (!question) return;
    const Chat::Earlier earlier = std::exchange(chat->earlier, {});
    const bool anew = chat->find(earlier.leafId) != nullptr;
    const qint64 leafId = anew ? earlier.leafId : question->parentId;
    m_cameBack = !anew || earlier.edited != 0;
    if (m_cameBack) {
        ui::Draft draft;
        draft.text = QString::fromStdString(question->text);
        draft.attachments = question->attachments;
        // First the draft, then the other path: whatever happens between, the text stands
        // somewhere.
        if (anew && m_parts.window.composer().editing() == 0)
            beginEdit(earlier.edited, draft);
        else
            m_parts.window.composer().giveBack(draft);
        keepDraft();
    }
    setLeaf(chat, leafId);
}

// ---- versions and editing

void ChatController::setLeaf(const ChatPtr& chat, qint64 leafId) {
    chat->conversation.activeLeafId = leafId;
    m_parts.saver.activeLeaf(chat);
    if (chat == m_open) showPath();
}

void ChatController::edit(qint64 messageId) {
    const Message* const message = messageId ? m_open->find(messageId) : lastOf(Role::User);
    if (!message || message->role != Role::User || m_parts.runner.busy(openId())) return;
    ui::Draft content;
    content.text = QString::fromStdString(message->text);
    content.attachments = message->attachments;
    beginEdit(message->id, content);
}

void ChatController::beginEdit(qint64 messageId, const ui::Draft& content) {
    keepDraft();
    if (m_parts.window.composer().editing() == 0) m_draftBeforeEdit = m_open->typed;
    m_parts.window.composer().beginEdit(messageId, content);
}

void ChatController::showVersion(qint64 messageId, int version) {
    const auto versions = m_open->conversation.versions(messageId);
    if (version < 1 || version > static_cast<int>(versions.size())) return;
    setLeaf(m_open, latestLeafBelow(m_open->conversation,
                                    versions[static_cast<std::size_t>(version - 1)]->id));
}

void ChatController::stepVersion(int step) {
    // Of the message in focus, else of the last one that has several.
    qint64 id = m_parts.window.transcript().focusedMessage();
    const auto path = m_open->conversation.activePath();
    for (auto m = path.rbegin(); id == 0 && m != path.rend(); ++m) {
        if (m_open->conversation.versions((*m)->id).size() > 1) id = (*m)->id;
    }
    const int row = id ? m_model.rowOf(id) : -1;
    if (row >= 0) showVersion(id, m_model.at(row).version + step);
}

// ---- the chat itself

void ChatController::rename(qint64 chatId, const QString& title) {
    const QString clean = title.simplified();
    if (clean.isEmpty()) return;
    ChatPtr chat = chatId == openId() ? m_open : m_parts.runner.chatInHand(chatId);
    if (chat) {
        chat->conversation.title = clean.toStdString();
        chat->titleChosen = true;
        m_parts.saver.header(chat);
        m_parts.list.update(*chat, false);
        if (chat == m_open) showTitle();
        return;
    }
    m_parts.disk.askStore(
        this, [chatId](ConversationStore& store) { return store.load(chatId); },
        [this, clean](engine::Result<StoredChat> loaded) {
            if (!loaded.ok()) {
                emit failed(loaded.error());
                return;
            }
            const auto renamed = std::make_shared<Chat>();
            renamed->conversation = std::move(loaded->conversation);
            renamed->draft = std::move(loaded->draft);
            renamed->stored = true;
            renamed->conversation.title = clean.toStdString();
            renamed->titleChosen = true;
            m_parts.saver.header(renamed);
            m_parts.list.update(*renamed, false);
        });
}

void ChatController::togglePin() {
    if (const ChatSummary* row = m_parts.list.find(openId()))
        m_parts.list.setPinned(openId(), !row->pinned);
    showPin();
}

void ChatController::showPin() {
    const ChatSummary* const row = m_parts.list.find(openId());
    m_parts.window.actionSet().setChecked(ui::ActionId::Pin, row && row->pinned);
    m_parts.window.actionSet().setEnabled(ui::ActionId::Pin, row != nullptr);
}

void ChatController::moveToTrash() {
    m_parts.list.moveToTrash(openId());
}

void ChatController::setStrength(engine::ThinkingStrength strength) {
    if (m_open->conversation.strength == strength) return;
    m_open->conversation.strength = strength;
    m_parts.window.setStrength(strength);
    const bool begun = !m_open->conversation.messages.empty();
    if (m_open->stored || begun) m_parts.saver.header(m_open);
    const QString said = QString::fromLatin1(kStrengthNotice);
    if (!begun || m_parts.settings.wasSaid(said)) return;
    m_parts.settings.setSaid(said);
    ui::Notice notice;
    notice.id = said;
    notice.text = tr(
        "With another thinking strength this conversation is read again from the beginning before "
        "the next answer.");
    m_parts.window.showNotice(notice);
}

void ChatController::setDraftLength(engine::DraftLength length) {
    if (m_open->conversation.draftLength == length) return;
    m_open->conversation.draftLength = length;
    m_parts.window.setDraftLength(length);
    if (m_open->stored) m_parts.saver.header(m_open);
}

void ChatController::setInstructions(const QString& text) {
    m_open->conversation.instructions = text.trimmed().toStdString();
    m_parts.saver.header(m_open);
}

} // namespace app

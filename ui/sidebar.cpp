#include "ui/sidebar.h"

#include "ui/chat_list.h"
#include "ui/controls.h"
#include "ui/theme.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPushButton>
#include <QScrollBar>
#include <QTimer>
#include <QVBoxLayout>

namespace ui {

namespace {
constexpr int kUndoMs = 12'000;
}

class Sidebar::Private : public QObject {
    Q_DECLARE_TR_FUNCTIONS(ui::Sidebar)
public:
    explicit Private(Sidebar* sidebar) : QObject(sidebar), q(sidebar) {}

    Sidebar* q;
    QPushButton* newChat = nullptr;
    QLineEdit* search = nullptr;
    QListView* list = nullptr;
    ChatListModel* model = nullptr;
    ChatDelegate* delegate = nullptr;
    QToolButton* trash = nullptr;
    QPushButton* emptyTrash = nullptr;
    QWidget* undoBar = nullptr;
    ElidedLabel* undoText = nullptr;
    qint64 undoChat = 0;
    QTimer undoTimer, searchTimer;

    QList<ChatEntry> chats, trashed;
    bool trashOpen = false;

    bool searching() const { return !search->text().trimmed().isEmpty(); }

    void showList() {
        if (searching()) return;
        // The list is made anew often while an answer runs; what the person does with it must stay.
        if (delegate->editing()) {
            waiting = true;
            return;
        }
        waiting = false;
        const int scroll = list->verticalScrollBar()->value();
        const qint64 marked = list->currentIndex().data(ChatListModel::ChatRole).toLongLong();
        if (trashOpen)
            model->showTrash(trashed);
        else
            model->showChats(chats, QDate::currentDate());
        const QModelIndex index = model->indexOf(marked ? marked : q->m_current);
        if (index.isValid())
            list->selectionModel()->setCurrentIndex(index, QItemSelectionModel::NoUpdate);
        list->verticalScrollBar()->setValue(scroll);
        emptyTrash->setVisible(trashOpen && !trashed.isEmpty());
        trash->setText(trashOpen ? tr("Back to Chats") : tr("Trash"));
        trash->setIcon(ui::icon(trashOpen ? "chevron-left" : "trash", &Colours::muted));
    }
    bool waiting = false;

    void setTrashOpen(bool open) {
        trashOpen = open;
        search->clear();
        showList();
        if (open) emit q->trashShown();
    }

    void choose(const QModelIndex& index) {
        const qint64 chat = index.data(ChatListModel::ChatRole).toLongLong();
        if (!chat || (trashOpen && !searching())) return;
        if (index.data(ChatListModel::KindRole).toInt() == ChatListModel::Hit)
            emit q->hitChosen(chat, index.data(ChatListModel::MessageRole).toLongLong(),
                              search->text().trimmed());
        else
            emit q->chatChosen(chat);
    }

    void menuAt(const QModelIndex& index, const QPoint& at) {
        if (index.data(ChatListModel::KindRole).toInt() != ChatListModel::Chat) return;
        const qint64 chat = index.data(ChatListModel::ChatRole).toLongLong();
        auto* menu = new QMenu(q);
        menu->setAttribute(Qt::WA_DeleteOnClose);
        if (trashOpen) {
            menu->addAction(ui::icon("restore"), tr("Restore"), q,
                            [this, chat] { emit q->restoreWished(chat); });
            menu->addAction(ui::icon("trash"), tr("Delete for Good…"), q,
                            [this, chat] { confirmDelete({chat}); });
        } else {
            const bool pinned = index.data(ChatListModel::PinnedRole).toBool();
            menu->addAction(ui::icon("edit"), tr("Rename"), q,
                            [this, chat] { q->beginRename(chat); });
            menu->addAction(ui::icon("pin"), pinned ? tr("Unpin") : tr("Pin"), q,
                            [this, chat, pinned] { emit q->pinWished(chat, !pinned); });
            menu->addAction(ui::icon("trash"), tr("Move to Trash"), q,
                            [this, chat] { emit q->trashWished(chat); });
        }
        menu->popup(at);
    }

    void confirmDelete(const QList<qint64>& chatIds) {
        auto* dialog = new QDialog(q->window());
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setWindowTitle(tr("Delete for Good"));
        auto* column = new QVBoxLayout(dialog);
        auto* text = label(chatIds.size() == 1
                               ? tr("This chat will be deleted for good. That cannot be undone.")
                               : tr("%n chats will be deleted for good. That cannot be undone.",
                                    nullptr, int(chatIds.size())),
                           dialog);
        text->setWordWrap(true);
        column->addWidget(text);
        auto* buttons = new QDialogButtonBox(dialog);
        auto* remove = buttons->addButton(tr("Delete for Good"), QDialogButtonBox::AcceptRole);
        auto* keep = buttons->addButton(tr("Keep"), QDialogButtonBox::RejectRole);
        keep->setDefault(true);
        connect(remove, &QPushButton::clicked, dialog, &QDialog::accept);
        connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
        connect(dialog, &QDialog::accepted, q,
                [this, chatIds] { emit q->deleteForeverWished(chatIds); });
        column->addWidget(buttons);
        dialog->open();
    }
};

Sidebar::Sidebar(QWidget* parent) : QWidget(parent), d(new Private(this)) {
    setAccessibleName(tr("Chats"));
    setMinimumWidth(220);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(10, 12, 10, 10);
    column->setSpacing(8);
    d->newChat = new QPushButton(ui::icon("plus"), tr("New Chat"), this);
    d->newChat->setProperty("kind", "left");
    d->newChat->setToolTip(tr("Begin a new chat (Ctrl+N)"));
    setIconPixels(d->newChat, 18);
    column->addWidget(d->newChat);
    d->search = new QLineEdit(this);
    d->search->setPlaceholderText(tr("Search all chats"));
    d->search->setAccessibleName(tr("Search all chats"));
    d->search->setToolTip(tr("Search titles and messages (Ctrl+K)"));
    d->search->setClearButtonEnabled(true);
    d->search->addAction(ui::icon("search", &Colours::muted), QLineEdit::LeadingPosition);
    column->addWidget(d->search);

    d->list = new QListView(this);
    d->model = new ChatListModel(this);
    d->delegate = new ChatDelegate(this);
    d->list->setModel(d->model);
    d->list->setItemDelegate(d->delegate);
    d->list->setAccessibleName(tr("Chats"));
    d->list->setMouseTracking(true);
    d->list->setFrameShape(QFrame::NoFrame);
    d->list->setEditTriggers(QAbstractItemView::NoEditTriggers);
    d->list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    d->list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    d->list->setContextMenuPolicy(Qt::CustomContextMenu);
    d->list->setSelectionMode(
        QAbstractItemView::NoSelection); // the open chat is marked by the delegate
    d->list->viewport()->setAutoFillBackground(false);
    d->list->verticalScrollBar()->setAccessibleName(tr("Scroll the chats"));
    column->addWidget(d->list, 1);

    d->undoBar = new QWidget(this);
    auto* undoRow = new QHBoxLayout(d->undoBar);
    undoRow->setContentsMargins(10, 0, 0, 0);
    d->undoText = new ElidedLabel(d->undoBar);
    setFontRole(d->undoText, FontRole::Caption);
    d->undoText->setTint(&Colours::muted);
    undoRow->addWidget(d->undoText, 1);
    auto* undo = textButton(tr("Undo"), d->undoBar);
    undo->setProperty("kind", "link");
    undo->setToolTip(tr("Take the chat back out of the Trash (Ctrl+Z)"));
    undoRow->addWidget(undo);
    d->undoBar->hide();
    column->addWidget(d->undoBar);

    d->emptyTrash = new QPushButton(tr("Empty Trash…"), this);
    d->emptyTrash->hide();
    column->addWidget(d->emptyTrash);
    d->trash = textButton(tr("Trash"), this, "trash");
    d->trash->setAccessibleName(tr("Trash"));
    column->addWidget(d->trash, 0, Qt::AlignLeading);

    connect(d->newChat, &QPushButton::clicked, this, &Sidebar::newChatWished);
    connect(d->list, &QListView::clicked, d,
            [this](const QModelIndex& index) { d->choose(index); });
    connect(d->list, &QListView::activated, d,
            [this](const QModelIndex& index) { d->choose(index); });
    connect(d->list, &QListView::customContextMenuRequested, d, [this](const QPoint& at) {
        d->menuAt(d->list->indexAt(at), d->list->viewport()->mapToGlobal(at));
    });
    connect(d->model, &ChatListModel::renamed, this, &Sidebar::renameWished);
    connect(d->delegate, &QAbstractItemDelegate::closeEditor, d, [this] {
        // The editor is still closing; what came meanwhile is shown after that.
        QTimer::singleShot(0, d, [this] {
            if (d->waiting) d->showList();
        });
    });
    connect(d->trash, &QToolButton::clicked, d, [this] { d->setTrashOpen(!d->trashOpen); });
    connect(d->emptyTrash, &QPushButton::clicked, d, [this] {
        QList<qint64> ids;
        for (const ChatEntry& chat : std::as_const(d->trashed)) ids += chat.id;
        d->confirmDelete(ids);
    });
    connect(undo, &QToolButton::clicked, d, [this] {
        d->undoBar->hide();
        emit restoreWished(d->undoChat);
    });
    d->undoTimer.setSingleShot(true);
    d->undoTimer.setInterval(kUndoMs);
    connect(&d->undoTimer, &QTimer::timeout, d->undoBar, &QWidget::hide);
    d->searchTimer.setSingleShot(true);
    d->searchTimer.setInterval(120);
    connect(&d->searchTimer, &QTimer::timeout, d, [this] {
        if (d->searching()) emit searchWished(d->search->text().trimmed());
    });
    connect(d->search, &QLineEdit::textChanged, d, [this] {
        if (d->searching())
            d->searchTimer.start();
        else
            d->showList();
    });
    connect(d->search, &QLineEdit::returnPressed, d, [this] {
        for (int row = 0; row < d->model->rowCount(); ++row) {
            const QModelIndex index = d->model->index(row);
            if (d->searching() &&
                index.data(ChatListModel::KindRole).toInt() == ChatListModel::Hit) {
                d->choose(index);
                return;
            }
        }
    });
    d->showList();
}

void Sidebar::setChats(const QList<ChatEntry>& chats) {
    if (chats == d->chats) return;
    d->chats = chats;
    if (!d->trashOpen) d->showList();
}

void Sidebar::setTrash(const QList<ChatEntry>& chats) {
    d->trashed = chats;
    if (d->trashOpen) d->showList();
}

void Sidebar::setCurrent(qint64 chatId) {
    m_current = chatId;
    d->delegate->setCurrent(chatId);
    const QModelIndex index = d->model->indexOf(chatId);
    if (index.isValid() && !d->delegate->editing()) {
        d->list->setCurrentIndex(index);
        d->list->scrollTo(index);
    }
    d->list->viewport()->update();
}

void Sidebar::setHits(const QString& query, const QList<SearchHit>& hits) {
    if (query == d->search->text().trimmed() && d->searching()) d->model->showHits(hits);
}

void Sidebar::showUndo(qint64 chatId, const QString& title) {
    d->undoChat = chatId;
    d->undoText->setText(tr("“%1” is in the Trash.").arg(title));
    d->undoBar->show();
    d->undoTimer.start();
}

void Sidebar::beginRename(qint64 chatId) {
    d->search->clear();
    if (d->trashOpen) d->setTrashOpen(false);
    const QModelIndex index = d->model->indexOf(chatId);
    if (!index.isValid()) return;
    d->list->setFocus();
    d->list->setCurrentIndex(index);
    d->list->edit(index);
}

void Sidebar::focusSearch() {
    d->search->setFocus(Qt::ShortcutFocusReason);
    d->search->selectAll();
}

bool Sidebar::undo() {
    if (!d->undoBar->isVisible() || !isAncestorOf(QApplication::focusWidget()) ||
        d->search->hasFocus())
        return false;
    d->undoBar->hide();
    emit restoreWished(d->undoChat);
    return true;
}

bool Sidebar::clearSearch() {
    if (!d->searching() || !d->search->hasFocus()) return false;
    d->search->clear();
    return true;
}

qint64 Sidebar::neighbour(int step) const {
    QList<qint64> ids;
    for (int row = 0; row < d->model->rowCount(); ++row) {
        const QModelIndex index = d->model->index(row);
        if (index.data(ChatListModel::KindRole).toInt() == ChatListModel::Chat)
            ids += index.data(ChatListModel::ChatRole).toLongLong();
    }
    const qsizetype at = ids.indexOf(m_current);
    return at < 0 ? ids.value(0) : ids.value(at + step);
}

void Sidebar::keyPressEvent(QKeyEvent* event) {
    const bool inList = d->list->hasFocus();
    if (event->key() == Qt::Key_Escape && d->searching()) {
        d->search->clear();
        return;
    }
    if (event->key() == Qt::Key_Down && d->search->hasFocus()) {
        d->list->setFocus();
        return;
    }
    const QModelIndex index = d->list->currentIndex();
    const qint64 chat = index.data(ChatListModel::ChatRole).toLongLong();
    const bool isChat = index.data(ChatListModel::KindRole).toInt() == ChatListModel::Chat;
    if (inList && event->key() == Qt::Key_Delete && !event->modifiers() && chat && isChat &&
        !d->trashOpen) {
        emit trashWished(chat);
        return;
    }
    if (inList && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && chat) {
        d->choose(index);
        return;
    }
    QWidget::keyPressEvent(event);
}

void Sidebar::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange && d->list) d->list->doItemsLayout();
}

} // namespace ui

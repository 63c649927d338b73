#include "ui/main_window.h"

#include "ui/composer.h"
#include "ui/controls.h"
#include "ui/find_bar.h"
#include "ui/help_dialogs.h"
#include "ui/image_viewer.h"
#include "ui/model_setup.h"
#include "ui/notice_card.h"
#include "ui/performance_panel.h"
#include "ui/side_panels.h"
#include "ui/sidebar.h"
#include "ui/status_line.h"
#include "ui/title_bar.h"
#include "ui/transcript_view.h"

#include <QAbstractItemView>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDataStream>
#include <QDragEnterEvent>
#include <QIODevice>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QShortcut>
#include <QStackedWidget>
#include <QTimer>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>

namespace ui {

namespace {

constexpr quint32 kLayoutMagic = 0x474c4c31; // "GLL1"
constexpr double kComposerShare = 0.4;       // of the window's height, at most

bool ggufFiles(const QMimeData* data) {
    const QList<QUrl> urls = data->urls();
    return !urls.isEmpty() && std::all_of(urls.begin(), urls.end(), [](const QUrl& url) {
        return url.isLocalFile() && url.path().endsWith(".gguf", Qt::CaseInsensitive);
    });
}

} // namespace

class MainWindow::Private : public QObject {
public:
    explicit Private(MainWindow* window) : QObject(window), q(window) {}

    MainWindow* q;
    ActionSet* actions = nullptr;
    SidePanels* sides = nullptr;
    Sidebar* sidebar = nullptr;
    PerformancePanel* panel = nullptr;
    TitleBar* title = nullptr;
    QVBoxLayout* notices = nullptr;
    QStackedWidget* pages = nullptr;
    ModelSetup* setup = nullptr;
    LoadingPage* loading = nullptr;
    QWidget* chat = nullptr;
    QVBoxLayout* composerBox = nullptr;
    FindBar* find = nullptr;
    TranscriptView* transcript = nullptr;
    Composer* composer = nullptr;
    StatusLine* status = nullptr;
    ImageViewer* viewer = nullptr;
    QWidget* dropHint = nullptr;
    QTimer layoutTimer;
    bool closing = false;
    bool answering = false;
    bool loaded = false;

    void build();
    void connectAll();
    void carryOut(ActionId id, bool checked);
    bool edit(ActionId id);
    void nextArea(int step);
    void findInChat(int step);
    void enableActions();
    void fitComposer() {
        composer->setMaxHeight(int(q->height() * kComposerShare));
        const int side = q->width() < 700 ? 12 : 24;
        composerBox->setContentsMargins(side, 4, side, 14);
    }
    void showSides() {
        actions->setChecked(ActionId::Sidebar, sides->sidebarShown());
        actions->setChecked(ActionId::Performance, sides->panelShown());
        title->setSidesShown(sides->sidebarShown(), sides->panelShown());
    }
    void chooseZoom(int percent) {
        percent = std::clamp(percent, kMinTextZoom, kMaxTextZoom);
        if (percent == textZoom()) return;
        applyTextZoom(percent);
        emit q->textZoomChosen(percent);
    }
    void chooseTheme(ThemeChoice choice) {
        applyTheme(choice);
        emit q->themeChosen(choice);
    }
};

void MainWindow::Private::build() {
    auto* central = new QWidget(q);
    auto* column = new QVBoxLayout(central);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);

    sidebar = new Sidebar;
    panel = new PerformancePanel;
    auto* middle = new QWidget;
    middle->setMinimumWidth(320);
    sides = new SidePanels(sidebar, middle, panel, central);
    column->addWidget(sides, 1);
    status = new StatusLine(central);
    column->addWidget(status);

    auto* rows = new QVBoxLayout(middle);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    title = new TitleBar(middle);
    rows->addWidget(title);
    auto* noticeBox = new QWidget(middle);
    noticeBox->setAutoFillBackground(true);
    noticeBox->setBackgroundRole(QPalette::Base);
    notices = new QVBoxLayout(noticeBox);
    notices->setContentsMargins(0, 0, 0, 0);
    notices->setSpacing(6);
    rows->addWidget(noticeBox);
    pages = new QStackedWidget(middle);
    rows->addWidget(pages, 1);

    setup = new ModelSetup;
    loading = new LoadingPage;
    chat = new QWidget;
    for (QWidget* page : {static_cast<QWidget*>(setup), static_cast<QWidget*>(loading), chat}) {
        page->setAutoFillBackground(true);
        page->setBackgroundRole(QPalette::Base);
        pages->addWidget(page);
    }
    auto* chatColumn = new QVBoxLayout(chat);
    chatColumn->setContentsMargins(0, 0, 0, 0);
    chatColumn->setSpacing(0);
    find = new FindBar(chat);
    chatColumn->addWidget(find);
    transcript = new TranscriptView(chat);
    chatColumn->addWidget(transcript, 1);
    composerBox = new QVBoxLayout;
    auto* centred = new QHBoxLayout;
    composer = new Composer(chat);
    composer->setMaximumWidth(ems(48));
    centred->addStretch(1);
    centred->addWidget(composer, 1000);
    centred->addStretch(1);
    composerBox->addLayout(centred);
    chatColumn->addLayout(composerBox);

    viewer = new ImageViewer(central);
    dropHint = label(tr("Drop to attach"), central);
    static_cast<QLabel*>(dropHint)->setAlignment(Qt::AlignCenter);
    dropHint->setAutoFillBackground(true);
    setFontRole(dropHint, FontRole::Title);
    dropHint->hide();
    q->setCentralWidget(central);
}

void MainWindow::Private::connectAll() {
    connect(actions, &ActionSet::triggered, q, [this](ActionId id, bool checked) { carryOut(id, checked); });
    connect(title, &TitleBar::strengthChosen, q, &MainWindow::strengthChosen);
    connect(composer, &Composer::strengthChosen, q, &MainWindow::strengthChosen);
    connect(title, &TitleBar::sidebarToggled, sides, &SidePanels::toggleSidebar);
    connect(title, &TitleBar::panelToggled, sides, &SidePanels::togglePanel);
    connect(sides, &SidePanels::changed, q, [this] {
        showSides();
        layoutTimer.start();
    });
    connect(transcript, &TranscriptView::starterChosen, composer, [this](const QString& text) {
        composer->insertText(text);
        composer->focusText();
    });
    connect(transcript, &TranscriptView::copied, status, &StatusLine::say);
    connect(panel, &PerformancePanel::copied, status, [this] { status->say(MainWindow::tr("Copied")); });
    connect(find, &FindBar::findWished, q, [this](const QString&, int step) { findInChat(step); });
    connect(find, &FindBar::closed, q, [this] {
        find->hide();
        transcript->clearFind();
        composer->focusText();
    });
    connect(viewer, &ImageViewer::closed, q, [this] {
        viewer->hide();
        transcript->setFocus();
    });
    // On a narrow window a chosen chat is what the person wants to see, not the list over it.
    connect(sidebar, &Sidebar::chatChosen, sides, &SidePanels::closeOverlays);
    connect(sidebar, &Sidebar::hitChosen, sides, &SidePanels::closeOverlays);
    connect(sidebar, &Sidebar::newChatWished, sides, &SidePanels::closeOverlays);
    layoutTimer.setSingleShot(true);
    layoutTimer.setInterval(400);
    connect(&layoutTimer, &QTimer::timeout, q, &MainWindow::layoutChanged);

    connect(new QShortcut(QKeySequence(Qt::ControlModifier | Qt::Key_L), q), &QShortcut::activated, q,
            [this] { composer->focusText(); });
    connect(new QShortcut(QKeySequence(Qt::Key_F6), q), &QShortcut::activated, q, [this] { nextArea(1); });
    connect(new QShortcut(QKeySequence(Qt::ShiftModifier | Qt::Key_F6), q), &QShortcut::activated, q,
            [this] { nextArea(-1); });
}

// True if the widget with the focus took it.
bool MainWindow::Private::edit(ActionId id) {
    QWidget* focus = QApplication::focusWidget();
    const auto apply = [id](auto* field) {
        switch (id) {
        case ActionId::Undo: field->undo(); break;
        case ActionId::Redo: field->redo(); break;
        case ActionId::Cut: field->cut(); break;
        case ActionId::Copy: field->copy(); break;
        case ActionId::Paste: field->paste(); break;
        default: field->selectAll(); break;
        }
        return true;
    };
    if (id == ActionId::Undo && sidebar->undo()) return true;
    const bool inTranscript = focus == transcript || transcript->isAncestorOf(focus);
    if (id == ActionId::Copy && !inTranscript) {
        // A selection in the transcript is copied even if the composer has the focus but nothing marked.
        auto* field = qobject_cast<QPlainTextEdit*>(focus);
        if (field && !field->textCursor().hasSelection() && transcript->copy()) return true;
    }
    if (auto* field = qobject_cast<QPlainTextEdit*>(focus)) return apply(field);
    if (auto* field = qobject_cast<QLineEdit*>(focus)) return apply(field);
    if (id == ActionId::Copy) return transcript->copy();
    if (id == ActionId::SelectAll && inTranscript) {
        transcript->selectAll();
        return true;
    }
    if (id == ActionId::Paste && pages->currentWidget() == chat) {
        composer->focusText();
        composer->paste();
        return true;
    }
    return false;
}

void MainWindow::Private::findInChat(int step) {
    if (find->text().isEmpty()) transcript->clearFind();
    const TranscriptView::FindResult result = transcript->find(find->text(), step);
    find->setResult(result.hits, result.current);
}

void MainWindow::Private::carryOut(ActionId id, bool checked) {
    using enum ActionId;
    switch (id) {
    case Undo:
    case Redo:
    case Cut:
    case Copy:
    case Paste:
    case SelectAll: edit(id); return;
    case FindInChat: find->open(transcript->selectedText().section('\n', 0, 0).left(80)); return;
    case FindNext:
    case FindPrevious:
        if (!find->isVisible())
            find->open();
        else
            findInChat(id == FindNext ? 1 : -1);
        return;
    case SearchChats:
        sides->showSidebar();
        sidebar->focusSearch();
        return;
    case ActionId::Sidebar: sides->toggleSidebar(); return;
    case Performance: sides->togglePanel(); return;
    case StatusBar:
        status->setVisible(checked);
        layoutTimer.start();
        return;
    case ThemeSystem: chooseTheme(ThemeChoice::System); return;
    case ThemeLight: chooseTheme(ThemeChoice::Light); return;
    case ThemeDark: chooseTheme(ThemeChoice::Dark); return;
    case TextLarger: chooseZoom(textZoom() < 100 ? textZoom() + 5 : textZoom() + (textZoom() < 150 ? 10 : 25)); return;
    case TextSmaller: chooseZoom(textZoom() <= 100 ? textZoom() - 5 : textZoom() - (textZoom() <= 150 ? 10 : 25)); return;
    case TextDefault: chooseZoom(100); return;
    case FullScreen:
        q->setWindowState(checked ? q->windowState() | Qt::WindowFullScreen : q->windowState() & ~Qt::WindowFullScreen);
        return;
    case AttachFile: composer->openFileDialog(); return;
    case CopyLastAnswer: {
        const QString text = transcript->lastAnswer();
        if (text.isEmpty()) return;
        QApplication::clipboard()->setText(text);
        status->say(MainWindow::tr("Answer copied"));
        return;
    }
    case Rename:
        sides->showSidebar();
        sidebar->beginRename(sidebar->current());
        return;
    case PreviousChat:
    case NextChat: {
        const qint64 to = sidebar->neighbour(id == NextChat ? 1 : -1);
        if (to) emit sidebar->chatChosen(to);
        return;
    }
    case ThinkingLow: emit q->strengthChosen(engine::ThinkingStrength::Low); return;
    case ThinkingMedium: emit q->strengthChosen(engine::ThinkingStrength::Medium); return;
    case ThinkingHigh: emit q->strengthChosen(engine::ThinkingStrength::High); return;
    case ThinkingExtraHigh: emit q->strengthChosen(engine::ThinkingStrength::ExtraHigh); return;
    case DraftAutomatic: emit q->draftLengthChosen({}); return;
    case DraftOff: emit q->draftLengthChosen({0}); return;
    case DraftShort: emit q->draftLengthChosen({4}); return;
    case DraftMedium: emit q->draftLengthChosen({8}); return;
    case DraftLong: emit q->draftLengthChosen({12}); return;
    case DraftLongest: emit q->draftLengthChosen({15}); return;
    case Shortcuts: showShortcuts(q, *actions); return;
    case About: showAbout(q); return;
    case Stop:
        // Esc closes what lies over the chat first.
        if (q->closeTopmost()) return;
        break;
    default: break;
    }
    emit q->actionTriggered(id, checked);
}

void MainWindow::Private::nextArea(int step) {
    QList<QWidget*> areas;
    const auto add = [&](QWidget* area) {
        if (area->isVisible()) areas += area;
    };
    add(sidebar);
    add(title);
    if (pages->currentWidget() == chat) {
        add(transcript);
        add(composer);
    } else {
        add(pages->currentWidget());
    }
    add(panel);
    QWidget* focus = QApplication::focusWidget();
    int at = -1;
    for (int i = 0; i < areas.size(); ++i)
        if (areas[i] == focus || areas[i]->isAncestorOf(focus)) at = i;
    const int count = int(areas.size());
    QWidget* to = areas[at < 0 ? 0 : (at + step + count) % count];
    if (to == title) to = title->firstControl();
    if (to == composer) {
        composer->focusText();
        return;
    }
    if (to->focusPolicy() == Qt::NoFocus || to == sidebar) {
        // The first control within that can take the focus; in the sidebar it is the list.
        if (auto* list = to->findChild<QAbstractItemView*>(); list && to == sidebar) {
            to = list;
        } else {
            const QList<QWidget*> inside = to->findChildren<QWidget*>();
            const auto found = std::find_if(inside.begin(), inside.end(), [](const QWidget* widget) {
                return widget->isVisible() && widget->isEnabled() && widget->focusPolicy() & Qt::TabFocus;
            });
            if (found == inside.end()) return;
            to = *found;
        }
    }
    to->setFocus(Qt::ShortcutFocusReason);
}

void MainWindow::Private::enableActions() {
    using enum ActionId;
    const bool onChat = pages->currentWidget() == chat;
    for (ActionId id : {ActionId::Stop, AnswerNow}) actions->setEnabled(id, answering);
    for (ActionId id : {TryAgain, ContinueAnswer, EditLast, PreviousVersion, NextVersion})
        actions->setEnabled(id, onChat && !answering);
    for (ActionId id : {AttachFile, FindInChat, FindNext, FindPrevious}) actions->setEnabled(id, onChat);
    actions->setEnabled(Performance, onChat);
    actions->setEnabled(LoadModel, !loaded);
    actions->setEnabled(UnloadModel, loaded && !answering);
}

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent), d(new Private(this)) {
    if (!themeApplied()) applyTheme(themeChoice());
    setWindowTitle("Glint");
    setWindowIcon(QIcon(":/icons/glint.svg"));
    setMinimumSize(640, 480);
    setAcceptDrops(true);
    d->actions = new ActionSet(this);
    d->actions->fill(menuBar());
    d->actions->action(ActionId::TextLarger)
        ->setShortcuts({QKeySequence(Qt::ControlModifier | Qt::Key_Plus), QKeySequence(Qt::ControlModifier | Qt::Key_Equal)});
    d->actions->setChecked(ActionId::StatusBar, true);
    d->build();
    d->connectAll();
    d->actions->setChecked(themeChoice() == ThemeChoice::Light  ? ActionId::ThemeLight
                           : themeChoice() == ThemeChoice::Dark ? ActionId::ThemeDark
                                                                : ActionId::ThemeSystem,
                           true);
    resize(1280, 820);
    d->enableActions();
    d->showSides();
    setStrength(engine::ThinkingStrength::High);
    setDraftLength({});
    showPage(Page::Chat);
    d->composer->focusText();
}

MainWindow::~MainWindow() = default;

ActionSet& MainWindow::actionSet() { return *d->actions; }
Sidebar& MainWindow::sidebar() { return *d->sidebar; }
TranscriptView& MainWindow::transcript() { return *d->transcript; }
Composer& MainWindow::composer() { return *d->composer; }
PerformancePanel& MainWindow::panel() { return *d->panel; }
ModelSetup& MainWindow::setup() { return *d->setup; }
LoadingPage& MainWindow::loading() { return *d->loading; }
StatusLine& MainWindow::statusLine() { return *d->status; }

void MainWindow::showPage(Page page) {
    QWidget* const widget = page == Page::Setup     ? static_cast<QWidget*>(d->setup)
                            : page == Page::Loading ? static_cast<QWidget*>(d->loading)
                                                    : d->chat;
    d->pages->setCurrentWidget(widget);
    d->title->setStrengthShown(page == Page::Chat);
    d->title->setPanelPossible(page == Page::Chat);
    d->sides->setPanelPossible(page == Page::Chat);
    d->enableActions();
}

MainWindow::Page MainWindow::page() const {
    return d->pages->currentWidget() == d->setup     ? Page::Setup
           : d->pages->currentWidget() == d->loading ? Page::Loading
                                                     : Page::Chat;
}

void MainWindow::setTitle(const QString& title) {
    d->title->setTitle(title);
    setWindowTitle(title.isEmpty() ? QString("Glint") : title + " – Glint");
}

void MainWindow::setStrength(engine::ThinkingStrength strength) {
    d->title->setStrength(strength);
    d->composer->setStrength(strength);
    switch (strength) {
    case engine::ThinkingStrength::Low: d->actions->setChecked(ActionId::ThinkingLow, true); break;
    case engine::ThinkingStrength::Medium: d->actions->setChecked(ActionId::ThinkingMedium, true); break;
    case engine::ThinkingStrength::High: d->actions->setChecked(ActionId::ThinkingHigh, true); break;
    case engine::ThinkingStrength::ExtraHigh: d->actions->setChecked(ActionId::ThinkingExtraHigh, true); break;
    }
}

void MainWindow::setDraftLength(engine::DraftLength length) {
    using enum ActionId;
    static const std::pair<int, ActionId> rows[] = {{engine::DraftLength::kAutomatic, DraftAutomatic}, {0, DraftOff},
                                                    {4, DraftShort}, {8, DraftMedium}, {12, DraftLong},
                                                    {15, DraftLongest}};
    for (const auto& [tokens, id] : rows) d->actions->setChecked(id, tokens == length.tokens);
}

void MainWindow::setMemoryDot(const QString& text, NoticeKind kind, const QString& why) {
    d->title->setMemory(text, kind, why);
}

void MainWindow::showNotice(const Notice& notice) {
    const auto cards = d->notices->parentWidget()->findChildren<NoticeCard*>(QString(), Qt::FindDirectChildrenOnly);
    for (NoticeCard* card : cards)
        if (card->notice().id == notice.id && !card->isHidden()) {
            if (card->notice() != notice) card->setNotice(notice);
            return;
        }
    auto* card = new NoticeCard(d->notices->parentWidget());
    card->setNotice(notice);
    d->notices->addWidget(card);
    card->show(); // the layout would do so later, and a second call would not find it
    d->notices->setContentsMargins(16, 8, 16, 8);
    connect(card, &NoticeCard::remedyWished, this,
            [this, id = notice.id](const QString& remedy) { emit noticeRemedyWished(id, remedy); });
    connect(card, &NoticeCard::closed, this, [this, id = notice.id] {
        hideNotice(id);
        emit noticeClosed(id);
    });
}

void MainWindow::hideNotice(const QString& id) {
    int left = 0;
    const auto cards = d->notices->parentWidget()->findChildren<NoticeCard*>(QString(), Qt::FindDirectChildrenOnly);
    for (NoticeCard* card : cards) {
        if (card->notice().id == id) {
            d->notices->removeWidget(card);
            card->hide();
            card->deleteLater(); // its own button may have asked for this
        } else if (!card->isHidden()) {
            ++left;
        }
    }
    if (left == 0) d->notices->setContentsMargins(0, 0, 0, 0);
}

void MainWindow::showPicture(const QImage& image, const QString& name) { d->viewer->open(image, name); }

void MainWindow::editInstructions(const QString& text) {
    askInstructions(this, text, [this](const QString& chosen) { emit instructionsChosen(chosen); });
}

void MainWindow::setAnswering(bool answering) {
    d->answering = answering;
    d->transcript->setAnswering(answering);
    d->composer->setAnswering(answering);
    d->enableActions();
}

void MainWindow::setModelLoaded(bool loaded) {
    d->loaded = loaded;
    d->enableActions();
}

QByteArray MainWindow::saveLayout() const {
    QByteArray bytes;
    QDataStream out(&bytes, QIODevice::WriteOnly);
    out.setVersion(QDataStream::Qt_6_4);
    out << kLayoutMagic << saveGeometry() << d->sides->saveState() << !d->status->isHidden();
    return bytes;
}

void MainWindow::restoreLayout(const QByteArray& layout) {
    QDataStream in(layout);
    in.setVersion(QDataStream::Qt_6_4);
    quint32 magic = 0;
    QByteArray geometry, sides;
    bool status = true;
    in >> magic >> geometry >> sides >> status;
    if (magic != kLayoutMagic || in.status() != QDataStream::Ok) return;
    restoreGeometry(geometry); // moves the window onto a screen that is there
    d->sides->restoreState(sides);
    d->status->setVisible(status);
    d->actions->setChecked(ActionId::StatusBar, status);
    d->showSides();
}

void MainWindow::finishClose() {
    d->closing = true;
    close();
}

bool MainWindow::closeTopmost() {
    if (d->viewer->isVisible()) {
        emit d->viewer->closed();
        return true;
    }
    if (d->sidebar->clearSearch()) return true;
    if (d->find->isVisible() && d->find->isAncestorOf(QApplication::focusWidget())) {
        emit d->find->closed();
        return true;
    }
    return d->sides->closeOverlays();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (d->closing) {
        event->accept();
        return;
    }
    event->ignore();
    emit closeWished();
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    d->fitComposer();
    d->dropHint->setGeometry(centralWidget()->rect());
    d->layoutTimer.start();
}

void MainWindow::moveEvent(QMoveEvent* event) {
    QMainWindow::moveEvent(event);
    d->layoutTimer.start();
}

void MainWindow::showEvent(QShowEvent* event) {
    QMainWindow::showEvent(event);
    d->fitComposer();
    d->showSides();
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (!d || !d->composer) return;
    if (event->type() == QEvent::FontChange || event->type() == QEvent::ApplicationFontChange) {
        d->composer->setMaximumWidth(ems(48));
        d->fitComposer();
    }
    if (event->type() == QEvent::WindowStateChange)
        d->actions->setChecked(ActionId::FullScreen, windowState() & Qt::WindowFullScreen);
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape && closeTopmost()) return;
    QMainWindow::keyPressEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (page() != Page::Chat && !ggufFiles(event->mimeData())) return;
    if (!Composer::accepts(event->mimeData()) && !event->mimeData()->hasText()) return;
    event->acceptProposedAction();
    d->dropHint->setVisible(Composer::accepts(event->mimeData()) && !ggufFiles(event->mimeData()));
    d->dropHint->raise();
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent*) { d->dropHint->hide(); }

void MainWindow::dropEvent(QDropEvent* event) {
    d->dropHint->hide();
    event->acceptProposedAction();
    const QMimeData* given = event->mimeData();
    if (ggufFiles(given)) {
        // Model files mean the set-up page, wherever they fall.
        QStringList paths;
        const QList<QUrl> urls = given->urls();
        for (const QUrl& url : urls) paths += url.toLocalFile();
        emit d->setup->filesChosen(paths);
    } else if (Composer::accepts(given)) {
        d->composer->take(given);
        d->composer->focusText();
    } else {
        d->composer->insertText(given->text());
        d->composer->focusText();
    }
}

} // namespace ui

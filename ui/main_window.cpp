#include "ui/main_window.h"

#include "ui/controls.h"
#include "ui/help_dialogs.h"
#include "ui/main_window_parts.h"
#include "ui/notice_card.h"

#include <QAction>
#include <QApplication>
#include <QCloseEvent>
#include <QDataStream>
#include <QDragEnterEvent>
#include <QIODevice>
#include <QKeyEvent>
#include <QMenuBar>
#include <QMimeData>
#include <QShortcut>
#include <QUrl>

namespace ui {

namespace {

constexpr quint32 kLayoutMagic = 0x474c4c31; // "GLL1"

bool ggufFiles(const QMimeData* data) {
    const QList<QUrl> urls = data->urls();
    return !urls.isEmpty() && std::all_of(urls.begin(), urls.end(), [](const QUrl& url) {
        return url.isLocalFile() && url.path().endsWith(".gguf", Qt::CaseInsensitive);
    });
}

} // namespace

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
    connect(actions, &ActionSet::triggered, q,
            [this](ActionId id, bool checked) { carryOut(id, checked); });
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
    connect(panel, &PerformancePanel::copied, status,
            [this] { status->say(MainWindow::tr("Copied")); });
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

    connect(new QShortcut(QKeySequence(Qt::ControlModifier | Qt::Key_L), q), &QShortcut::activated,
            q, [this] { composer->focusText(); });
    connect(new QShortcut(QKeySequence(Qt::Key_F6), q), &QShortcut::activated, q,
            [this] { nextArea(1); });
    connect(new QShortcut(QKeySequence(Qt::ShiftModifier | Qt::Key_F6), q), &QShortcut::activated,
            q, [this] { nextArea(-1); });
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
        ->setShortcuts({QKeySequence(Qt::ControlModifier | Qt::Key_Plus),
                        QKeySequence(Qt::ControlModifier | Qt::Key_Equal)});
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

ActionSet& MainWindow::actionSet() {
    return *d->actions;
}
Sidebar& MainWindow::sidebar() {
    return *d->sidebar;
}
TranscriptView& MainWindow::transcript() {
    return *d->transcript;
}
Composer& MainWindow::composer() {
    return *d->composer;
}
PerformancePanel& MainWindow::panel() {
    return *d->panel;
}
ModelSetup& MainWindow::setup() {
    return *d->setup;
}
LoadingPage& MainWindow::loading() {
    return *d->loading;
}
StatusLine& MainWindow::statusLine() {
    return *d->status;
}

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
    case engine::ThinkingStrength::Medium:
        d->actions->setChecked(ActionId::ThinkingMedium, true);
        break;
    case engine::ThinkingStrength::High:
        d->actions->setChecked(ActionId::ThinkingHigh, true);
        break;
    case engine::ThinkingStrength::ExtraHigh:
        d->actions->setChecked(ActionId::ThinkingExtraHigh, true);
        break;
    }
}

void MainWindow::setDraftLength(engine::DraftLength length) {
    using enum ActionId;
    static const std::pair<int, ActionId> rows[] = {
        {engine::DraftLength::kAutomatic, DraftAutomatic},
        {0, DraftOff},
        {4, DraftShort},
        {8, DraftMedium},
        {12, DraftLong},
        {15, DraftLongest}};
    for (const auto& [tokens, id] : rows) d->actions->setChecked(id, tokens == length.tokens);
}

void MainWindow::setMemoryDot(const QString& text, NoticeKind kind, const QString& why) {
    d->title->setMemory(text, kind, why);
}

void MainWindow::showNotice(const Notice& notice) {
    const auto cards = d->notices->parentWidget()->findChildren<NoticeCard*>(
        QString(), Qt::FindDirectChildrenOnly);
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
    const auto cards = d->notices->parentWidget()->findChildren<NoticeCard*>(
        QString(), Qt::FindDirectChildrenOnly);
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

void MainWindow::showPicture(const QImage& image, const QString& name) {
    d->viewer->open(image, name);
}

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
    if (d->sides->closeOverlays()) return true;
    if (!d->composer->editing() || !d->composer->isAncestorOf(QApplication::focusWidget()))
        return false;
    d->composer->endEdit();
    return true;
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

void MainWindow::dragLeaveEvent(QDragLeaveEvent*) {
    d->dropHint->hide();
}

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

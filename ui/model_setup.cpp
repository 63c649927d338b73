#include "ui/model_setup.h"

#include "ui/controls.h"
#include "ui/model_slot.h"
#include "ui/notice_card.h"
#include "ui/theme.h"

#include <QCoreApplication>
#include <QDragEnterEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QLocale>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QUrl>
#include <QVBoxLayout>

#include <array>
#include <cmath>

namespace ui {

namespace {

// Sizes on disk are in GB = 10⁹ bytes, as file managers of the download pages count them.
QString gigabytes(qint64 bytes) {
    if (bytes < 10'000'000)
        return ModelSetup::tr("%1 MB").arg(QLocale().toString(double(bytes) / 1e6, 'f', 1));
    if (bytes < 995'000'000)
        return ModelSetup::tr("%1 MB").arg(QLocale().toString(double(bytes) / 1e6, 'f', 0));
    return ModelSetup::tr("%1 GB").arg(QLocale().toString(double(bytes) / 1e9, 'f', 2));
}

QString partName(const FoundFile& file) {
    if (!file.slot) return file.note;
    switch (*file.slot) {
    case ModelSlot::Target: return ModelSetup::tr("Model");
    case ModelSlot::Projector: return ModelSetup::tr("Vision part");
    case ModelSlot::Drafter: return ModelSetup::tr("Draft help");
    }
    return {};
}

} // namespace

class ModelSetup::Private : public QObject {
public:
    using QObject::QObject;
    QPushButton* back = nullptr;
    NoticeCard* notice = nullptr;
    QPushButton* look = nullptr;
    QLabel* searching = nullptr;
    QListWidget* found = nullptr;
    QWidget* foundBox = nullptr;
    QLabel* foundTitle = nullptr;
    std::array<ModelSlotCard*, 3> cards{};
    PlanCard* plan = nullptr;
    bool lookingNow = false;
};

ModelSetup::ModelSetup(QWidget* parent) : QWidget(parent), d(new Private(this)) {
    setAcceptDrops(true);
    setAccessibleName(tr("Model files"));
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    auto* scroll = new QScrollArea(this);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setAccessibleName(tr("Model files"));
    scroll->verticalScrollBar()->setAccessibleName(tr("Scroll the model files"));
    outer->addWidget(scroll);
    auto* page = new QWidget(scroll);
    page->setProperty("kind", "page");
    page->setAccessibleName(tr("Model files"));
    scroll->setWidget(page);
    auto* row = new QHBoxLayout(page);
    row->setContentsMargins(24, 32, 24, 32);
    row->addStretch(1);
    auto* middle = new QWidget(page);
    middle->setMaximumWidth(ems(50));
    row->addWidget(middle, 1000);
    row->addStretch(1);
    auto* column = new QVBoxLayout(middle);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);

    d->back = new QPushButton(ui::icon("chevron-left"), tr("Back to the Chat"), middle);
    d->back->hide();
    column->addWidget(d->back, 0, Qt::AlignLeading);
    d->notice = new NoticeCard(middle);
    d->notice->hide();
    column->addWidget(d->notice);
    auto* title = label(tr("Choose the model files"), middle);
    setFontRole(title, FontRole::Large);
    title->setWordWrap(true);
    column->addWidget(title);
    auto* text =
        label(tr("They stay where they are; nothing is copied and nothing is sent anywhere. "
                 "Drop them here in any order, or let Glint look."),
              middle, "muted");
    text->setWordWrap(true);
    column->addWidget(text);
    auto* buttons = new FlowLayout(8);
    buttons->setContentsMargins(0, 8, 0, 8);
    d->look = new QPushButton(tr("Look on This Computer"), middle);
    d->look->setProperty("kind", "primary");
    d->look->setToolTip(
        tr("Look in the folders of LM Studio, Hugging Face and Ollama, and in Downloads"));
    buttons->addWidget(d->look);
    auto* choose = new QPushButton(tr("Choose Files…"), middle);
    buttons->addWidget(choose);
    column->addLayout(buttons);
    d->searching = label({}, middle, "muted");
    d->searching->setWordWrap(true);
    d->searching->hide();
    column->addWidget(d->searching);

    d->foundBox = new QWidget(middle);
    auto* foundColumn = new QVBoxLayout(d->foundBox);
    foundColumn->setContentsMargins(0, 0, 0, 8);
    foundColumn->setSpacing(6);
    d->foundTitle = label({}, d->foundBox);
    setFontRole(d->foundTitle, FontRole::Strong);
    foundColumn->addWidget(d->foundTitle);
    d->found = new QListWidget(d->foundBox);
    d->found->setAccessibleName(tr("Files found"));
    d->found->setSelectionMode(QAbstractItemView::ExtendedSelection);
    d->found->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    d->found->setTextElideMode(Qt::ElideMiddle);
    d->found->verticalScrollBar()->setAccessibleName(tr("Scroll the files found"));
    foundColumn->addWidget(d->found);
    auto* use = new QPushButton(tr("Use the Marked Files"), d->foundBox);
    foundColumn->addWidget(use, 0, Qt::AlignLeading);
    d->foundBox->hide();
    column->addWidget(d->foundBox);

    for (const ModelSlot slot : {ModelSlot::Target, ModelSlot::Projector, ModelSlot::Drafter}) {
        auto* card = new ModelSlotCard(slot, middle);
        d->cards[size_t(slot)] = card;
        column->addWidget(card);
        column->addSpacing(4);
        connect(card, &ModelSlotCard::chooseWished, this,
                [this, slot] { emit chooseWished(slot); });
        connect(card, &ModelSlotCard::clearWished, this, [this, slot] { emit clearWished(slot); });
        connect(card, &ModelSlotCard::remedyWished, this, &ModelSetup::remedyWished);
    }
    d->plan = new PlanCard(middle);
    d->plan->hide();
    column->addWidget(d->plan);
    column->addStretch(1);

    connect(d->back, &QPushButton::clicked, this, &ModelSetup::backWished);
    connect(d->notice, &NoticeCard::remedyWished, this, &ModelSetup::remedyWished);
    connect(d->notice, &NoticeCard::closed, d->notice, &QWidget::hide);
    connect(d->look, &QPushButton::clicked, this, [this] {
        if (d->lookingNow)
            emit stopLookingWished();
        else
            emit lookWished();
    });
    connect(choose, &QPushButton::clicked, this, &ModelSetup::chooseAnyWished);
    const auto take = [this] {
        QStringList paths;
        const QList<QListWidgetItem*> items = d->found->selectedItems();
        for (const QListWidgetItem* item : items)
            if (item->flags() & Qt::ItemIsEnabled) paths += item->data(Qt::UserRole).toString();
        if (!paths.isEmpty()) emit filesChosen(paths);
    };
    connect(use, &QPushButton::clicked, this, take);
    connect(d->found, &QListWidget::itemActivated, this, take);
    connect(d->plan, &PlanCard::choiceChanged, this, &ModelSetup::choiceChanged);
    connect(d->plan, &PlanCard::loadWished, this, &ModelSetup::loadWished);
}

void ModelSetup::setSlot(ModelSlot slot, const SlotState& state) {
    d->cards[size_t(slot)]->setState(state);
}

void ModelSetup::setPlan(const std::optional<PlanState>& plan) {
    if (plan) d->plan->setPlan(*plan);
    d->plan->setVisible(plan.has_value());
    // One filled button at a time: what comes next.
    d->look->setProperty("kind", plan ? QVariant() : QVariant("primary"));
    d->look->style()->unpolish(d->look);
    d->look->style()->polish(d->look);
}

void ModelSetup::setSearching(bool searching, const QString& where) {
    d->lookingNow = searching;
    d->look->setText(searching ? tr("Stop Looking") : tr("Look on This Computer"));
    d->searching->setVisible(searching);
    d->searching->setText(where.isEmpty() ? tr("Looking…") : tr("Looking in %1…").arg(where));
}

void ModelSetup::setFound(const QList<FoundFile>& files) {
    d->found->clear();
    for (const FoundFile& file : files) {
        QStringList parts{file.name, gigabytes(file.bytes)};
        if (!partName(file).isEmpty()) parts += partName(file);
        if (!file.where.isEmpty()) parts += file.where;
        auto* item = new QListWidgetItem(parts.join(QString(" · ")), d->found);
        item->setData(Qt::UserRole, file.path);
        item->setToolTip(file.note.isEmpty() ? file.path : file.path + "\n" + file.note);
        if (!file.slot) item->setFlags(Qt::NoItemFlags);
    }
    d->foundTitle->setText(files.isEmpty() ? tr("No model files were found. Choose them yourself.")
                           : files.size() == 1
                               ? tr("One file was found")
                               : tr("%n files were found", nullptr, int(files.size())));
    const int rowHeight = d->found->sizeHintForRow(0) > 0 ? d->found->sizeHintForRow(0) : ems(1.6);
    d->found->setFixedHeight(std::min(rowHeight * int(files.size()) + 6, ems(14)));
    d->found->setVisible(!files.isEmpty());
    for (QPushButton* use : d->foundBox->findChildren<QPushButton*>())
        use->setVisible(!files.isEmpty());
    d->foundBox->show();
}

void ModelSetup::setNotice(const std::optional<Notice>& notice) {
    if (notice) d->notice->setNotice(*notice);
    d->notice->setVisible(notice.has_value());
}

void ModelSetup::setCanGoBack(bool can) {
    d->back->setVisible(can);
}

void ModelSetup::dragEnterEvent(QDragEnterEvent* event) {
    const QList<QUrl> urls = event->mimeData()->urls();
    for (const QUrl& url : urls)
        if (url.isLocalFile()) event->acceptProposedAction();
}

void ModelSetup::dropEvent(QDropEvent* event) {
    QStringList paths;
    const QList<QUrl> urls = event->mimeData()->urls();
    for (const QUrl& url : urls)
        if (url.isLocalFile()) paths += url.toLocalFile();
    if (paths.isEmpty()) return;
    event->acceptProposedAction();
    emit filesChosen(paths);
}

void ModelSetup::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange && d->plan)
        d->plan->parentWidget()->setMaximumWidth(ems(50));
}

LoadingPage::LoadingPage(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Loading"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(24, 24, 24, 24);
    row->addStretch(1);
    auto* middle = new QWidget(this);
    middle->setMaximumWidth(ems(34));
    row->addWidget(middle, 1000);
    row->addStretch(1);
    auto* column = new QVBoxLayout(middle);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(10);
    column->addStretch(2);
    m_title = label(tr("Loading"), middle);
    m_title->setWordWrap(true);
    setFontRole(m_title, FontRole::Large);
    column->addWidget(m_title);
    m_phase = label({}, middle, "muted");
    m_phase->setWordWrap(true);
    column->addWidget(m_phase);
    m_bar = new QProgressBar(middle);
    m_bar->setTextVisible(false);
    m_bar->setRange(0, 1000);
    m_bar->setAccessibleName(tr("Loading"));
    column->addWidget(m_bar);
    auto* bottom = new QHBoxLayout;
    m_figures = label({}, middle);
    setFontRole(m_figures, FontRole::Number);
    bottom->addWidget(m_figures, 1);
    m_cancel = new QPushButton(tr("Cancel"), middle);
    bottom->addWidget(m_cancel);
    column->addLayout(bottom);
    auto* note = label(tr("Your old chats can be read and searched meanwhile."), middle, "muted");
    note->setWordWrap(true);
    setFontRole(note, FontRole::Caption);
    column->addWidget(note);
    column->addStretch(3);
    connect(m_cancel, &QPushButton::clicked, this, &LoadingPage::cancelWished);
}

void LoadingPage::setModelName(const QString& name) {
    m_title->setText(name.isEmpty() ? tr("Loading") : tr("Loading %1").arg(name));
}

void LoadingPage::setProgress(const QString& phase, qint64 bytesDone, qint64 bytesTotal,
                              double secondsLeft) {
    m_phase->setText(phase);
    m_bar->setRange(0, bytesTotal > 0 ? 1000 : 0);
    if (bytesTotal > 0) m_bar->setValue(int(bytesDone * 1000 / bytesTotal));
    QString figures = bytesTotal > 0
                          ? tr("%1 of %2").arg(gigabytes(bytesDone), gigabytes(bytesTotal))
                          : QString();
    if (bytesTotal > 0 && secondsLeft >= 1)
        figures =
            tr("%1, about %2 s left").arg(figures, QLocale().toString(int(std::ceil(secondsLeft))));
    m_figures->setText(figures);
    m_bar->setAccessibleDescription(figures);
}

} // namespace ui

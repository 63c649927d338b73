#include "ui/plan_card.h"

#include "ui/controls.h"
#include "ui/memory_bar.h"
#include "ui/theme.h"

#include <QCheckBox>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPainter>
#include <QPushButton>
#include <QSlider>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace ui {

namespace {

constexpr qint64 kLeastTokens = 2048;
constexpr double kTokensPerPage = 650; // a printed page of about 500 words

// Steps of the slider: each doubles, with one between, ending at the model's limit.
std::vector<qint64> lengths(qint64 most) {
    std::vector<qint64> steps;
    for (qint64 tokens = kLeastTokens; tokens < most; tokens *= 2) {
        steps.push_back(tokens);
        if (tokens + tokens / 2 < most) steps.push_back(tokens + tokens / 2);
    }
    steps.push_back(std::max<qint64>(most, 1));
    return steps;
}

} // namespace

class PlanCard::Private : public QObject {
    Q_DECLARE_TR_FUNCTIONS(ui::PlanCard)
public:
    explicit Private(PlanCard* card) : QObject(card), q(card) {}

    PlanCard* q;
    PlanState state;
    PlanChoice choice;
    std::vector<qint64> steps;
    QLabel *sentence, *place, *lengthText;
    MemoryBar* bar;
    FlowLayout* legend;
    std::vector<LegendRow*> legendRows;
    QSlider* slider;
    QCheckBox *draft, *vision;
    QWidget* offers;
    FlowLayout* offerRow;
    QPushButton* load;
    bool filling = false;

    static QString pages(qint64 tokens) {
        int pages = std::max(1, int(std::lround(double(tokens) / kTokensPerPage)));
        if (pages > 20) pages = (pages + 5) / 10 * 10; // an estimate does not know single pages
        return pages == 1 ? tr("about one page") : tr("about %n pages", nullptr, pages);
    }

    void change() {
        if (filling) return;
        choice.contextTokens = steps[size_t(slider->value())];
        choice.draft = draft->isChecked();
        choice.vision = vision->isChecked();
        showLength();
        emit q->choiceChanged(choice);
    }

    void showLength() {
        const QString tokens = tr("%1 tokens").arg(QLocale().toString(choice.contextTokens));
        lengthText->setText(tokens);
        slider->setAccessibleDescription(tokens);
    }

    void showOffers() {
        while (QLayoutItem* item = offerRow->takeAt(0)) {
            item->widget()->hide();
            item->widget()->deleteLater();
            delete item;
        }
        const bool wanted = !state.plan.fits && !state.offers.empty();
        offers->setVisible(wanted);
        if (!wanted) return;
        const size_t shown = std::min<size_t>(3, state.offers.size());
        for (size_t i = 0; i < shown; ++i) {
            const engine::PlacementPlan& plan = state.offers[i];
            QStringList parts{pages(plan.contextTokens)};
            if (state.draftPossible)
                parts += plan.useDraft ? tr("with draft help") : tr("without draft help");
            if (state.visionPossible)
                parts += plan.useVision ? tr("with pictures") : tr("without pictures");
            auto* button = new QPushButton(tr("Use %1").arg(parts.join(", ")), offers);
            connect(button, &QPushButton::clicked, this, [this, plan] {
                choice = {plan.contextTokens, plan.useVision, plan.useDraft};
                emit q->choiceChanged(choice);
            });
            offerRow->addWidget(button);
        }
    }
};

PlanCard::PlanCard(QWidget* parent) : QWidget(parent), d(new Private(this)) {
    setAccessibleName(tr("Plan"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 14, 16, 14);
    column->setSpacing(10);
    d->sentence = label({}, this);
    d->sentence->setWordWrap(true);
    setFontRole(d->sentence, FontRole::Strong);
    column->addWidget(d->sentence);
    d->bar = new MemoryBar(this);
    column->addWidget(d->bar);
    d->legend = new FlowLayout(16);
    column->addLayout(d->legend);

    auto* lengthRow = new QHBoxLayout;
    lengthRow->setSpacing(12);
    auto* lengthName = label(tr("Conversation length"), this);
    lengthRow->addWidget(lengthName);
    d->slider = new QSlider(Qt::Horizontal, this);
    d->slider->setAccessibleName(tr("Conversation length"));
    d->slider->setToolTip(tr("Context: how much of the conversation the model can see at once"));
    d->slider->setMinimumHeight(28);
    d->slider->setPageStep(2);
    lengthName->setBuddy(d->slider);
    lengthRow->addWidget(d->slider, 1);
    d->lengthText = label({}, this);
    setFontRole(d->lengthText, FontRole::Number);
    lengthRow->addWidget(d->lengthText);
    column->addLayout(lengthRow);

    d->offers = new QWidget(this);
    auto* offerColumn = new QVBoxLayout(d->offers);
    offerColumn->setContentsMargins(0, 0, 0, 0);
    offerColumn->addWidget(label(tr("These fit:"), d->offers, "muted"));
    d->offerRow = new FlowLayout(8);
    offerColumn->addLayout(d->offerRow);
    d->offers->hide();
    column->addWidget(d->offers);

    auto* bottom = new QHBoxLayout;
    bottom->setSpacing(16);
    auto* switches = new FlowLayout(16);
    d->draft = new QCheckBox(tr("Draft help"), this);
    d->draft->setToolTip(tr("A small model guesses the next words and the large one checks them. "
                            "The text stays the same and comes faster."));
    d->vision = new QCheckBox(tr("Vision part, for pictures"), this);
    d->vision->setToolTip(tr("Projector: lets the model see the pictures that you attach"));
    switches->addWidget(d->draft);
    switches->addWidget(d->vision);
    bottom->addLayout(switches, 1);
    d->load = new QPushButton(tr("Load"), this);
    d->load->setProperty("kind", "primary");
    bottom->addWidget(d->load, 0, Qt::AlignBottom);
    column->addLayout(bottom);
    d->place = label({}, this, "muted");
    d->place->setWordWrap(true);
    setFontRole(d->place, FontRole::Caption);
    column->addWidget(d->place);

    connect(d->slider, &QSlider::valueChanged, d, [this] { d->change(); });
    connect(d->draft, &QCheckBox::toggled, d, [this] { d->change(); });
    connect(d->vision, &QCheckBox::toggled, d, [this] { d->change(); });
    connect(d->load, &QPushButton::clicked, this, [this] { emit loadWished(d->choice); });
}

void PlanCard::setPlan(const PlanState& state) {
    d->state = state;
    d->choice = state.choice;
    const engine::PlacementPlan& plan = state.plan;
    d->filling = true;
    d->steps = lengths(state.maxContextTokens);
    // A plan may name a length between the steps: it becomes one.
    const auto at = std::lower_bound(d->steps.begin(), d->steps.end(), state.choice.contextTokens);
    if (state.choice.contextTokens > 0 &&
        (at == d->steps.end() || *at != state.choice.contextTokens) &&
        state.choice.contextTokens < state.maxContextTokens)
        d->steps.insert(at, state.choice.contextTokens);
    d->slider->setRange(0, int(d->steps.size()) - 1);
    const auto step =
        std::lower_bound(d->steps.begin(), d->steps.end(), state.choice.contextTokens);
    d->slider->setValue(int(
        std::min<std::ptrdiff_t>(step - d->steps.begin(), std::ptrdiff_t(d->steps.size()) - 1)));
    d->draft->setEnabled(state.draftPossible);
    d->draft->setChecked(state.choice.draft && state.draftPossible);
    d->vision->setEnabled(state.visionPossible);
    d->vision->setChecked(state.choice.vision && state.visionPossible);
    d->filling = false;
    d->showLength();

    // All that is not free and not ours is in use by others.
    const qint64 others = std::max<qint64>(0, plan.totalBytes - plan.freeBytes);
    const qint64 used = plan.memory.total() + others;
    if (plan.fits)
        d->sentence->setText(tr("Fits: %1 of %2. Conversation up to %3.")
                                 .arg(gibibytes(used, false), gibibytes(plan.totalBytes),
                                      Private::pages(plan.contextTokens)));
    else
        d->sentence->setText(
            tr("Does not fit: %1 more is needed, other programs hold %2.")
                .arg(gibibytes(std::max<qint64>(0, plan.memory.total() - plan.freeBytes)),
                     gibibytes(others)));
    setTone(d->sentence, plan.fits ? nullptr : "bad");
    const auto parts = memoryParts(plan.memory, others, plan.totalBytes - used);
    d->bar->setParts(parts, plan.totalBytes, 0);
    while (d->legendRows.size() < parts.size()) {
        d->legendRows.push_back(new LegendRow(this));
        d->legendRows.back()->setCompact(true);
        setFontRole(d->legendRows.back(), FontRole::Caption);
        d->legend->addWidget(d->legendRows.back());
    }
    for (size_t i = 0; i < d->legendRows.size(); ++i) {
        d->legendRows[i]->setVisible(i < parts.size());
        if (i < parts.size()) d->legendRows[i]->setRow(parts[i], gibibytes(parts[i].bytes));
    }
    d->place->setText(state.place);
    d->place->setVisible(!state.place.isEmpty());
    d->load->setEnabled(plan.fits);
    d->load->setToolTip(plan.fits ? tr("Load the model with this plan")
                                  : tr("This plan does not fit"));
    d->showOffers();
    updateGeometry();
}

PlanChoice PlanCard::choice() const {
    return d->choice;
}

void PlanCard::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange) updateGeometry();
}

void PlanCard::paintEvent(QPaintEvent*) {
    const Colours& c = colours();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(c.surface);
    painter.setPen(c.line);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 10, 10);
}

} // namespace ui

#include "ui/performance_panel.h"

#include "ui/controls.h"
#include "ui/memory_bar.h"
#include "ui/speed_graph.h"
#include "ui/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
#include <QLabel>
#include <QLocale>
#include <QPainter>
#include <QScrollArea>
#include <QScrollBar>
#include <QVBoxLayout>

#include <algorithm>

namespace ui {

namespace {

// How full the conversation is.
class ContextMeter : public QWidget {
public:
    explicit ContextMeter(QWidget* parent) : QWidget(parent) { setFixedHeight(8); }
    void setShare(double share) {
        m_share = std::clamp(share, 0.0, 1.0);
        update();
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const Colours& c = colours();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(c.line);
        painter.drawRoundedRect(rect(), 3, 3);
        if (m_share <= 0) return;
        QRectF part(0, 0, std::max(4.0, m_share * width()), height());
        if (isRightToLeft()) part.moveRight(width());
        painter.setBrush(c.fourth);
        painter.drawRoundedRect(part, 3, 3);
    }

private:
    double m_share = 0;
};

} // namespace

class PerformancePanel::Private : public QObject {
    Q_DECLARE_TR_FUNCTIONS(ui::PerformancePanel)
public:
    explicit Private(PerformancePanel* panel) : QObject(panel), q(panel) {}

    PerformancePanel* q;
    PanelState state;
    QVBoxLayout* column = nullptr;
    QWidget* content = nullptr;

    QLabel *stateLine, *place, *memoryTitle, *memoryNone;
    MemoryBar* bar;
    QVBoxLayout* legend;
    std::vector<LegendRow*> legendRows;
    SpeedGraph* graph;
    LegendRow *writing, *reading, *firstWord;
    LegendRow *accepted, *gain;
    ContextMeter* meter;
    LegendRow* context;
    LegendRow *written, *read, *thought;
    QLabel* lastTitle;

    static QString none() { return tr("not available"); }
    // What happens now, else the last answer's average.
    static std::optional<double> nowOrLast(const std::optional<double>& rate, int tokens,
                                           double seconds) {
        if (rate || tokens <= 0 || seconds <= 0) return rate;
        return tokens / seconds;
    }
    std::optional<double> writingRate() const {
        const engine::AnswerFigures last = state.lastAnswer.value_or(engine::AnswerFigures{});
        return nowOrLast(state.writingPerSecond, last.writtenTokens, last.writeSeconds);
    }
    std::optional<double> readingRate() const {
        const engine::AnswerFigures last = state.lastAnswer.value_or(engine::AnswerFigures{});
        return nowOrLast(state.readingPerSecond, last.readTokens, last.readSeconds);
    }
    static QString rate(const std::optional<double>& value) {
        if (!value) return none();
        return tr("%1 tokens/s").arg(QLocale().toString(*value, 'f', *value < 10 ? 1 : 0));
    }
    static QString seconds(double value) {
        return tr("%1 s").arg(QLocale().toString(value, 'f', value < 10 ? 1 : 0));
    }
    static QString number(qint64 value) { return QLocale().toString(value); }

    QLabel* heading(const QString& text) {
        column->addSpacing(16);
        QLabel* made = label(text, content);
        setFontRole(made, FontRole::Strong);
        column->addWidget(made);
        column->addSpacing(4);
        return made;
    }
    LegendRow* row() {
        auto* made = new LegendRow(content);
        column->addWidget(made);
        return made;
    }

    QString acceptedText() const {
        if (!state.draftAvailable || !state.guessedTokens || !state.acceptedTokens) return none();
        return tr("%1 of %2").arg(number(*state.acceptedTokens), number(*state.guessedTokens));
    }
    QString gainText() const {
        if (!state.draftAvailable) return none();
        if (state.draftPaused) return tr("no gain – paused");
        if (!state.gain || *state.gain <= 0) return none();
        return tr("%1×").arg(QLocale().toString(*state.gain, 'f', 1));
    }
    QString contextText() const {
        if (!state.contextUsed || !state.contextTotal) return none();
        return tr("%1 of %2 tokens").arg(number(*state.contextUsed), number(*state.contextTotal));
    }

    void show() {
        stateLine->setText(state.state);
        place->setText(state.place);
        place->setVisible(!state.place.isEmpty());
        memoryTitle->setText(state.memory && state.memory->graphics ? tr("Graphics memory")
                                                                    : tr("Memory"));
        bar->setVisible(state.memory.has_value());
        memoryNone->setVisible(!state.memory);
        std::vector<MemoryPart> parts;
        if (state.memory) {
            const MemoryFigures& memory = *state.memory;
            parts = memoryParts(memory.parts, memory.otherBytes, memory.freeBytes);
            bar->setParts(parts, memory.totalBytes, memory.safeBytes);
        }
        while (legendRows.size() < parts.size()) {
            legendRows.push_back(new LegendRow(content));
            legend->addWidget(legendRows.back());
        }
        for (size_t i = 0; i < legendRows.size(); ++i) {
            legendRows[i]->setVisible(i < parts.size());
            if (i < parts.size()) legendRows[i]->setRow(parts[i], gibibytes(parts[i].bytes));
        }
        MemoryPart line{tr("Writing"),
                        tr("Tokens of the answer per second, now or on average of the last answer"),
                        0, &Colours::accent, PartPattern::Solid};
        writing->setRow(line, rate(writingRate()));
        line = {tr("Reading"),
                tr("Prefill: tokens of your message per second, now or of the last one"), 0,
                &Colours::second, PartPattern::Diagonal};
        reading->setRow(line, rate(readingRate()));
        firstWord->setText(tr("Time to first word"),
                           state.firstWordSeconds ? seconds(*state.firstWordSeconds) : none(),
                           tr("From sending to the first word, thinking included"));
        accepted->setText(tr("Words accepted of guessed"), acceptedText(),
                          tr("Speculative decoding: a small model guesses the next words, the "
                             "large one checks them. "
                             "The text stays the same."));
        gain->setText(tr("Gain against no drafting"), gainText(),
                      tr("How much faster the answer comes than without draft help"));
        gain->setTone(state.draftAvailable && !state.draftPaused && state.gain && *state.gain > 1
                          ? &Colours::good
                          : &Colours::text);
        const bool known = state.contextUsed && state.contextTotal && *state.contextTotal > 0;
        meter->setShare(known ? double(*state.contextUsed) / double(*state.contextTotal) : 0);
        context->setText(
            contextText(),
            known ? tr("%1 %").arg(number(*state.contextUsed * 100 / *state.contextTotal))
                  : QString(),
            tr("Context: how much of the conversation the model can see at once"));
        const bool last = state.lastAnswer.has_value();
        for (QWidget* part : std::initializer_list<QWidget*>{lastTitle, written, read, thought})
            part->setVisible(last);
        if (last) {
            const engine::AnswerFigures& figures = *state.lastAnswer;
            written->setText(tr("Written"), tr("%1 tokens in %2")
                                                .arg(number(figures.writtenTokens),
                                                     seconds(figures.writeSeconds)));
            read->setText(
                tr("Read"),
                tr("%1 of %2 tokens").arg(number(figures.readTokens), number(figures.promptTokens)),
                tr("Tokens read for this answer; the others were still in memory"));
            thought->setVisible(figures.thinkingSeconds > 0);
            thought->setText(tr("Thought"), seconds(figures.thinkingSeconds));
        }
    }
};

PerformancePanel::PerformancePanel(QWidget* parent) : QWidget(parent), d(new Private(this)) {
    setAccessibleName(tr("Performance"));
    setMinimumWidth(240);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->setSpacing(0);
    auto* scroll = new QScrollArea(this);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setAccessibleName(tr("Performance"));
    scroll->verticalScrollBar()->setAccessibleName(tr("Scroll the performance panel"));
    d->content = new QWidget(scroll);
    d->content->setAccessibleName(tr("Performance"));
    scroll->setWidget(d->content);
    outer->addWidget(scroll, 1);

    d->column = new QVBoxLayout(d->content);
    d->column->setContentsMargins(16, 14, 16, 12);
    d->column->setSpacing(0);
    d->stateLine = label({}, d->content);
    d->stateLine->setWordWrap(true);
    setFontRole(d->stateLine, FontRole::Strong);
    d->column->addWidget(d->stateLine);
    d->place = label({}, d->content, "muted");
    d->place->setWordWrap(true);
    setFontRole(d->place, FontRole::Caption);
    d->column->addSpacing(4);
    d->column->addWidget(d->place);

    d->memoryTitle = d->heading(tr("Memory"));
    d->bar = new MemoryBar(d->content);
    d->column->addWidget(d->bar);
    d->column->addSpacing(4);
    d->memoryNone = label(Private::none(), d->content, "muted");
    d->column->addWidget(d->memoryNone);
    d->legend = new QVBoxLayout;
    d->legend->setSpacing(0);
    d->column->addLayout(d->legend);

    d->heading(tr("Speed"));
    d->graph = new SpeedGraph(d->content);
    d->column->addWidget(d->graph);
    d->column->addSpacing(4);
    d->writing = d->row();
    d->reading = d->row();
    d->firstWord = d->row();

    d->heading(tr("Draft help"));
    d->accepted = d->row();
    d->gain = d->row();

    d->heading(tr("Conversation length"));
    d->meter = new ContextMeter(d->content);
    d->meter->setAccessibleName(tr("How full the conversation is"));
    d->column->addWidget(d->meter);
    d->column->addSpacing(2);
    d->context = d->row();

    d->lastTitle = d->heading(tr("Last answer"));
    d->written = d->row();
    d->read = d->row();
    d->thought = d->row();
    d->column->addStretch(1);

    auto* copy = textButton(tr("Copy as Text"), this, "copy");
    copy->setToolTip(tr("Copy these figures, for a report"));
    auto* bottom = new QHBoxLayout;
    bottom->setContentsMargins(10, 4, 10, 8);
    bottom->addWidget(copy);
    bottom->addStretch(1);
    outer->addLayout(bottom);
    connect(copy, &QToolButton::clicked, this, [this] {
        QApplication::clipboard()->setText(asText());
        emit copied();
    });
    d->show();
}

void PerformancePanel::setState(const PanelState& state) {
    d->state = state;
    d->graph->add(state.writingPerSecond, state.readingPerSecond);
    if (isVisible()) d->show();
}

QString PerformancePanel::asText() const {
    const PanelState& state = d->state;
    QStringList lines{state.state, state.place};
    if (state.memory) {
        const MemoryFigures& memory = *state.memory;
        lines += QString("%1: %2").arg(memory.graphics ? tr("Graphics memory") : tr("Memory"),
                                       gibibytes(memory.totalBytes));
        for (const MemoryPart& part :
             memoryParts(memory.parts, memory.otherBytes, memory.freeBytes))
            lines += QString("  %1: %2").arg(part.name, gibibytes(part.bytes));
    } else {
        lines += tr("Memory: %1").arg(Private::none());
    }
    lines += tr("Writing: %1").arg(Private::rate(d->writingRate()));
    lines += tr("Reading: %1").arg(Private::rate(d->readingRate()));
    lines += tr("Time to first word: %1")
                 .arg(state.firstWordSeconds ? Private::seconds(*state.firstWordSeconds)
                                             : Private::none());
    lines += tr("Draft help, accepted of guessed: %1").arg(d->acceptedText());
    lines += tr("Draft help, gain: %1").arg(d->gainText());
    lines += tr("Conversation: %1").arg(d->contextText());
    if (state.lastAnswer)
        lines += tr("Last answer: %1 tokens in %2, %3 of %4 tokens read, thought for %5")
                     .arg(Private::number(state.lastAnswer->writtenTokens),
                          Private::seconds(state.lastAnswer->writeSeconds),
                          Private::number(state.lastAnswer->readTokens),
                          Private::number(state.lastAnswer->promptTokens),
                          Private::seconds(state.lastAnswer->thinkingSeconds));
    lines.removeAll(QString());
    return lines.join('\n') + '\n';
}

void PerformancePanel::showEvent(QShowEvent*) {
    d->show();
}

void PerformancePanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange && d->content) d->content->updateGeometry();
}

} // namespace ui

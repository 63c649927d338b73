#include "ui/speed_graph.h"

#include "ui/theme.h"

#include <QLocale>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace ui {

namespace {
constexpr qint64 kSpanMs = 60'000;
constexpr qint64 kGapMs = 2'500; // a longer pause between samples breaks the line
} // namespace

SpeedGraph::SpeedGraph(QWidget* parent) : QWidget(parent) {
    setFixedHeight(120);
    setAccessibleName(tr("Speed of the last minute"));
    m_clock.start();
    m_timer.setInterval(500);
    connect(&m_timer, &QTimer::timeout, this, [this] {
        dropOld();
        update();
        if (m_samples.empty()) m_timer.stop();
    });
}

void SpeedGraph::add(std::optional<double> writing, std::optional<double> reading) {
    const Sample sample{m_clock.elapsed(), std::max(0.0, writing.value_or(0)),
                        std::max(0.0, reading.value_or(0))};
    const bool quiet = sample.writing == 0 && sample.reading == 0;
    if (quiet && m_samples.empty()) return;
    m_samples.push_back(sample);
    dropOld();
    describe();
    if (!isVisible()) return;
    if (!m_timer.isActive()) m_timer.start();
    update();
}

void SpeedGraph::dropOld() {
    const qint64 now = m_clock.elapsed();
    while (!m_samples.empty() && now - m_samples.front().ms > kSpanMs) m_samples.pop_front();
}

void SpeedGraph::describe() {
    double writing = 0, reading = 0;
    for (const Sample& sample : m_samples) {
        writing = std::max(writing, sample.writing);
        reading = std::max(reading, sample.reading);
    }
    const QLocale locale;
    setAccessibleDescription(
        tr("At most %1 tokens per second written and %2 read")
            .arg(locale.toString(writing, 'f', 0), locale.toString(reading, 'f', 0)));
}

void SpeedGraph::showEvent(QShowEvent*) {
    if (!m_samples.empty()) m_timer.start();
}

void SpeedGraph::hideEvent(QHideEvent*) {
    m_timer.stop();
}

void SpeedGraph::paintEvent(QPaintEvent*) {
    const Colours& c = colours();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setLayoutDirection(Qt::LeftToRight); // time runs to the right everywhere
    painter.setFont(captionFont());
    const QFontMetricsF metrics(captionFont());
    const double top = metrics.height() + 6, bottom = height() - 1.5;
    painter.fillRect(QRectF(0, bottom, width(), 1), c.line);
    double mostWriting = 0, mostReading = 0;
    for (const Sample& sample : m_samples) {
        mostWriting = std::max(mostWriting, sample.writing);
        mostReading = std::max(mostReading, sample.reading);
    }
    if (mostWriting == 0 && mostReading == 0) {
        painter.setPen(c.muted);
        painter.drawText(QRectF(0, 0, width(), height()), Qt::AlignCenter | Qt::TextWordWrap,
                         tr("Nothing was written in the last minute"));
        return;
    }
    // Reading is much faster than writing, so each line has its own scale; its maximum stands
    // above.
    const qint64 now = m_clock.elapsed();
    const auto draw = [&](double Sample::*value, double most, const QColor& colour,
                          Qt::PenStyle style) {
        if (most <= 0) return;
        QPainterPath line;
        qint64 before = -1;
        for (const Sample& sample : m_samples) {
            const double x = width() - double(now - sample.ms) / kSpanMs * width();
            const double y = bottom - 1 - sample.*value / most * (bottom - top - 2);
            if (before >= 0 && sample.ms - before < kGapMs)
                line.lineTo(x, y);
            else
                line.moveTo(x, y);
            before = sample.ms;
        }
        QPen pen(colour, 2);
        if (style == Qt::DashLine) pen.setDashPattern({2.5, 2});
        pen.setJoinStyle(Qt::RoundJoin);
        painter.setPen(pen);
        painter.drawPath(line);
    };
    draw(&Sample::reading, mostReading, c.second, Qt::DashLine);
    draw(&Sample::writing, mostWriting, c.accent, Qt::SolidLine);
    const QLocale locale;
    painter.setPen(c.accent);
    const auto rate = [&](double value) { return locale.toString(value, 'f', value < 10 ? 1 : 0); };
    const QString written = mostWriting > 0 ? tr("max. %1").arg(rate(mostWriting)) : QString();
    const QString read = mostReading > 0 ? tr("max. %1 read").arg(rate(mostReading)) : QString();
    painter.drawText(QRectF(0, 0, width(), metrics.height() + 2), Qt::AlignLeft | Qt::AlignVCenter,
                     written);
    const double left = written.isEmpty() ? 0 : metrics.horizontalAdvance(written) + 8;
    painter.setPen(c.second);
    painter.drawText(QRectF(left, 0, width() - left, metrics.height() + 2),
                     Qt::AlignRight | Qt::AlignVCenter,
                     metrics.elidedText(read, Qt::ElideRight, width() - left));
}

} // namespace ui

#include "ui/memory_bar.h"

#include <QCoreApplication>
#include <QHelpEvent>
#include <QLocale>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace ui {

std::vector<MemoryPart> memoryParts(const engine::MemoryByPart& parts, qint64 otherBytes,
                                    qint64 freeBytes) {
    const auto say = [](const char* text) {
        return QCoreApplication::translate("ui::MemoryBar", text);
    };
    std::vector<MemoryPart> out = {
        {say(QT_TRANSLATE_NOOP("ui::MemoryBar", "Model")),
         say(QT_TRANSLATE_NOOP("ui::MemoryBar", "Weights of the language model")), parts.model,
         &Colours::accent, PartPattern::Solid},
        {say(QT_TRANSLATE_NOOP("ui::MemoryBar", "Vision part")),
         say(QT_TRANSLATE_NOOP("ui::MemoryBar", "Projector: reads pictures")), parts.vision,
         &Colours::second, PartPattern::Diagonal},
        {say(QT_TRANSLATE_NOOP("ui::MemoryBar", "Draft help")),
         say(QT_TRANSLATE_NOOP("ui::MemoryBar",
                               "Drafter for speculative decoding, with its cache")),
         parts.draft, &Colours::third, PartPattern::Dots},
        {say(QT_TRANSLATE_NOOP("ui::MemoryBar", "Conversation")),
         say(QT_TRANSLATE_NOOP("ui::MemoryBar", "Keys and values of the context")),
         parts.conversation, &Colours::fourth, PartPattern::Horizontal},
        {say(QT_TRANSLATE_NOOP("ui::MemoryBar", "Working memory")),
         say(QT_TRANSLATE_NOOP("ui::MemoryBar", "Intermediate results of a step")), parts.working,
         &Colours::good, PartPattern::Solid},
        {say(QT_TRANSLATE_NOOP("ui::MemoryBar", "Other programs")),
         {},
         otherBytes,
         &Colours::muted,
         PartPattern::Solid},
    };
    std::erase_if(out, [](const MemoryPart& part) { return part.bytes <= 0; });
    out.push_back({say(QT_TRANSLATE_NOOP("ui::MemoryBar", "Free")),
                   {},
                   std::max<qint64>(0, freeBytes),
                   &Colours::muted,
                   PartPattern::Frame});
    return out;
}

QString gibibytes(qint64 bytes, bool unit) {
    const double value = double(bytes) / (1024.0 * 1024 * 1024);
    if (value >= 0.095 || bytes == 0 || !unit) {
        const QString number = QLocale().toString(value, 'f', 1);
        return unit ? QCoreApplication::translate("ui::MemoryBar", "%1 GiB").arg(number) : number;
    }
    return QCoreApplication::translate("ui::MemoryBar", "%1 MiB")
        .arg(QLocale().toString(double(bytes) / (1024.0 * 1024), 'f',
                                bytes < 10 * 1024 * 1024 ? 1 : 0));
}

void paintPart(QPainter& painter, const QRectF& rect, const MemoryPart& part) {
    const Colours& c = colours();
    const QColor colour = c.*part.colour;
    painter.save();
    painter.setClipRect(rect, Qt::IntersectClip);
    painter.setRenderHint(QPainter::Antialiasing);
    switch (part.pattern) {
    case PartPattern::Solid: painter.fillRect(rect, colour); break;
    case PartPattern::Frame: break;
    case PartPattern::Diagonal:
        painter.fillRect(rect, c.raised);
        painter.setPen(QPen(colour, 3));
        for (double x = rect.left() - rect.height(); x < rect.right() + 6; x += 5.5)
            painter.drawLine(QPointF(x, rect.top() - 1),
                             QPointF(x + rect.height() + 2, rect.bottom() + 1));
        break;
    case PartPattern::Dots:
        painter.fillRect(rect, c.raised);
        painter.setPen(Qt::NoPen);
        painter.setBrush(colour);
        for (double y = rect.top() + 2.75; y < rect.bottom() + 2; y += 5.5)
            for (double x = rect.left() + 2.75; x < rect.right() + 2; x += 5.5)
                painter.drawEllipse(QPointF(x, y), 1.8, 1.8);
        break;
    case PartPattern::Horizontal:
        painter.fillRect(rect, c.raised);
        for (double y = rect.top(); y < rect.bottom(); y += 5)
            painter.fillRect(QRectF(rect.left(), y, rect.width(), 3), colour);
        break;
    }
    painter.restore();
}

MemoryBar::MemoryBar(QWidget* parent) : QWidget(parent) {
    setFixedHeight(20);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Memory"));
}

QSize MemoryBar::sizeHint() const {
    return QSize(200, 20);
}

void MemoryBar::setParts(std::vector<MemoryPart> parts, qint64 totalBytes, qint64 safeBytes) {
    m_parts = std::move(parts);
    m_total = totalBytes;
    m_safe = safeBytes;
    QStringList words;
    for (const MemoryPart& part : m_parts)
        words += QString("%1 %2").arg(part.name, gibibytes(part.bytes));
    setAccessibleDescription(words.join(", "));
    update();
}

void MemoryBar::paintEvent(QPaintEvent*) {
    const Colours& c = colours();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF frame = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    QPainterPath shape;
    shape.addRoundedRect(frame, 4, 4);
    painter.fillPath(shape, c.raised);
    // Parts are measured against everything there is, or what is wanted where that is more.
    qint64 sum = 0;
    for (const MemoryPart& part : m_parts) sum += part.bytes;
    const double whole = double(std::max<qint64>({1, m_total, sum}));
    painter.save();
    painter.setClipPath(shape);
    const bool mirrored = isRightToLeft();
    double x = 0;
    for (const MemoryPart& part : m_parts) {
        double width = double(part.bytes) / whole * this->width();
        if (part.pattern != PartPattern::Frame && part.bytes > 0) {
            width = std::max(width, 2.0); // what is there is seen
            paintPart(painter, QRectF(mirrored ? this->width() - x - width : x, 0, width, height()),
                      part);
        }
        x += width;
    }
    painter.restore();
    painter.setPen(c.line);
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(shape);
    if (m_safe > 0 && m_safe < m_total) {
        const double at = double(m_safe) / whole * width();
        painter.fillRect(QRectF(mirrored ? width() - at : at, 0, 2, height()), c.text);
    }
}

bool MemoryBar::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        qint64 sum = 0;
        for (const MemoryPart& part : m_parts) sum += part.bytes;
        const double whole = double(std::max<qint64>({1, m_total, sum}));
        double at = isRightToLeft() ? width() - help->pos().x() : help->pos().x();
        for (const MemoryPart& part : m_parts) {
            at -= std::max(double(part.bytes) / whole * width(), part.bytes > 0 ? 2.0 : 0.0);
            if (at > 0) continue;
            QString text = QString("%1: %2").arg(part.name, gibibytes(part.bytes));
            if (!part.technical.isEmpty()) text += " – " + part.technical;
            QToolTip::showText(help->globalPos(), text, this);
            return true;
        }
    }
    return QWidget::event(event);
}

LegendRow::LegendRow(QWidget* parent) : QWidget(parent) {
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void LegendRow::setRow(const MemoryPart& part, const QString& value) {
    m_square = true;
    if (part.name != m_part.name || value.size() != m_value.size()) updateGeometry();
    m_part = part;
    m_value = value;
    setToolTip(part.technical);
    setAccessibleName(QString("%1: %2").arg(part.name, value));
    update();
}

void LegendRow::setText(const QString& name, const QString& value, const QString& explanation) {
    m_square = false;
    if (name != m_part.name || value.size() != m_value.size()) updateGeometry();
    m_part.name = name;
    m_value = value;
    setToolTip(explanation);
    setAccessibleName(QString("%1: %2").arg(name, value));
    update();
}

void LegendRow::setTone(QColor Colours::*tone) {
    m_tone = tone;
    update();
}

void LegendRow::setCompact(bool compact) {
    m_compact = compact;
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

bool LegendRow::oneLine(int width) const {
    return QFontMetrics(font()).horizontalAdvance(m_part.name) +
               QFontMetrics(numberFont()).horizontalAdvance(m_value) + inset() + 8 <=
           width;
}

QSize LegendRow::sizeHint() const {
    const QFontMetrics metrics(font());
    const int height = std::max(22, metrics.height() + 4);
    if (!m_compact) return QSize(200, height);
    return QSize(inset() + metrics.horizontalAdvance(m_part.name + ' ' + m_value) + 2, height);
}

int LegendRow::heightForWidth(int width) const {
    return m_compact || oneLine(width) ? sizeHint().height()
                                       : 2 * QFontMetrics(font()).height() + 6;
}

void LegendRow::paintEvent(QPaintEvent*) {
    const Colours& c = colours();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const bool mirrored = isRightToLeft();
    const bool single = m_compact || oneLine(width());
    const int nameHeight = single ? height() : QFontMetrics(font()).height() + 3;
    if (m_square) {
        const QRectF box(mirrored ? width() - 11 : 0, std::round((nameHeight - 11) / 2.0), 11, 11);
        QPainterPath shape;
        shape.addRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
        painter.save();
        painter.setClipPath(shape);
        paintPart(painter, box, m_part);
        painter.restore();
        painter.setPen(c.*m_part.colour);
        painter.drawPath(shape);
    }
    // Leading and trailing follow the direction of the widget by themselves.
    const QRect text = rect().adjusted(mirrored ? 0 : inset(), 0, mirrored ? -inset() : 0, 0);
    if (m_compact) {
        painter.setPen(c.muted);
        painter.drawText(text, Qt::AlignVCenter | Qt::AlignLeading, m_part.name + ' ' + m_value);
        return;
    }
    painter.setPen(c.text);
    QRect name = text;
    name.setHeight(nameHeight);
    painter.drawText(name, Qt::AlignVCenter | Qt::AlignLeading,
                     QFontMetrics(font()).elidedText(m_part.name, Qt::ElideRight, text.width()));
    painter.setFont(numberFont());
    painter.setPen(c.*m_tone);
    painter.drawText(single ? rect() : rect().adjusted(0, nameHeight, 0, 0),
                     Qt::AlignVCenter | Qt::AlignTrailing, m_value);
}

} // namespace ui

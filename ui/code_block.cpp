// CodeBlock: a card with the language's name and its actions, and lines that scroll sideways by
// themselves.

#include "ui/text_block.h"
#include "ui/theme.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace ui {

namespace {

constexpr double kPadding = 12;
constexpr double kBar = 6; // of the sideways scroll bar
// A longer line is cut into several: laying out one of a million characters would stop the window.
constexpr int kLongestLine = 4000;

} // namespace

CodeBlock::CodeBlock(QString language, const QString& text) : m_language(std::move(language)) {
    m_font = codeFont();
    m_step = std::ceil(
        std::max(QFontMetricsF(m_font).lineSpacing(), QFontInfo(m_font).pixelSize() * 1.45));
    setText(text);
}

void CodeBlock::setText(const QString& text) {
    // Lines before the first difference stay.
    int same = 0;
    const int limit = int(std::min(text.size(), m_text.size()));
    while (same < limit && text[same] == m_text[same]) ++same;
    while (!m_lines.empty() && m_lines.back().start + m_lines.back().length >= same)
        m_lines.pop_back();
    m_text = text;
    int start = 0;
    if (!m_lines.empty()) {
        start = m_lines.back().start + m_lines.back().length;
        if (start < m_text.size() && m_text[start] == '\n') ++start;
    }
    for (;;) {
        qsizetype end = m_text.indexOf('\n', start);
        const bool last = end < 0;
        if (last) end = m_text.size();
        do {
            Line line;
            line.start = start;
            line.length = int(std::min<qsizetype>(end - start, kLongestLine));
            start += line.length;
            m_lines.push_back(std::move(line));
        } while (start < end);
        if (last) break;
        start = int(end) + 1;
    }
    m_width = 0;
}

QTextLayout& CodeBlock::layoutOf(Line& line) const {
    if (!line.layout) {
        line.layout = std::make_unique<QTextLayout>(m_text.mid(line.start, line.length), m_font);
        line.layout->setCacheEnabled(true);
        QTextOption option;
        option.setTextDirection(Qt::LeftToRight);
        option.setWrapMode(m_wrap ? QTextOption::WrapAnywhere : QTextOption::NoWrap);
        option.setTabStopDistance(QFontMetricsF(m_font).horizontalAdvance(' ') * 4);
        line.layout->setTextOption(option);
        line.layout->beginLayout();
        double y = 0;
        for (;;) {
            QTextLine text = line.layout->createLine();
            if (!text.isValid()) break;
            text.setLineWidth(m_wrap ? std::max(20.0, m_width - 2 * kPadding) : 1e6);
            text.setPosition(QPointF(0, y + (m_step - text.height()) / 2));
            y += m_step;
            if (!m_wrap) break;
        }
        line.layout->endLayout();
    }
    return *line.layout;
}

double CodeBlock::headerHeight() const {
    return std::ceil(QFontMetricsF(captionFont()).height() + 14);
}

void CodeBlock::layOut(double width) {
    if (width == m_width) return;
    const bool wrapAgain = m_wrap && m_width != width;
    m_width = width;
    m_usedWidth = width;
    const QFontMetricsF metrics(m_font);
    double y = 0;
    int longest = -1;
    m_contentWidth = 0;
    for (Line& line : m_lines) {
        if (wrapAgain) line.layout.reset();
        line.y = y;
        line.height = m_wrap ? m_step * std::max(1, layoutOf(line).lineCount()) : m_step;
        y += line.height;
        // Wider characters than the font's own make short lines long; those are measured when
        // painted.
        if (!m_wrap && line.length > longest) {
            longest = line.length;
            m_contentWidth = std::max(
                m_contentWidth, metrics.horizontalAdvance(m_text.mid(line.start, line.length)));
        }
    }
    m_linesHeight = y;
    m_scroll = std::clamp(m_scroll, 0.0, maxScroll());
    m_height = headerHeight() + kPadding + m_linesHeight + kPadding;
}

double CodeBlock::maxScroll() const {
    return m_wrap ? 0 : std::max(0.0, std::ceil(m_contentWidth) - (m_width - 2 * kPadding));
}

size_t CodeBlock::lineAt(double y) const {
    size_t low = 0, high = m_lines.size() - 1;
    while (low < high) {
        const size_t middle = (low + high + 1) / 2;
        if (m_lines[middle].y <= y)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

QStringList CodeBlock::buttonTexts() const {
    QStringList texts{QCoreApplication::translate("ui::CodeBlock", "Copy"),
                      QCoreApplication::translate("ui::CodeBlock", "Save")};
    if (m_wrap)
        texts << QCoreApplication::translate("ui::CodeBlock", "Do Not Wrap");
    else if (maxScroll() > 0)
        texts << QCoreApplication::translate("ui::CodeBlock", "Wrap");
    return texts;
}

QRectF CodeBlock::button(int index) const {
    const QFontMetricsF metrics(captionFont());
    const QStringList texts = buttonTexts();
    double right = m_width - 8;
    for (int i = int(texts.size()) - 1; i >= 0; --i) {
        const double width = std::ceil(metrics.horizontalAdvance(texts[i])) + 12;
        if (i == index) return QRectF(right - width, 3, width, headerHeight() - 6);
        right -= width;
    }
    return {};
}

void CodeBlock::paint(QPainter& painter, const BlockPaint& paint) {
    const Colours& c = colours();
    const double header = headerHeight();
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath card;
    card.addRoundedRect(QRectF(0.5, 0.5, m_width - 1, m_height - 1), 10, 10);
    painter.fillPath(card, c.surface);
    painter.setPen(c.line);
    painter.drawPath(card);
    painter.drawLine(QPointF(1, header - 0.5), QPointF(m_width - 1, header - 0.5));

    painter.setFont(captionFont());
    painter.setPen(c.muted);
    const QStringList texts = buttonTexts();
    const double nameWidth = button(0).left() - kPadding - 8;
    const QString name =
        m_language.isEmpty() ? QCoreApplication::translate("ui::CodeBlock", "text") : m_language;
    painter.drawText(QRectF(kPadding, 0, nameWidth, header), Qt::AlignVCenter | Qt::AlignLeft,
                     QFontMetricsF(captionFont()).elidedText(name, Qt::ElideRight, nameWidth));
    static const char* const targets[] = {"action:code-copy", "action:code-save",
                                          "action:code-wrap"};
    for (int i = 0; i < texts.size(); ++i) {
        const bool hovered = paint.hovered == targets[i];
        if (hovered) {
            QColor back = c.text;
            back.setAlphaF(0.08f);
            painter.setPen(Qt::NoPen);
            painter.setBrush(back);
            painter.drawRoundedRect(button(i), 6, 6);
            painter.setBrush(Qt::NoBrush);
        }
        painter.setPen(hovered ? c.text : c.muted);
        painter.drawText(button(i), Qt::AlignCenter, texts[i]);
    }

    painter.save();
    painter.setClipRect(QRectF(1, header, m_width - 2, m_height - header - 1), Qt::IntersectClip);
    const double top = header + kPadding;
    for (size_t i = lineAt(paint.clip.top() - top); i < m_lines.size(); ++i) {
        Line& line = m_lines[i];
        if (top + line.y > paint.clip.bottom()) break;
        QTextLayout& layout = layoutOf(line);
        if (!m_wrap && layout.lineCount() > 0)
            m_contentWidth = std::max(m_contentWidth, layout.lineAt(0).naturalTextWidth());
        QList<QTextLayout::FormatRange> ranges;
        const auto add = [&](TextRange range, const QColor& back, const QColor& front) {
            const int from = std::clamp(range.from - line.start, 0, line.length);
            const int to = std::clamp(range.to - line.start, 0, line.length);
            if (to <= from) return;
            QTextLayout::FormatRange format;
            format.start = from;
            format.length = to - from;
            format.format.setBackground(back);
            format.format.setForeground(front);
            ranges.append(format);
        };
        for (size_t mark = 0; mark < paint.marks.size(); ++mark) {
            QColor soft = c.fourth;
            soft.setAlphaF(0.28f);
            const bool current = int(mark) == paint.currentMark;
            add(paint.marks[mark], current ? c.fourth : soft, current ? c.window : c.text);
        }
        add(paint.selection, c.accent, c.onAccent);
        painter.setPen(c.text);
        layout.draw(&painter, QPointF(kPadding - m_scroll, top + line.y), ranges);
    }
    painter.restore();

    if (maxScroll() > 0) {
        const double track = m_width - 2 * kPadding;
        const double thumb = std::max(24.0, track * track / (track + maxScroll()));
        const double x = kPadding + (track - thumb) * m_scroll / maxScroll();
        painter.setPen(Qt::NoPen);
        QColor bar = c.muted;
        bar.setAlphaF(0.55f);
        painter.setBrush(bar);
        painter.drawRoundedRect(QRectF(x, m_height - kBar - 3, thumb, kBar - 1), 2.5, 2.5);
        painter.setBrush(Qt::NoBrush);
    }
}

int CodeBlock::positionAt(const QPointF& point) const {
    const double y = point.y() - headerHeight() - kPadding;
    if (y < 0) return 0;
    if (y >= m_linesHeight) return int(m_text.size());
    Line& line = m_lines[lineAt(y)];
    const QTextLayout& layout = layoutOf(line);
    const int inner =
        std::clamp(int((y - line.y) / m_step), 0, std::max(0, layout.lineCount() - 1));
    if (layout.lineCount() == 0) return line.start;
    return line.start + layout.lineAt(inner).xToCursor(point.x() - kPadding + m_scroll);
}

QRectF CodeBlock::rectOf(int position) const {
    size_t at = 0;
    while (at + 1 < m_lines.size() && m_lines[at + 1].start <= position) ++at;
    return QRectF(kPadding, headerHeight() + kPadding + m_lines[at].y, 1, m_lines[at].height);
}

std::optional<BlockHit> CodeBlock::hit(const QPointF& point) const {
    const auto say = [](const char* text) {
        return QCoreApplication::translate("ui::CodeBlock", text);
    };
    if (button(0).contains(point))
        return BlockHit{"action:code-copy",
                        say(QT_TRANSLATE_NOOP("ui::CodeBlock", "Copy this code"))};
    if (button(1).contains(point))
        return BlockHit{"action:code-save",
                        say(QT_TRANSLATE_NOOP("ui::CodeBlock", "Save this code as a file"))};
    if (buttonTexts().size() > 2 && button(2).contains(point))
        return BlockHit{"action:code-wrap",
                        say(QT_TRANSLATE_NOOP("ui::CodeBlock", "Wrap long lines, or not"))};
    return {};
}

bool CodeBlock::scrollBy(double dx) {
    const double before = m_scroll;
    m_scroll = std::clamp(m_scroll + dx, 0.0, maxScroll());
    return m_scroll != before;
}

double CodeBlock::barFactor() const {
    const double track = m_width - 2 * kPadding;
    return maxScroll() > 0 ? (track + maxScroll()) / track : 0;
}

void CodeBlock::toggleWrap() {
    m_wrap = !m_wrap;
    for (Line& line : m_lines) line.layout.reset();
    m_scroll = 0;
    const double width = m_width;
    m_width = 0;
    layOut(width);
}

} // namespace ui

#include "ui/text_block.h"

#include "ui/theme.h"

#include <QCoreApplication>
#include <QFontInfo>
#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>
#include <QTextBoundaryFinder>

#include <algorithm>
#include <cmath>

namespace ui {

bool mostlyRightToLeft(QStringView text) {
    int left = 0, right = 0;
    for (QChar c : text.left(2000)) {
        switch (c.direction()) {
        case QChar::DirL: ++left; break;
        case QChar::DirR:
        case QChar::DirAL: ++right; break;
        default: break;
        }
    }
    return right > left;
}

TextRange TextBlock::wordAt(int position) const {
    const QString all = text();
    if (all.isEmpty()) return {};
    position = std::clamp(position, 0, int(all.size()));
    // Only the surroundings: a line of a million characters has words too.
    const int from = std::max(0, position - 500);
    const QString part = all.mid(from, 1000);
    QTextBoundaryFinder finder(QTextBoundaryFinder::Word, part);
    finder.setPosition(position - from);
    if (!finder.isAtBoundary() || finder.boundaryReasons().testFlag(QTextBoundaryFinder::EndOfItem))
        finder.toPreviousBoundary();
    const int start = int(std::max<qsizetype>(0, finder.position()));
    const qsizetype end = finder.toNextBoundary();
    return {from + start, from + int(end < 0 ? part.size() : end)};
}

ParagraphBlock::ParagraphBlock(QString text, QList<MarkdownSpan> spans, ParagraphStyle style)
    : m_text(std::move(text)), m_spans(std::move(spans)), m_style(std::move(style)) {
    m_rightToLeft = m_style.rightToLeft.value_or(mostlyRightToLeft(m_text));
    m_layout.setFont(m_style.font);
    m_layout.setText(m_text);
    m_layout.setCacheEnabled(true);
    QTextOption option;
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    option.setTextDirection(m_rightToLeft ? Qt::RightToLeft : Qt::LeftToRight);
    option.setAlignment(m_rightToLeft ? Qt::AlignRight : Qt::AlignLeft);
    m_layout.setTextOption(option);
    QList<QTextLayout::FormatRange> formats;
    const Colours& c = colours();
    for (const MarkdownSpan& span : std::as_const(m_spans)) {
        QTextLayout::FormatRange range;
        range.start = span.start;
        range.length = span.length;
        QFont font = m_style.font;
        if (span.code || span.math) {
            const double size = QFontInfo(m_style.font).pixelSize();
            font = codeFont();
            font.setPixelSize(std::max(1, int(std::lround(size * 0.93))));
        }
        if (span.bold) font.setWeight(QFont::DemiBold);
        if (span.italic) font.setItalic(true);
        if (span.strike) font.setStrikeOut(true);
        if (!span.link.isEmpty()) {
            range.format.setForeground(c.accent);
            font.setUnderline(!span.link.startsWith("action:"));
        }
        if (span.code) range.format.setBackground(c.surface);
        range.format.setFont(font);
        formats.append(range);
    }
    m_layout.setFormats(formats);
}

void ParagraphBlock::setMarker(const QString& marker, double gutter) {
    m_marker = marker;
    m_gutter = gutter;
    m_width = -1;
}

void ParagraphBlock::layOut(double width) {
    if (width == m_width) return;
    m_width = width;
    const double inner = std::max(8.0, width - m_gutter);
    m_lineStep = QFontInfo(m_style.font).pixelSize() * m_style.lineHeight;
    double y = 0;
    m_usedWidth = 0;
    m_layout.beginLayout();
    for (;;) {
        QTextLine line = m_layout.createLine();
        if (!line.isValid()) break;
        line.setLineWidth(inner);
        const double step = std::ceil(std::max(m_lineStep, line.height()));
        line.setPosition(QPointF(m_rightToLeft ? 0 : m_gutter, y + (step - line.height()) / 2));
        m_usedWidth = std::max(m_usedWidth, line.naturalTextWidth());
        y += step;
    }
    m_layout.endLayout();
    m_usedWidth = std::ceil(m_usedWidth) + m_gutter;
    m_height = y;
}

void ParagraphBlock::paint(QPainter& painter, const BlockPaint& paint) {
    const Colours& c = colours();
    QList<QTextLayout::FormatRange> ranges;
    for (size_t i = 0; i < paint.marks.size(); ++i) {
        QTextLayout::FormatRange range;
        range.start = paint.marks[i].from;
        range.length = paint.marks[i].to - paint.marks[i].from;
        const bool current = int(i) == paint.currentMark;
        range.format.setBackground(c.fourth);
        range.format.setForeground(c.window);
        if (!current) {
            QColor soft = c.fourth;
            soft.setAlphaF(0.28f);
            range.format.setBackground(soft);
            range.format.setForeground(c.text);
        }
        ranges.append(range);
    }
    if (!paint.selection.empty()) {
        QTextLayout::FormatRange range;
        range.start = paint.selection.from;
        range.length = paint.selection.to - paint.selection.from;
        range.format.setBackground(c.accent);
        range.format.setForeground(c.onAccent);
        ranges.append(range);
    }
    painter.setPen(m_style.colour);
    m_layout.draw(&painter, QPointF(), ranges, paint.clip);
    if (m_marker.isEmpty() || m_layout.lineCount() == 0) return;
    painter.setFont(m_style.font);
    painter.setPen(c.muted);
    const QTextLine first = m_layout.lineAt(0);
    const double space = QFontInfo(m_style.font).pixelSize() * 0.45;
    const QRectF gutter(m_rightToLeft ? m_width - m_gutter : 0, first.y(), m_gutter,
                        first.height());
    painter.drawText(gutter.adjusted(m_rightToLeft ? space : 0, 0, m_rightToLeft ? 0 : -space, 0),
                     (m_rightToLeft ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter |
                         Qt::TextDontClip | Qt::TextSingleLine,
                     m_marker);
}

int ParagraphBlock::positionAt(const QPointF& point) const {
    if (m_layout.lineCount() == 0) return 0;
    if (point.y() < 0) return 0;
    for (int i = 0; i < m_layout.lineCount(); ++i) {
        const QTextLine line = m_layout.lineAt(i);
        const double bottom = i + 1 < m_layout.lineCount() ? m_layout.lineAt(i + 1).y() : m_height;
        if (point.y() < bottom) return line.xToCursor(point.x());
    }
    return int(m_text.size());
}

QRectF ParagraphBlock::rectOf(int position) const {
    const QTextLine line =
        m_layout.lineForTextPosition(std::clamp(position, 0, int(m_text.size())));
    if (!line.isValid()) return QRectF(0, 0, 1, m_height);
    return QRectF(line.cursorToX(position), line.y(), 1, line.height());
}

QRectF ParagraphBlock::endRect() const {
    return rectOf(int(m_text.size()));
}

std::optional<BlockHit> ParagraphBlock::hit(const QPointF& point) const {
    if (m_spans.isEmpty()) return {};
    for (int i = 0; i < m_layout.lineCount(); ++i) {
        const QTextLine line = m_layout.lineAt(i);
        if (!QRectF(line.naturalTextRect()).adjusted(0, -3, 0, 3).contains(point)) continue;
        const int at = line.xToCursor(point.x(), QTextLine::CursorOnCharacter);
        for (const MarkdownSpan& span : m_spans)
            if (!span.link.isEmpty() && at >= span.start && at < span.start + span.length)
                return BlockHit{span.link, span.link.startsWith("action:") ? QString() : span.link};
    }
    return {};
}

void RuleBlock::layOut(double width) {
    m_usedWidth = width;
    m_height = 17;
}

void RuleBlock::paint(QPainter& painter, const BlockPaint&) {
    painter.fillRect(QRectF(0, 8, m_usedWidth, 1), colours().line);
}

PictureBlock::PictureBlock(QString sha256, QString name, QSize pixels, QImage image)
    : m_sha256(std::move(sha256)), m_name(std::move(name)), m_pixels(pixels),
      m_image(std::move(image)) {}

void PictureBlock::layOut(double width) {
    if (isPicture()) {
        const QSizeF limit(std::min(width, 320.0), 240.0);
        QSizeF size(m_pixels);
        if (size.width() > limit.width() || size.height() > limit.height())
            size.scale(limit, Qt::KeepAspectRatio);
        // Even a picture of one line stays a target that can be hit.
        m_usedWidth = std::ceil(std::max(size.width(), 28.0));
        m_height = std::ceil(std::max(size.height(), 28.0));
    } else {
        const QFontMetricsF metrics(captionFont());
        m_usedWidth = std::min(width, std::ceil(metrics.horizontalAdvance(m_name) + 48));
        m_height = std::ceil(metrics.height() + 16);
    }
}

void PictureBlock::paint(QPainter& painter, const BlockPaint&) {
    const Colours& c = colours();
    const QRectF box(0.5, 0.5, m_usedWidth - 1, m_height - 1);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath shape;
    shape.addRoundedRect(box, 6, 6);
    painter.fillPath(shape, c.raised);
    if (isPicture() && !m_image.isNull()) {
        const double ratio = painter.device()->devicePixelRatioF();
        const QSize wanted = (QSizeF(m_usedWidth, m_height) * ratio).toSize();
        if (m_scaled.size() != wanted)
            m_scaled = m_image.scaled(wanted, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
        painter.save();
        painter.setClipPath(shape, Qt::IntersectClip);
        painter.drawImage(QRectF(0, 0, m_usedWidth, m_height), m_scaled);
        painter.restore();
    } else {
        const QRect mark(isPicture() ? int(m_usedWidth / 2) - 10 : 12, int(m_height / 2) - 10, 20,
                         20);
        icon(isPicture() ? "picture" : "text", &Colours::muted).paint(&painter, mark);
        if (!isPicture()) {
            painter.setFont(captionFont());
            painter.setPen(c.text);
            painter.drawText(
                QRectF(38, 0, m_usedWidth - 46, m_height), Qt::AlignVCenter,
                QFontMetricsF(captionFont()).elidedText(m_name, Qt::ElideMiddle, m_usedWidth - 46));
        }
    }
    painter.setPen(c.line);
    painter.drawPath(shape);
}

std::optional<BlockHit> PictureBlock::hit(const QPointF& point) const {
    if (!isPicture() || !QRectF(0, 0, m_usedWidth, m_height).contains(point)) return {};
    return BlockHit{
        "action:picture " + m_sha256,
        QCoreApplication::translate("ui::TranscriptView", "%1 – show in full").arg(m_name)};
}

} // namespace ui

// MessageLayout: how a laid-out message is painted, and what lies under a point of it.

#include "ui/message_layout.h"
#include "ui/theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

namespace ui {

void MessageLayout::paint(QPainter& painter, const Paint& paint) const {
    const Colours& c = colours();
    painter.setRenderHint(QPainter::Antialiasing);
    if (m_user) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(c.surface);
        painter.drawRoundedRect(m_body, 10, 10);
        painter.setBrush(Qt::NoBrush);
    }
    if (paint.focused) {
        painter.setPen(QPen(c.accent, 1.5));
        painter.setBrush(Qt::NoBrush);
        const QRectF ring = m_user ? m_body : m_body.adjusted(-8, -4, 8, 4);
        painter.drawRoundedRect(ring.adjusted(0.5, 0.5, -0.5, -0.5), 10, 10);
    }
    if (!m_thinkingBar.isNull()) painter.fillRect(m_thinkingBar, c.line);
    for (size_t i = 0; i < m_blocks.size(); ++i) {
        const Placed& placed = m_blocks[i];
        const QRectF area(placed.at, QSizeF(m_width, placed.block->height()));
        if (area.bottom() < paint.clip.top()) continue;
        if (area.top() > paint.clip.bottom()) break;
        for (int depth = 0; depth < placed.quoteDepth; ++depth) {
            const bool joins = i + 1 < m_blocks.size() && m_blocks[i + 1].quoteDepth > depth;
            const double bottom = joins ? m_blocks[i + 1].at.y() : area.bottom();
            const double x = depth * ems(1.1) + 1;
            painter.fillRect(QRectF(placed.rightToLeft ? m_width - x - 2 : x, area.top(), 2,
                                    bottom - area.top()),
                             c.line);
        }
        BlockPaint inner;
        inner.clip = paint.clip.translated(-placed.at);
        if (paint.hoveredBlock == int(i)) inner.hovered = paint.hovered;
        if (placed.start >= 0) {
            const auto local = [&](TextRange range) {
                return TextRange{std::max(0, range.from - placed.start),
                                 std::min(placed.length, range.to - placed.start)};
            };
            inner.selection = local(paint.selection);
            for (size_t mark = 0; mark < paint.marks.size(); ++mark) {
                const TextRange range = local(paint.marks[mark]);
                if (range.empty()) continue;
                if (int(mark) == paint.currentMark) inner.currentMark = int(inner.marks.size());
                inner.marks.push_back(range);
            }
        }
        painter.save();
        painter.translate(placed.at);
        placed.block->paint(painter, inner);
        painter.restore();
    }
    if (m_cursor && !m_blocks.empty()) {
        QRectF at(0, m_blocks.back().at.y() + 4, 0, ems(1.1));
        if (auto* last = dynamic_cast<ParagraphBlock*>(m_blocks.back().block.get());
            last && m_blocks.back().source >= 0)
            at = last->endRect().translated(m_blocks.back().at);
        else
            at.moveTop(m_y + 4);
        painter.fillRect(QRectF(at.left() + 2, at.center().y() - ems(0.55), ems(0.45), ems(1.1)),
                         c.accent);
    }
}

int MessageLayout::positionAt(const QPointF& point) const {
    int best = 0;
    for (const Placed& placed : m_blocks) {
        if (placed.start < 0) continue;
        if (point.y() < placed.at.y()) return best;
        best = placed.start +
               std::clamp(placed.block->positionAt(point - placed.at), 0, placed.length);
        if (point.y() < placed.at.y() + placed.block->height()) return best;
        best = placed.start + placed.length;
    }
    return best;
}

QRectF MessageLayout::rectOf(int position) const {
    for (auto it = m_blocks.rbegin(); it != m_blocks.rend(); ++it)
        if (it->start >= 0 && it->start <= position)
            return it->block->rectOf(position - it->start).translated(it->at);
    return QRectF(0, 0, 1, ems(1.5));
}

TextRange MessageLayout::wordAt(int position) const {
    for (auto it = m_blocks.rbegin(); it != m_blocks.rend(); ++it)
        if (it->start >= 0 && it->start <= position) {
            const TextRange range = it->block->wordAt(position - it->start);
            return {it->start + range.from, it->start + range.to};
        }
    return {position, position};
}

TextRange MessageLayout::blockAt(int position) const {
    for (auto it = m_blocks.rbegin(); it != m_blocks.rend(); ++it)
        if (it->start >= 0 && it->start <= position) return {it->start, it->start + it->length};
    return {position, position};
}

int MessageLayout::blockIndexAt(const QPointF& point) const {
    for (size_t i = 0; i < m_blocks.size(); ++i) {
        const Placed& placed = m_blocks[i];
        if (point.y() >= placed.at.y() && point.y() < placed.at.y() + placed.block->height())
            return int(i);
    }
    return -1;
}

std::optional<MessageLayout::Hit> MessageLayout::hit(const QPointF& point) const {
    const int index = blockIndexAt(point);
    if (index < 0) return {};
    const Placed& placed = m_blocks[size_t(index)];
    if (auto what = placed.block->hit(point - placed.at)) return Hit{*what, index};
    // The whole line opens what was thought.
    if (index == 0 && m_thinkingOpens && point.x() >= 0 &&
        point.x() < placed.block->usedWidth() + 8)
        return Hit{{"action:thinking", {}}, index};
    return {};
}

bool MessageLayout::overText(const QPointF& point) const {
    const int index = blockIndexAt(point);
    return index >= 0 && m_blocks[size_t(index)].start >= 0;
}

bool MessageLayout::scrollBlock(int block, double dx) {
    return block >= 0 && size_t(block) < m_blocks.size() &&
           m_blocks[size_t(block)].block->scrollBy(dx);
}

double MessageLayout::barFactor(const QPointF& point) const {
    const int index = blockIndexAt(point);
    if (index < 0) return 0;
    const Placed& placed = m_blocks[size_t(index)];
    const double fromBottom = placed.block->height() - (point.y() - placed.at.y());
    return fromBottom <= 12 ? placed.block->barFactor() : 0;
}

void MessageLayout::toggleWrap(int block) {
    if (auto* code = dynamic_cast<CodeBlock*>(m_blocks[size_t(block)].block.get()))
        code->toggleWrap();
}

QString MessageLayout::blockText(int block) const {
    return m_blocks[size_t(block)].block->text();
}

QString MessageLayout::codeLanguage(int block) const {
    const auto* code = dynamic_cast<const CodeBlock*>(m_blocks[size_t(block)].block.get());
    return code ? code->language() : QString();
}

QRectF MessageLayout::footerRect() const {
    return QRectF(0, m_height - footerHeight(), m_width, footerHeight());
}

QStringList MessageLayout::missingPictures() const {
    QStringList out;
    for (const Placed& placed : m_blocks)
        if (const auto* picture = dynamic_cast<const PictureBlock*>(placed.block.get()))
            if (picture->isPicture() && !picture->hasImage()) out += picture->sha256();
    return out;
}

void MessageLayout::pictureArrived(const QString& sha256, const QImage& image) {
    for (Placed& placed : m_blocks)
        if (auto* picture = dynamic_cast<PictureBlock*>(placed.block.get()))
            if (picture->sha256() == sha256) picture->setImage(image);
}

} // namespace ui

// TableBlock: columns as wide as their content where they fit; too wide a table scrolls sideways by
// itself.

#include "ui/text_block.h"
#include "ui/theme.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ui {

namespace {

constexpr double kPadX = 10;
constexpr double kPadY = 5;

ParagraphStyle cellStyle(bool header) {
    return {header ? strongFont() : bodyFont(), colours().text, 1.4, {}};
}

} // namespace

TableBlock::TableBlock(const MarkdownBlock& block) {
    setRows(block);
}

void TableBlock::setRows(const MarkdownBlock& block) {
    m_alignment = block.columns;
    const size_t columns = size_t(std::max<qsizetype>(1, m_alignment.size()));
    const QFontMetricsF body(bodyFont()), strong(strongFont());
    m_rows.resize(size_t(block.rows.size()));
    int start = 0;
    for (size_t r = 0; r < m_rows.size(); ++r) {
        Row& row = m_rows[r];
        row.cells.resize(columns);
        for (size_t i = 0; i < columns; ++i) {
            Cell& cell = row.cells[i];
            const MarkdownCell content = block.rows[qsizetype(r)].value(qsizetype(i));
            if (cell.blockWidth == -1 || content != cell.content) {
                cell.content = content;
                cell.block.reset();
                cell.blockWidth = 0;
                // Spans may be a little wider than plain text; room for it keeps most cells on one
                // line.
                const double slack =
                    content.spans.isEmpty() ? 1 : 4 + 0.08 * body.horizontalAdvance(content.text);
                cell.natural =
                    std::ceil((r ? body : strong).horizontalAdvance(content.text) + slack);
            }
            cell.start = start;
            start += int(cell.content.text.size()) + 1;
        }
    }
    m_width = 0;
}

ParagraphBlock& TableBlock::blockOf(Cell& cell, bool header, double width) const {
    if (!cell.block) {
        cell.block = std::make_unique<ParagraphBlock>(cell.content.text, cell.content.spans,
                                                      cellStyle(header));
        cell.blockWidth = 0;
    }
    if (cell.blockWidth != width) {
        cell.block->layOut(width);
        cell.blockWidth = width;
    }
    return *cell.block;
}

void TableBlock::layOut(double width) {
    if (width == m_width || m_rows.empty()) return;
    m_width = width;
    const size_t columns = m_rows[0].cells.size();
    m_columns.assign(columns, 0);
    for (const Row& row : m_rows)
        for (size_t i = 0; i < columns; ++i)
            m_columns[i] = std::max(m_columns[i], row.cells[i].natural);
    const double room = width - 1 - 2 * kPadX * double(columns);
    const double total = std::accumulate(m_columns.begin(), m_columns.end(), 0.0);
    if (total > room) {
        // Narrow columns keep their width; wide ones share what is left, but none gets below ten
        // ems.
        std::vector<double> wanted = m_columns;
        std::sort(wanted.begin(), wanted.end());
        double left = room, limit = room;
        for (size_t i = 0; i < columns; ++i) {
            limit = left / double(columns - i);
            if (wanted[i] > limit) break;
            left -= wanted[i];
        }
        limit = std::max(limit, double(ems(10)));
        for (double& column : m_columns) column = std::min(column, std::floor(limit));
    }
    m_contentWidth =
        std::accumulate(m_columns.begin(), m_columns.end(), 2 * kPadX * double(columns) + 1);
    m_usedWidth = std::min(width, m_contentWidth);
    m_scroll = std::clamp(m_scroll, 0.0, std::max(0.0, m_contentWidth - width));
    const double oneLine = std::ceil(
        std::max(QFontInfo(bodyFont()).pixelSize() * 1.4, QFontMetricsF(bodyFont()).height()));
    double y = 0;
    for (size_t r = 0; r < m_rows.size(); ++r) {
        Row& row = m_rows[r];
        row.y = y;
        double inner = oneLine;
        for (size_t i = 0; i < columns; ++i) {
            Cell& cell = row.cells[i];
            if (cell.natural > m_columns[i] ||
                cell.content.text.contains(QChar(QChar::LineSeparator)))
                inner = std::max(inner, blockOf(cell, r == 0, m_columns[i]).height());
        }
        row.height = inner + 2 * kPadY;
        y += row.height;
    }
    m_height = y + 1 + (m_contentWidth > width ? 10 : 0);
}

double TableBlock::columnX(size_t column) const {
    double x = -m_scroll;
    for (size_t i = 0; i < column; ++i) x += m_columns[i] + 2 * kPadX;
    return x;
}

int TableBlock::columnAt(double x) const {
    double right = -m_scroll;
    for (size_t i = 0; i < m_columns.size(); ++i) {
        right += m_columns[i] + 2 * kPadX;
        if (x < right) return int(i);
    }
    return int(m_columns.size()) - 1;
}

void TableBlock::paint(QPainter& painter, const BlockPaint& paint) {
    if (m_rows.empty()) return;
    const Colours& c = colours();
    const double bottom = m_rows.back().y + m_rows.back().height;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath frame;
    frame.addRoundedRect(QRectF(0.5, 0.5, m_usedWidth - 1, bottom), 6, 6);
    painter.setClipPath(frame, Qt::IntersectClip);
    painter.fillRect(QRectF(0, 0, m_usedWidth, m_rows[0].height), c.surface);
    for (size_t r = 0; r < m_rows.size(); ++r) {
        Row& row = m_rows[r];
        if (row.y + row.height < paint.clip.top()) continue;
        if (row.y > paint.clip.bottom()) break;
        if (r) painter.fillRect(QRectF(0, row.y, m_usedWidth, 1), c.line);
        double x = -m_scroll;
        for (size_t i = 0; i < row.cells.size(); ++i) {
            const double width = m_columns[i];
            if (x + width + 2 * kPadX > 0 && x < m_usedWidth) {
                Cell& cell = row.cells[i];
                ParagraphBlock& block = blockOf(cell, r == 0, width);
                double shift = 0;
                if (m_alignment.value(qsizetype(i)) & Qt::AlignRight)
                    shift = width - block.usedWidth();
                if (m_alignment.value(qsizetype(i)) & Qt::AlignHCenter)
                    shift = (width - block.usedWidth()) / 2;
                if (block.rightToLeft()) shift = 0;
                BlockPaint inner;
                const int length = int(cell.content.text.size());
                const auto local = [&](TextRange range) {
                    return TextRange{std::clamp(range.from - cell.start, 0, length),
                                     std::clamp(range.to - cell.start, 0, length)};
                };
                inner.selection = local(paint.selection);
                for (size_t mark = 0; mark < paint.marks.size(); ++mark) {
                    const TextRange range = local(paint.marks[mark]);
                    if (range.empty()) continue;
                    if (int(mark) == paint.currentMark) inner.currentMark = int(inner.marks.size());
                    inner.marks.push_back(range);
                }
                const QPointF at(x + kPadX + std::max(0.0, shift), row.y + kPadY);
                inner.clip = QRectF(0, 0, width + 1, block.height());
                painter.translate(at);
                block.paint(painter, inner);
                painter.translate(-at);
            }
            x += width + 2 * kPadX;
        }
    }
    painter.restore();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(c.line);
    painter.drawPath(frame);
    if (m_contentWidth > m_width) {
        const double thumb = std::max(24.0, m_width * m_width / m_contentWidth);
        const double x = (m_width - thumb) * m_scroll / (m_contentWidth - m_width);
        painter.setPen(Qt::NoPen);
        QColor bar = c.muted;
        bar.setAlphaF(0.55f);
        painter.setBrush(bar);
        painter.drawRoundedRect(QRectF(x, bottom + 4, thumb, 5), 2.5, 2.5);
        painter.setBrush(Qt::NoBrush);
    }
}

QString TableBlock::text() const {
    QString out;
    for (const Row& row : m_rows)
        for (size_t i = 0; i < row.cells.size(); ++i) {
            out += row.cells[i].content.text;
            out += i + 1 < row.cells.size() ? '\t' : '\n';
        }
    out.chop(1);
    return out;
}

int TableBlock::positionAt(const QPointF& point) const {
    if (m_rows.empty() || point.y() < 0) return 0;
    for (size_t r = 0; r < m_rows.size(); ++r) {
        Row& row = m_rows[r];
        if (point.y() >= row.y + row.height) continue;
        const size_t column = size_t(columnAt(point.x()));
        Cell& cell = row.cells[column];
        const QPointF inner(point.x() - columnX(column) - kPadX, point.y() - row.y - kPadY);
        return cell.start + blockOf(cell, r == 0, m_columns[column]).positionAt(inner);
    }
    const Cell& last = m_rows.back().cells.back();
    return last.start + int(last.content.text.size());
}

QRectF TableBlock::rectOf(int position) const {
    for (const Row& row : m_rows) {
        const Cell& last = row.cells.back();
        if (position <= last.start + last.content.text.size())
            return QRectF(0, row.y, 1, row.height);
    }
    return QRectF(0, 0, 1, m_height);
}

std::optional<BlockHit> TableBlock::hit(const QPointF& point) const {
    for (size_t r = 0; r < m_rows.size(); ++r) {
        Row& row = m_rows[r];
        if (point.y() < row.y || point.y() >= row.y + row.height) continue;
        const size_t column = size_t(columnAt(point.x()));
        const QPointF inner(point.x() - columnX(column) - kPadX, point.y() - row.y - kPadY);
        return blockOf(row.cells[column], r == 0, m_columns[column]).hit(inner);
    }
    return {};
}

double TableBlock::barFactor() const {
    return m_contentWidth > m_width ? m_contentWidth / m_width : 0;
}

bool TableBlock::scrollBy(double dx) {
    const double before = m_scroll;
    m_scroll = std::clamp(m_scroll + dx, 0.0, std::max(0.0, m_contentWidth - m_width));
    return m_scroll != before;
}

} // namespace ui

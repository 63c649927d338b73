#pragma once
// Memory by part, as a bar whose parts differ by pattern as well as colour, with a legend.

#include "engine/runtime/placement.h"
#include "ui/theme.h"

#include <QBrush>
#include <QString>
#include <QWidget>

#include <vector>

namespace ui {

enum class PartPattern { Solid, Diagonal, Dots, Horizontal, Frame };

struct MemoryPart {
    QString name;
    QString technical; // the word in the tooltip
    qint64 bytes = 0;
    QColor Colours::*colour = &Colours::accent;
    PartPattern pattern = PartPattern::Solid;
};

// In the order of the bar; parts of no bytes are left out, free memory is last.
std::vector<MemoryPart> memoryParts(const engine::MemoryByPart& parts, qint64 otherBytes,
                                    qint64 freeBytes);
void paintPart(QPainter& painter, const QRectF& rect, const MemoryPart& part);
// "15.6 GiB"; without the unit where another number with it follows.
QString gibibytes(qint64 bytes, bool unit = true);

class MemoryBar : public QWidget {
    Q_OBJECT
public:
    explicit MemoryBar(QWidget* parent = nullptr);
    void setParts(std::vector<MemoryPart> parts, qint64 totalBytes, qint64 safeBytes);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    std::vector<MemoryPart> m_parts;
    qint64 m_total = 0;
    qint64 m_safe = 0;
};

// One line of a legend: a patterned square, a name, a number at the right edge.
class LegendRow : public QWidget {
    Q_OBJECT
public:
    explicit LegendRow(QWidget* parent = nullptr);
    void setRow(const MemoryPart& part, const QString& value);
    void setTone(QColor Colours::*tone);
    // Without a square.
    void setText(const QString& name, const QString& value, const QString& explanation = {});
    // Only as wide as its words, for rows of several.
    void setCompact(bool compact);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return QSize(80, sizeHint().height()); }
    // Where both do not fit beside each other the number stands below the name.
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    int inset() const { return m_square ? 18 : 0; }
    bool oneLine(int width) const;

    MemoryPart m_part;
    QString m_value;
    bool m_square = false;
    bool m_compact = false;
    QColor Colours::*m_tone = &Colours::text;
};

} // namespace ui

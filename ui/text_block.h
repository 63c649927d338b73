#pragma once
// The pieces that a message is painted from: paragraphs, code, tables, rules, pictures. Each lays
// itself out for a width, paints, and answers where a point lies in its text. Positions are UTF-16
// units of the block's own text; coordinates begin at its upper left corner. GUI thread.

#include "ui/markdown_document.h"

#include <QFont>
#include <QImage>
#include <QRectF>
#include <QString>
#include <QTextLayout>

#include <memory>
#include <optional>
#include <vector>

class QPainter;

namespace ui {

struct TextRange {
    int from = 0;
    int to = 0;
    bool empty() const { return to <= from; }
};

struct BlockPaint {
    TextRange selection;
    std::vector<TextRange> marks; // found text
    int currentMark = -1;         // of `marks`
    QString hovered;              // the target under the mouse
    QRectF clip;                  // in block coordinates
};

// What a point hits: a link or one of our own actions ("action:…").
struct BlockHit {
    QString target;
    QString tip;
};

// Whether most letters of the text are written from right to left.
bool mostlyRightToLeft(QStringView text);

class TextBlock {
public:
    virtual ~TextBlock() = default;
    virtual void layOut(double width) = 0;
    virtual void paint(QPainter& painter, const BlockPaint& paint) = 0;
    virtual QString text() const { return {}; }
    virtual int positionAt(const QPointF&) const { return 0; }
    virtual QRectF rectOf(int) const { return QRectF(0, 0, 1, m_height); }
    virtual std::optional<BlockHit> hit(const QPointF&) const { return {}; }
    virtual TextRange wordAt(int position) const;
    // A wheel turn or drag sideways; true if the block moved.
    virtual bool scrollBy(double) { return false; }
    // Pixels of content for each pixel of the scroll bar; 0: everything is visible.
    virtual double barFactor() const { return 0; }

    double height() const { return m_height; }
    double usedWidth() const { return m_usedWidth; }

protected:
    double m_height = 0;
    double m_usedWidth = 0; // what the content needs, at most the width given
};

struct ParagraphStyle {
    QFont font;
    QColor colour;
    double lineHeight = 1.5;         // em
    std::optional<bool> rightToLeft; // empty: by majority
};

class ParagraphBlock : public TextBlock {
public:
    ParagraphBlock(QString text, QList<MarkdownSpan> spans, ParagraphStyle style);
    void layOut(double width) override;
    void paint(QPainter& painter, const BlockPaint& paint) override;
    QString text() const override { return m_text; }
    int positionAt(const QPointF& point) const override;
    QRectF rectOf(int position) const override;
    std::optional<BlockHit> hit(const QPointF& point) const override;

    void setMarker(const QString& marker,
                   double gutter); // list marker in the gutter before the text
    bool rightToLeft() const { return m_rightToLeft; }
    // Where a text cursor after the last character stands.
    QRectF endRect() const;

private:
    QString m_text;
    QList<MarkdownSpan> m_spans;
    ParagraphStyle m_style;
    QString m_marker;
    double m_gutter = 0;
    double m_width = -1;
    double m_lineStep = 0;
    bool m_rightToLeft = false;
    QTextLayout m_layout;
};

class CodeBlock : public TextBlock {
public:
    CodeBlock(QString language, const QString& text);
    // For a growing block: keeps what is laid out of the lines that stay.
    void setText(const QString& text);
    void layOut(double width) override;
    void paint(QPainter& painter, const BlockPaint& paint) override;
    QString text() const override { return m_text; }
    int positionAt(const QPointF& point) const override;
    QRectF rectOf(int position) const override;
    std::optional<BlockHit> hit(const QPointF& point) const override;
    bool scrollBy(double dx) override;
    double barFactor() const override;
    void toggleWrap();
    const QString& language() const { return m_language; }

private:
    struct Line {
        int start = 0;
        int length = 0;
        double y = 0; // from the first line
        double height = 0;
        std::unique_ptr<QTextLayout> layout; // made when first painted or wrapped
    };
    QTextLayout& layoutOf(Line& line) const;
    size_t lineAt(double y) const;
    double headerHeight() const;
    double maxScroll() const;
    QRectF button(int index) const;
    QStringList buttonTexts() const;

    QString m_language;
    QString m_text;
    mutable std::vector<Line> m_lines;
    double m_width = 0;
    double m_contentWidth = 0;
    double m_scroll = 0;
    double m_linesHeight = 0;
    bool m_wrap = false;
    QFont m_font;
    double m_step = 0;
};

class TableBlock : public TextBlock {
public:
    explicit TableBlock(const MarkdownBlock& block);
    void setRows(const MarkdownBlock& block); // for a growing table: keeps rows that stay
    void layOut(double width) override;
    void paint(QPainter& painter, const BlockPaint& paint) override;
    QString text() const override; // cells by tabs, rows by line breaks
    int positionAt(const QPointF& point) const override;
    QRectF rectOf(int position) const override;
    std::optional<BlockHit> hit(const QPointF& point) const override;
    bool scrollBy(double dx) override;
    double barFactor() const override;

private:
    struct Cell {
        MarkdownCell content;
        int start = 0; // in text()
        double natural = 0;
        std::unique_ptr<ParagraphBlock> block; // made when visible or when it wraps
        double blockWidth = -1;
    };
    struct Row {
        std::vector<Cell> cells;
        double y = 0;
        double height = 0;
    };
    ParagraphBlock& blockOf(Cell& cell, bool header, double width) const;
    int columnAt(double x) const;
    double columnX(size_t column) const;

    mutable std::vector<Row> m_rows;
    QList<Qt::Alignment> m_alignment;
    std::vector<double> m_columns; // inner widths
    double m_width = 0;
    double m_contentWidth = 0;
    double m_scroll = 0;
};

class RuleBlock : public TextBlock {
public:
    void layOut(double width) override;
    void paint(QPainter& painter, const BlockPaint& paint) override;
};

// A picture that came with a message, or the name of another file.
class PictureBlock : public TextBlock {
public:
    PictureBlock(QString sha256, QString name, QSize pixels, QImage image);
    void setImage(const QImage& image) {
        m_image = image;
        m_scaled = {};
    }
    bool hasImage() const { return !m_image.isNull(); }
    bool isPicture() const { return m_pixels.isValid() && !m_pixels.isEmpty(); }
    const QString& sha256() const { return m_sha256; }
    void layOut(double width) override;
    void paint(QPainter& painter, const BlockPaint& paint) override;
    std::optional<BlockHit> hit(const QPointF& point) const override;

private:
    QString m_sha256;
    QString m_name;
    QSize m_pixels;
    QImage m_image;
    QImage m_scaled;
};

} // namespace ui

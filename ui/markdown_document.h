#pragma once
// Markdown (CommonMark with tables and strike-through, through md4c) as a flat list of blocks. HTML
// stays text, nothing is fetched. Appending parses only the tail that can still change.

#include <QList>
#include <QString>
#include <QStringList>

namespace ui {

struct MarkdownSpan { // of a block's text, in UTF-16 units
    int start = 0;
    int length = 0;
    bool bold = false;
    bool italic = false;
    bool code = false;
    bool strike = false;
    bool math = false; // the TeX source
    QString link;
    bool operator==(const MarkdownSpan&) const = default;
};

struct MarkdownCell {
    QString text;
    QList<MarkdownSpan> spans;
    bool operator==(const MarkdownCell&) const = default;
};

struct MarkdownBlock {
    enum class Kind { Paragraph, Heading, Code, Table, Rule };
    Kind kind = Kind::Paragraph;
    int level = 0;      // Heading: 1 .. 6
    int indent = 0;     // depth of lists
    int quoteDepth = 0; // depth of quotes
    QString marker;     // of the list item that begins here: "•", "3."; empty otherwise
    QString text;       // Code: without the last line break
    QList<MarkdownSpan> spans;
    QString language;                // Code
    QList<QList<MarkdownCell>> rows; // Table: the first is the header
    QList<Qt::Alignment> columns;
    bool operator==(const MarkdownBlock&) const = default;
};

QList<MarkdownBlock> parseMarkdown(QStringView text);

class MarkdownDocument {
public:
    void setText(const QString& text);
    void append(QStringView more);
    const QString& text() const { return m_text; }
    const QList<MarkdownBlock>& blocks() const { return m_blocks; }
    // Blocks before this index did not change with the latest append or setText.
    int firstChanged() const { return m_firstChanged; }
    qsizetype parsedCharacters() const { return m_parsed; } // in all so far: for tests of the cost

private:
    void parseTail();

    QString m_text;
    QList<MarkdownBlock> m_blocks;
    qsizetype m_stableText = 0; // characters that can no longer change their blocks
    qsizetype m_stableBlocks = 0;
    int m_firstChanged = 0;
    qsizetype m_parsed = 0;
};

} // namespace ui

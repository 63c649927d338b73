#include "ui/markdown_document.h"

#include <QHash>
#include <QTextDocumentFragment>

#include <md4c.h>

#include <algorithm>

namespace ui {

namespace {

// Formulas are taken out before parsing, since Markdown would read their backslashes and
// underscores, and put back afterwards. A formula becomes: kOpen, its number in digits of kDigit ..
// kDigit + 15, kClose. These code points are noncharacters: they never stand in text.
constexpr char16_t kOpen = 0xFDD0;
constexpr char16_t kClose = 0xFDD1;
constexpr char16_t kDigit = 0xFDE0;
constexpr qsizetype kLongestFormula = 4000;

bool isPlaceholder(QChar c) {
    return c.unicode() >= 0xFDD0 && c.unicode() <= 0xFDEF;
}

struct Formulas {
    QString text; // with placeholders
    QStringList sources;
};

qsizetype formulaEnd(QStringView text, qsizetype start) {
    const auto closing = [&](QStringView mark) -> qsizetype {
        const qsizetype end = text.mid(0, start + kLongestFormula).indexOf(mark, start + 2);
        if (end <= start + 2) return -1;
        const QStringView inner = text.mid(start + 2, end - start - 2);
        // A blank line or a fence inside means that these marks do not belong together.
        if (inner.contains(u"\n\n") || inner.contains(u"```")) return -1;
        return end + 2;
    };
    if (start + 1 >= text.size()) return -1;
    if (text[start] == '\\' && text[start + 1] == '(') return closing(u"\\)");
    if (text[start] == '\\' && text[start + 1] == '[') return closing(u"\\]");
    if (text[start] == '$' && text[start + 1] == '$') return closing(u"$$");
    return -1;
}

Formulas takeFormulas(QStringView text) {
    Formulas out;
    out.text.reserve(text.size());
    for (qsizetype i = 0; i < text.size(); ++i) {
        const QChar c = text[i];
        if (c == '\\' || c == '$') {
            const qsizetype end = formulaEnd(text, i);
            if (end > 0) {
                out.text += QChar(kOpen);
                for (QChar digit : QString::number(out.sources.size(), 16))
                    out.text += QChar(char16_t(kDigit + digit.digitValue() +
                                               (digit.isDigit() ? 0 : digit.unicode() - 'a' + 11)));
                out.text += QChar(kClose);
                out.sources += text.mid(i, end - i).toString();
                i = end - 1;
                continue;
            }
            if (c == '\\' && i + 1 < text.size() && text[i + 1] == '\\') {
                // An escaped backslash: what follows it is not the beginning of a formula.
                out.text += u"\\\\";
                ++i;
                continue;
            }
        }
        out.text += isPlaceholder(c) ? QChar(QChar::ReplacementCharacter) : c;
    }
    return out;
}

bool mayOpen(const QString& link) {
    return link.startsWith("http://", Qt::CaseInsensitive) ||
           link.startsWith("https://", Qt::CaseInsensitive) ||
           link.startsWith("mailto:", Qt::CaseInsensitive);
}

QString decodedEntity(const QString& entity) {
    static QHash<QString, QString> known;
    const auto found = known.constFind(entity);
    if (found != known.constEnd()) return *found;
    QString text = QTextDocumentFragment::fromHtml(entity).toPlainText();
    if (text.isEmpty()) text = entity;
    if (known.size() < 4096) known.insert(entity, text);
    return text;
}

class Builder {
public:
    explicit Builder(const QStringList& formulas) : m_formulas(formulas) {}

    QList<MarkdownBlock> blocks;

    void enterBlock(MD_BLOCKTYPE type, void* detail) {
        switch (type) {
        case MD_BLOCK_DOC: break;
        case MD_BLOCK_QUOTE:
            flush();
            ++m_quoteDepth;
            break;
        case MD_BLOCK_UL:
            flush();
            m_lists.append({false, 0, u'.'});
            break;
        case MD_BLOCK_OL: {
            flush();
            const auto* d = static_cast<MD_BLOCK_OL_DETAIL*>(detail);
            m_lists.append({true, d->start, QChar(d->mark_delimiter)});
            break;
        }
        case MD_BLOCK_LI: {
            flush();
            const auto* d = static_cast<MD_BLOCK_LI_DETAIL*>(detail);
            List& list = m_lists.last();
            if (d->is_task)
                m_marker = d->task_mark == ' ' ? QString(u'☐') : QString(u'☑');
            else if (list.ordered)
                m_marker = QString::number(list.next++) + list.delimiter;
            else
                m_marker = QString(m_lists.size() % 2 ? u'•' : u'◦');
            break;
        }
        case MD_BLOCK_HR: open(MarkdownBlock::Kind::Rule); break;
        case MD_BLOCK_H:
            open(MarkdownBlock::Kind::Heading);
            m_block.level = int(static_cast<MD_BLOCK_H_DETAIL*>(detail)->level);
            break;
        case MD_BLOCK_CODE: {
            open(MarkdownBlock::Kind::Code);
            m_block.language = attribute(static_cast<MD_BLOCK_CODE_DETAIL*>(detail)->lang);
            break;
        }
        case MD_BLOCK_P: open(MarkdownBlock::Kind::Paragraph); break;
        case MD_BLOCK_TABLE: open(MarkdownBlock::Kind::Table); break;
        case MD_BLOCK_TR: m_block.rows.append(QList<MarkdownCell>()); break;
        case MD_BLOCK_TH:
        case MD_BLOCK_TD: {
            const MD_ALIGN align = static_cast<MD_BLOCK_TD_DETAIL*>(detail)->align;
            m_block.rows.last().append(MarkdownCell());
            m_cell = &m_block.rows.last().last();
            if (type == MD_BLOCK_TH)
                m_block.columns.append(align == MD_ALIGN_CENTER  ? Qt::AlignHCenter
                                       : align == MD_ALIGN_RIGHT ? Qt::AlignRight
                                                                 : Qt::AlignLeft);
            break;
        }
        case MD_BLOCK_HTML:
        case MD_BLOCK_THEAD:
        case MD_BLOCK_TBODY: break;
        }
    }

    void leaveBlock(MD_BLOCKTYPE type) {
        switch (type) {
        case MD_BLOCK_QUOTE:
            flush();
            --m_quoteDepth;
            break;
        case MD_BLOCK_UL:
        case MD_BLOCK_OL:
            flush();
            m_lists.removeLast();
            break;
        case MD_BLOCK_LI:
            if (!m_open && !m_marker.isEmpty()) open(MarkdownBlock::Kind::Paragraph);
            flush();
            break;
        case MD_BLOCK_TH:
        case MD_BLOCK_TD: m_cell = nullptr; break;
        case MD_BLOCK_HR:
        case MD_BLOCK_H:
        case MD_BLOCK_CODE:
        case MD_BLOCK_P:
        case MD_BLOCK_TABLE: flush(); break;
        default: break;
        }
    }

    void enterSpan(MD_SPANTYPE type, void* detail) {
        Style style = m_styles.isEmpty() ? Style() : m_styles.last();
        style.imageSource.clear();
        switch (type) {
        case MD_SPAN_EM: style.italic = true; break;
        case MD_SPAN_STRONG: style.bold = true; break;
        case MD_SPAN_CODE: style.code = true; break;
        case MD_SPAN_DEL: style.strike = true; break;
        case MD_SPAN_A: {
            const QString link = attribute(static_cast<MD_SPAN_A_DETAIL*>(detail)->href);
            if (mayOpen(link)) style.link = link;
            break;
        }
        case MD_SPAN_IMG: {
            // Pictures from elsewhere are never fetched; their description links to them.
            const QString link = attribute(static_cast<MD_SPAN_IMG_DETAIL*>(detail)->src);
            if (mayOpen(link)) style.link = link;
            style.italic = true;
            style.imageSource = link;
            break;
        }
        default: break;
        }
        style.start = target().size();
        m_styles.append(style);
    }

    void leaveSpan() {
        const Style style = m_styles.last();
        if (!style.imageSource.isEmpty() && target().size() == style.start)
            addText(style.imageSource);
        m_styles.removeLast();
    }

    void text(MD_TEXTTYPE type, const char* data, MD_SIZE size) {
        switch (type) {
        case MD_TEXT_NULLCHAR: addText(QString(QChar::ReplacementCharacter)); break;
        case MD_TEXT_BR:
        case MD_TEXT_SOFTBR: addText(QString(QChar::LineSeparator)); break;
        case MD_TEXT_ENTITY:
            addText(decodedEntity(QString::fromUtf8(data, qsizetype(size))));
            break;
        default: addText(QString::fromUtf8(data, qsizetype(size))); break;
        }
    }

    void finish() { flush(); }

private:
    struct List {
        bool ordered;
        unsigned next;
        QChar delimiter;
    };
    struct Style : MarkdownSpan {
        QString imageSource;
    };

    QString attribute(const MD_ATTRIBUTE& value) const {
        QString out;
        for (int i = 0; value.substr_offsets && value.substr_offsets[i] < value.size; ++i) {
            const MD_OFFSET from = value.substr_offsets[i];
            const QString part =
                QString::fromUtf8(value.text + from, qsizetype(value.substr_offsets[i + 1] - from));
            out += value.substr_types[i] == MD_TEXT_ENTITY ? decodedEntity(part) : part;
        }
        return restored(out);
    }

    QString restored(const QString& text) const {
        QString out;
        qsizetype from = 0;
        for (qsizetype open; (open = text.indexOf(QChar(kOpen), from)) >= 0;) {
            out += text.mid(from, open - from);
            from = open + 1;
            out += formulaAt(text, from);
        }
        return from ? out + text.mid(from) : text;
    }

    // The source whose number begins at `at`; moves `at` behind its end.
    QString formulaAt(const QString& text, qsizetype& at) const {
        qsizetype number = 0;
        for (; at < text.size() && text[at] != QChar(kClose); ++at)
            number = number * 16 + (text[at].unicode() - kDigit);
        ++at;
        return m_formulas.value(number);
    }

    QString& target() {
        if (m_cell) return m_cell->text;
        return m_block.text;
    }

    void addText(const QString& text) {
        // The items of a tight list have no paragraph of their own.
        if (!m_open) open(MarkdownBlock::Kind::Paragraph);
        qsizetype from = 0;
        for (qsizetype at; (at = text.indexOf(QChar(kOpen), from)) >= 0;) {
            addRun(text.mid(from, at - from), false);
            from = at + 1;
            addRun(formulaAt(text, from), true);
        }
        addRun(from ? text.mid(from) : text, false);
    }

    void addRun(QString run, bool math) {
        if (run.isEmpty()) return;
        const bool verbatim = m_block.kind == MarkdownBlock::Kind::Code;
        if (!verbatim) run.replace('\n', QChar(QChar::LineSeparator));
        QString& text = target();
        if (!verbatim && (math || !m_styles.isEmpty())) {
            MarkdownSpan span = m_styles.isEmpty() ? MarkdownSpan() : MarkdownSpan(m_styles.last());
            span.math = math && !span.code;
            span.start = int(text.size());
            span.length = int(run.size());
            QList<MarkdownSpan>& spans = m_cell ? m_cell->spans : m_block.spans;
            MarkdownSpan grown = spans.isEmpty() ? MarkdownSpan() : spans.last();
            const bool touches = !spans.isEmpty() && grown.start + grown.length == span.start;
            grown.start = span.start;
            grown.length = span.length;
            if (touches && grown == span)
                spans.last().length += span.length;
            else
                spans.append(span);
        }
        text += run;
    }

    void open(MarkdownBlock::Kind kind) {
        flush();
        m_block = {};
        m_block.kind = kind;
        m_block.indent = int(m_lists.size());
        m_block.quoteDepth = m_quoteDepth;
        m_block.marker = m_marker;
        m_marker.clear();
        m_open = true;
    }

    void flush() {
        if (!m_open) return;
        if (m_block.kind == MarkdownBlock::Kind::Code && m_block.text.endsWith('\n'))
            m_block.text.chop(1);
        blocks.append(std::move(m_block));
        m_block = {};
        m_open = false;
    }

    const QStringList& m_formulas;
    MarkdownBlock m_block;
    MarkdownCell* m_cell = nullptr; // of m_block
    bool m_open = false;
    int m_quoteDepth = 0;
    QList<List> m_lists;
    QString m_marker; // of the item whose first block is still to come
    QList<Style> m_styles;
};

Builder& builder(void* user) {
    return *static_cast<Builder*>(user);
}

bool isListMarker(QStringView line) {
    if (line.isEmpty()) return false;
    qsizetype i = 0;
    if (line[0] == '-' || line[0] == '*' || line[0] == '+') {
        i = 1;
    } else {
        while (i < line.size() && i < 9 && line[i] >= '0' && line[i] <= '9') ++i;
        if (i == 0 || i >= line.size() || (line[i] != '.' && line[i] != ')')) return false;
        ++i;
    }
    return i >= line.size() || line[i] == ' ' || line[i] == '\t';
}

// Where the last block begins that later text may still change: the beginning of the last
// unindented line after a blank one, outside fences, that does not continue a list. 0: nothing is
// final.
qsizetype lastBoundary(QStringView text) {
    qsizetype boundary = 0;
    bool blankBefore = false;
    bool inList = isListMarker(text.left(text.indexOf('\n')));
    QString fence;
    for (qsizetype start = 0; start < text.size();) {
        qsizetype end = text.indexOf('\n', start);
        if (end < 0) break; // an unfinished line may yet become anything
        const QStringView line = text.mid(start, end - start);
        const QStringView trimmed = line.trimmed();
        if (!fence.isEmpty()) {
            if (trimmed.startsWith(fence) && trimmed.count(fence[0]) == trimmed.size())
                fence.clear();
        } else if (trimmed.isEmpty()) {
            blankBefore = true;
            start = end + 1;
            continue;
        } else {
            const bool indented = line[0].isSpace();
            const bool item = isListMarker(line);
            if (blankBefore && !indented && !(inList && item)) {
                boundary = start;
                inList = item;
            }
            if (trimmed.startsWith(u"```") || trimmed.startsWith(u"~~~")) {
                qsizetype length = 0;
                while (length < trimmed.size() && trimmed[length] == trimmed[0]) ++length;
                // A fence of back-ticks with another one on its line is inline code.
                if (trimmed[0] == '~' || !trimmed.mid(length).contains('`'))
                    fence = trimmed.left(length).toString();
            }
        }
        blankBefore = false;
        start = end + 1;
    }
    return boundary;
}

} // namespace

QList<MarkdownBlock> parseMarkdown(QStringView text) {
    const Formulas formulas = takeFormulas(text);
    const QByteArray utf8 = formulas.text.toUtf8();
    MD_PARSER parser = {};
    parser.flags = MD_FLAG_NOHTML | MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS |
                   MD_FLAG_PERMISSIVEURLAUTOLINKS | MD_FLAG_NOINDENTEDCODEBLOCKS;
    parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* user) {
        builder(user).enterBlock(type, detail);
        return 0;
    };
    parser.leave_block = [](MD_BLOCKTYPE type, void*, void* user) {
        builder(user).leaveBlock(type);
        return 0;
    };
    parser.enter_span = [](MD_SPANTYPE type, void* detail, void* user) {
        builder(user).enterSpan(type, detail);
        return 0;
    };
    parser.leave_span = [](MD_SPANTYPE, void*, void* user) {
        builder(user).leaveSpan();
        return 0;
    };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* data, MD_SIZE size, void* user) {
        builder(user).text(type, data, size);
        return 0;
    };
    Builder out(formulas.sources);
    if (md_parse(utf8.constData(), MD_SIZE(utf8.size()), &parser, &out) != 0) {
        // The parser ran out of memory: the text is shown as it is.
        MarkdownBlock plain;
        plain.text = text.toString();
        return {plain};
    }
    out.finish();
    return out.blocks;
}

void MarkdownDocument::setText(const QString& text) {
    m_text = text;
    m_stableText = 0;
    m_stableBlocks = 0;
    parseTail();
}

void MarkdownDocument::append(QStringView more) {
    m_text += more;
    parseTail();
}

void MarkdownDocument::parseTail() {
    const QStringView tail = QStringView(m_text).mid(m_stableText);
    const qsizetype boundary = lastBoundary(tail);
    QList<MarkdownBlock> fresh;
    if (boundary > 0) {
        // What lies before the boundary is final: it is parsed once more, alone, and never again.
        fresh = parseMarkdown(tail.left(boundary));
        m_parsed += boundary;
    }
    const qsizetype finalBlocks = fresh.size();
    fresh += parseMarkdown(tail.mid(boundary));
    m_parsed += tail.size() - boundary;

    qsizetype same = 0;
    const qsizetype old = m_blocks.size() - m_stableBlocks;
    while (same < old && same < fresh.size() && m_blocks[m_stableBlocks + same] == fresh[same])
        ++same;
    m_firstChanged = int(m_stableBlocks + same);
    m_blocks.resize(m_firstChanged);
    m_blocks += fresh.mid(same);
    m_stableText += boundary;
    m_stableBlocks += finalBlocks;
}

} // namespace ui

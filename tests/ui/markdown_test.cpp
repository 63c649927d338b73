#include "processor_timer.h"
#include "ui_tests.h"

#include "ui/markdown_document.h"

#include <QRandomGenerator>
#include <QTest>

using namespace ui;
using Kind = MarkdownBlock::Kind;

class MarkdownTest : public QObject {
    Q_OBJECT
private slots:
    void blocksOfAllKinds() {
        const auto blocks = parseMarkdown(
            u"# Title\n\ntext **bold** and `code`\n\n- one\n- two\n  1. inner\n\n> quoted\n\n"
            u"```cpp\nint a;\n\nint b;\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n---\n");
        QCOMPARE(blocks.size(), 9);
        QCOMPARE(blocks[0].kind, Kind::Heading);
        QCOMPARE(blocks[0].level, 1);
        QCOMPARE(blocks[1].text, QString("text bold and code"));
        QCOMPARE(blocks[1].spans.size(), 2);
        QVERIFY(blocks[1].spans[0].bold);
        QCOMPARE(blocks[1].text.mid(blocks[1].spans[1].start, blocks[1].spans[1].length),
                 QString("code"));
        QCOMPARE(blocks[2].marker, QString("•"));
        QCOMPARE(blocks[2].indent, 1);
        QCOMPARE(blocks[4].marker, QString("1."));
        QCOMPARE(blocks[4].indent, 2);
        QCOMPARE(blocks[5].quoteDepth, 1);
        QCOMPARE(blocks[6].kind, Kind::Code);
        QCOMPARE(blocks[6].language, QString("cpp"));
        QCOMPARE(blocks[6].text, QString("int a;\n\nint b;"));
        QCOMPARE(blocks[7].kind, Kind::Table);
        QCOMPARE(blocks[7].rows.size(), 2);
        QCOMPARE(blocks[7].rows[1][1].text, QString("2"));
        QCOMPARE(blocks[7].columns[1], Qt::Alignment(Qt::AlignRight));
        QCOMPARE(blocks[8].kind, Kind::Rule);
    }

    void htmlStaysText() {
        const auto blocks = parseMarkdown(
            u"<script>alert(1)</script>\n\na <b>bold</b> <img src=\"http://x/y.png\">");
        QCOMPARE(blocks[0].text, QString("<script>alert(1)</script>"));
        QCOMPARE(blocks[1].text, QString("a <b>bold</b> <img src=\"http://x/y.png\">"));
    }

    void onlyHarmlessLinksCanBeOpened_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("link");
        QTest::newRow("https") << "[a](https://example.org/x)"
                               << "https://example.org/x";
        QTest::newRow("bare") << "see https://example.org"
                              << "https://example.org";
        QTest::newRow("mail") << "[a](mailto:a@b.c)"
                              << "mailto:a@b.c";
        QTest::newRow("javascript") << "[a](javascript:alert(1))"
                                    << "";
        QTest::newRow("file") << "[a](file:///etc/passwd)"
                              << "";
        QTest::newRow("own action") << "[a](action:continue)"
                                    << "";
        QTest::newRow("data") << "[a](data:text/html,x)"
                              << "";
        QTest::newRow("entity") << "[a](java&#115;cript:alert(1))"
                                << "";
    }

    void onlyHarmlessLinksCanBeOpened() {
        QFETCH(QString, text);
        QFETCH(QString, link);
        QString found;
        const auto blocks = parseMarkdown(text);
        for (const MarkdownSpan& span : blocks[0].spans)
            if (!span.link.isEmpty()) found = span.link;
        QCOMPARE(found, link);
    }

    void picturesFromElsewhereAreOnlyNamed() {
        const auto blocks = parseMarkdown(
            u"![a cat](https://example.org/cat.png) ![](https://example.org/dog.png)");
        QCOMPARE(blocks.size(), 1);
        QCOMPARE(blocks[0].text, QString("a cat https://example.org/dog.png"));
        QCOMPARE(blocks[0].spans[0].link, QString("https://example.org/cat.png"));
    }

    void formulasKeepTheirSource() {
        const auto blocks = parseMarkdown(u"so \\(a_1 * b_1 * c_2\\) and $$x_i$$ for $5 and $6");
        QCOMPARE(blocks[0].text, QString("so \\(a_1 * b_1 * c_2\\) and $$x_i$$ for $5 and $6"));
        QCOMPARE(blocks[0].spans.size(), 2);
        QVERIFY(blocks[0].spans[0].math && blocks[0].spans[1].math);
        QVERIFY(!blocks[0].spans[0].italic);
        QCOMPARE(parseMarkdown(u"```\n\\(x\\)\n```")[0].text, QString("\\(x\\)"));
        QCOMPARE(parseMarkdown(u"a \\\\(not a formula\\\\)")[0].text,
                 QString("a \\(not a formula\\)"));
        // More than sixteen need more than one digit of their placeholder.
        QString many;
        for (int i = 0; i < 40; ++i) many += QString("\\(f_{%1}\\) ").arg(i);
        QCOMPARE(parseMarkdown(many)[0].text, many.trimmed());
    }

    void placeholdersInForeignTextAreReplaced() {
        const QString text = QString("a") + QChar(0xFDD0) + QChar(0xFDE0) + QChar(0xFDD1) + "b";
        const QString shown = parseMarkdown(text)[0].text;
        QVERIFY(!shown.contains(QChar(0xFDD0)));
        QVERIFY(shown.startsWith('a') && shown.endsWith('b'));
    }

    void entitiesAreRead() {
        QCOMPARE(parseMarkdown(u"a &amp; b &lt;c&gt; &#169; &nosuch;")[0].text,
                 QString("a & b <c> © &nosuch;"));
    }

    void textInPiecesEqualsTextAtOnce_data() {
        QTest::addColumn<QString>("text");
        QTest::newRow("mixed")
            << "# T\n\npara one\nline two\n\n- a\n- b\n\n  more of b\n\n- c\n\nafter\n\n```py\nx = "
               "1\n\ny = 2\n"
               "```\n\n1. x\n\n2. y\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> q\n>\n> r\n\nend\n";
        QTest::newRow("open fence") << "text\n\n~~~\ncode\n\n- not a list\n\nstill code";
        QTest::newRow("nested fence")
            << "- item\n\n  ```c\n  int a;\n\n  int b;\n  ```\n\n- next\n\nlast";
        QTest::newRow("setext") << "Title\n=====\n\nSub\n---\n\ntext";
        QTest::newRow("clusters") << QString::fromUtf8(
            "👩‍👩‍👧‍👦 🇨🇭\n\nक्षि नमस्ते\n\nשלום API "
            "عربي\n");
    }

    void textInPiecesEqualsTextAtOnce() {
        QFETCH(QString, text);
        const auto whole = parseMarkdown(text);
        const quint32 seed = QRandomGenerator::global()->generate();
        QRandomGenerator random(seed);
        for (int round = 0; round < 40; ++round) {
            MarkdownDocument document;
            for (qsizetype at = 0; at < text.size();) {
                const qsizetype size = 1 + random.bounded(7);
                document.append(QStringView(text).mid(at, size));
                at += size;
            }
            QVERIFY2(document.blocks() == whole, qPrintable(QString("seed %1").arg(seed)));
        }
    }

    void firstChangedTellsWhatStayed() {
        MarkdownDocument document;
        document.setText("one\n\ntwo\n\nthr");
        document.append(u"ee");
        QCOMPARE(document.firstChanged(), 2);
        document.append(u"\n\nfour");
        QCOMPARE(document.firstChanged(), 3);
        QCOMPARE(document.blocks().size(), 4);
    }

    void longAnswersAreNotParsedAgainAndAgain() {
        MarkdownDocument document;
        QString paragraph;
        for (int i = 0; i < 60; ++i) paragraph += "word ";
        qsizetype written = 0;
        for (int i = 0; i < 400; ++i) {
            for (qsizetype at = 0; at < paragraph.size(); at += 15)
                document.append(QStringView(paragraph).mid(at, 15));
            document.append(u"\n\n");
            written += paragraph.size();
        }
        QCOMPARE(document.blocks().size(), 400);
        // Each paragraph is parsed once per piece while it grows, about 11 times its length; not
        // 400 times.
        QVERIFY2(document.parsedCharacters() < written * 40,
                 qPrintable(QString("%1 for %2").arg(document.parsedCharacters()).arg(written)));
    }

    void hostileTextEndsSoon_data() {
        QTest::addColumn<QString>("text");
        QTest::newRow("quotes") << QString("> ").repeated(5000) + "x";
        QTest::newRow("brackets") << QString("[").repeated(20000);
        QTest::newRow("emphasis") << QString("*a_").repeated(10000);
        QTest::newRow("lists") << QString("- ").repeated(3000) + "x";
        QTest::newRow("backticks") << QString("`a``").repeated(8000);
        QTest::newRow("dollars") << QString("$$").repeated(20000);
        QTest::newRow("formulas") << QString("\\(").repeated(20000);
        QTest::newRow("entities") << QString("&#x41;").repeated(10000);
        QTest::newRow("one line") << QString(1'000'000, 'a');
        QTest::newRow("nul and lone surrogates")
            << QString("a") + QChar(0) + QChar(0xD800) + "b" + QChar(0xDC00);
        QTest::newRow("table") << "|" + QString("a|").repeated(200) + "\n|" +
                                      QString("-|").repeated(200) + "\n" +
                                      ("|" + QString("b|").repeated(200) + "\n").repeated(50);
    }

    void hostileTextEndsSoon() {
        QFETCH(QString, text);
        ProcessorTimer clock;
        const auto blocks = parseMarkdown(text);
        QVERIFY(!blocks.isEmpty());
        QVERIFY2(clock.elapsed() < 2000, qPrintable(QString("%1 ms").arg(clock.elapsed())));
    }
};

std::unique_ptr<QObject> makeMarkdownTest() {
    return std::make_unique<MarkdownTest>();
}

#include "markdown_test.moc"

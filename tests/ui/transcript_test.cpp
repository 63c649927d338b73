#include "processor_timer.h"
#include "ui_tests.h"

#include "ui/empty_chat.h"
#include "ui/message_actions.h"
#include "ui/notice_card.h"
#include "ui/theme.h"
#include "ui/transcript_view.h"

#include <QApplication>
#include <QClipboard>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QUrl>

using namespace ui;

namespace {

MessageRow row(qint64 id, engine::Role role, const QString& text) {
    MessageRow out;
    out.message.id = id;
    out.message.parentId = id - 1;
    out.message.role = role;
    out.message.text = text.toStdString();
    return out;
}

MessageRow answer(qint64 id, const QString& text) {
    return row(id, engine::Role::Assistant, text);
}
MessageRow question(qint64 id, const QString& text) {
    return row(id, engine::Role::User, text);
}

const QString kParagraph =
    "The quick brown fox jumps over the lazy dog and **keeps running** through `the code`, until "
    "the paragraph has become long enough to be broken into several lines of the column.";

struct Shown {
    ConversationModel model;
    TranscriptView view;
    Shown() {
        view.resize(900, 700);
        view.setModel(&model);
        view.show();
    }
    void hover(const QPoint& at) {
        QWidget* port = view.viewport();
        QMouseEvent move(QEvent::MouseMove, at, port->mapToGlobal(QPointF(at)), Qt::NoButton,
                         Qt::NoButton, {});
        QApplication::sendEvent(port, &move);
    }
    // The first point of the viewport that can be clicked; (-1, -1) if there is none.
    QPoint find() {
        for (int y = 2; y < view.viewport()->height(); y += 4)
            for (int x = 2; x < view.viewport()->width(); x += 6) {
                hover(QPoint(x, y));
                if (view.viewport()->cursor().shape() == Qt::PointingHandCursor)
                    return QPoint(x, y);
            }
        return QPoint(-1, -1);
    }
};

// The longest time that the event loop was busy.
class Watchdog : public QObject {
public:
    Watchdog() {
        m_timer.setInterval(1);
        connect(&m_timer, &QTimer::timeout, this, [this] {
            worst = std::max(worst, m_busy.elapsed());
            m_busy.restart();
        });
        m_timer.start();
    }
    double worst = 0; // ms

private:
    ProcessorTimer m_busy;
    QTimer m_timer;
};

} // namespace

class TranscriptTest : public QObject {
    Q_OBJECT
private slots:
    void aLowWindowShowsFewerStartersButWholeOnes() {
        Shown shown;
        shown.view.setEmptyChat({"Model", "A sentence.", {}, {"one", "two", "three"}});
        const auto visible = [&] {
            int count = 0;
            for (QPushButton* card :
                 shown.view.findChild<EmptyChatPage*>()->findChildren<QPushButton*>()) {
                if (!card->isVisible()) continue;
                ++count;
                if (card->height() < card->heightForWidth(card->width())) return -1;
            }
            return count;
        };
        QApplication::processEvents();
        QCOMPARE(visible(), 3);
        shown.view.resize(900, 220);
        QApplication::processEvents();
        QVERIFY2(visible() >= 1 && visible() < 3, qPrintable(QString::number(visible())));
        shown.view.resize(900, 700);
        QApplication::processEvents();
        QCOMPARE(visible(), 3);
    }

    void aFirstMessageThatFailedSaysWhy() {
        Shown shown;
        shown.view.setEmptyChat({"Model", "A sentence.", {}, {"one"}});
        shown.model.setRows({question(1, "too long")});
        // The message goes back to the composer, and nothing is left in the transcript.
        shown.model.setRows({});
        shown.model.setErrorCard(Notice{"answer", NoticeKind::Bad, "It does not fit.", {}, {}});
        const auto* card = shown.view.findChild<NoticeCard*>();
        QVERIFY(card->isVisible());
        QVERIFY(shown.view.viewport()->rect().intersects(card->geometry()));
        QVERIFY(!shown.view.findChild<EmptyChatPage*>()->isVisible());
        shown.model.setErrorCard(std::nullopt);
        QVERIFY(!card->isVisible());
        QVERIFY(shown.view.findChild<EmptyChatPage*>()->isVisible());
    }

    void fiveThousandMessagesOpenWithinASecond() {
        std::vector<MessageRow> rows;
        for (int i = 1; i <= 5000; ++i) {
            rows.push_back(
                i % 2 ? question(i, QString("Question %1: what about %2?").arg(i).arg(kParagraph))
                      : answer(i, QString("# Answer %1\n\n").arg(i) +
                                      (kParagraph + "\n\n").repeated(3) +
                                      "```cpp\nint a = 1;\n```\n"));
            if (i % 25 == 1) {
                engine::Attachment file;
                file.sha256 = std::to_string(i);
                file.width = 800;
                file.height = 600;
                rows.back().message.attachments.push_back(file);
            }
        }
        Shown shown;
        ProcessorTimer clock;
        shown.model.setRows(std::move(rows));
        shown.view.viewport()->repaint();
        QVERIFY2(clock.elapsed() < 1000, qPrintable(QString("%1 ms").arg(clock.elapsed())));
        QVERIFY2(shown.view.laidOutRows() < 100,
                 qPrintable(QString::number(shown.view.laidOutRows())));
        QVERIFY(shown.view.followsEnd());
        QCOMPARE(shown.view.verticalScrollBar()->value(),
                 shown.view.verticalScrollBar()->maximum());

        // Anywhere in it, and at each step, no longer than a tenth of a second.
        for (int step = 0; step <= 40; ++step) {
            clock.restart();
            shown.view.verticalScrollBar()->setValue(shown.view.verticalScrollBar()->maximum() *
                                                     step / 40);
            shown.view.viewport()->repaint();
            QVERIFY2(clock.elapsed() < 100,
                     qPrintable(QString("%1 ms at %2").arg(clock.elapsed()).arg(step)));
        }
        clock.restart();
        shown.view.scrollToMessage(2500, "Answer 2500");
        shown.view.viewport()->repaint();
        QVERIFY(clock.elapsed() < 100);
    }

    void aLongAnswerStreamsWithoutStalls() {
        // About 30,000 tokens: paragraphs, lists, a long code block and a table.
        QString text;
        for (int i = 0; i < 420; ++i)
            text += kParagraph + QString(" %1\n\n- item\n- item two\n\n").arg(i);
        text += "```cpp\n" + QString("int value = compute(1, 2, 3); // a comment\n").repeated(900) +
                "```\n\n";
        text += "| a | b | c |\n|---|---|---|\n" +
                QString("| one | two | three four five |\n").repeated(200);
        QVERIFY(text.size() > 90'000);
        Shown shown;
        shown.model.setRows({question(1, "Write a lot.")});
        shown.view.setAnswering(true);
        shown.model.appendRow(answer(2, ""));
        Activity activity;
        activity.kind = Activity::Kind::Answering;
        shown.model.setActivity(activity);
        Watchdog watchdog;
        // 60,000 tokens a second, more than any card writes: all at once would be one long
        // layout. In processor time, so that a busy machine does not make it faster.
        const int piece = 60;
        const ProcessorTimer since;
        for (qsizetype at = 0; at < text.size(); at += piece) {
            shown.model.appendDelta({engine::Channel::Answer, text.mid(at, piece).toStdString()});
            do QApplication::processEvents();
            while (since.elapsed() < 500.0 * double(at) / double(text.size()));
        }
        QTest::qWait(300);
        QCOMPARE(shown.model.text(1).size(), text.size());
        QVERIFY(shown.view.followsEnd());
        QVERIFY2(watchdog.worst < 30, qPrintable(QString("%1 ms").arg(watchdog.worst)));
    }

    void textIsFollowedOnlyAtTheEnd() {
        Shown shown;
        std::vector<MessageRow> rows;
        for (int i = 1; i <= 20; ++i)
            rows.push_back(i % 2 ? question(i, kParagraph) : answer(i, kParagraph.repeated(3)));
        shown.model.setRows(std::move(rows));
        QScrollBar* bar = shown.view.verticalScrollBar();
        const auto grow = [&] {
            shown.model.appendDelta(
                {engine::Channel::Answer, ("\n\n" + kParagraph.repeated(4)).toStdString()});
            QTest::qWait(60);
        };
        grow();
        QCOMPARE(bar->value(), bar->maximum());
        bar->setValue(bar->maximum() - 30);
        grow();
        QCOMPARE(bar->value(), bar->maximum());
        const int away = bar->maximum() - 200;
        bar->setValue(away);
        grow();
        QCOMPARE(bar->value(), away);
        QPushButton* jump = nullptr;
        for (QPushButton* button : shown.view.viewport()->findChildren<QPushButton*>())
            if (button->text() == "New text") jump = button;
        QVERIFY(jump && jump->isVisible());
        jump->click();
        QCOMPARE(bar->value(), bar->maximum());
        QVERIFY(!jump->isVisible());
    }

    void changingTheVersionDoesNotScroll() {
        Shown shown;
        std::vector<MessageRow> rows;
        for (int i = 1; i <= 30; ++i)
            rows.push_back(i % 2 ? question(i, kParagraph) : answer(i, kParagraph.repeated(4)));
        auto other = rows;
        other.resize(20);
        other.push_back(question(100, "Another version"));
        shown.model.setRows(rows);
        QScrollBar* bar = shown.view.verticalScrollBar();
        bar->setValue(400);
        const int before = bar->value();
        shown.model.setRows(other);
        QVERIFY(qAbs(bar->value() - before) < 3);
        shown.model.setRows({question(500, "another chat")});
        QVERIFY(shown.view.followsEnd());
    }

    void readingUpwardsDoesNotJump() {
        Shown shown;
        std::vector<MessageRow> rows;
        for (int i = 1; i <= 200; ++i)
            rows.push_back(i % 2 ? question(i, "short")
                                 : answer(i, "```\n" + QString("x\n").repeated(i % 40) + "```\n"));
        shown.model.setRows(std::move(rows));
        QScrollBar* bar = shown.view.verticalScrollBar();
        bar->setValue(bar->maximum() - 10);
        QCOMPARE(bar->value(), bar->maximum() - 10); // near the end is not the end
        // What is seen moves by as much as the bar was moved, although guessed heights become real
        // ones.
        for (int step = 0; step < 60; ++step) {
            shown.view.viewport()->repaint();
            const QImage before = shown.view.viewport()->grab().toImage();
            const int by = 37;
            bar->setValue(bar->value() - by);
            const QImage after = shown.view.viewport()->grab().toImage();
            const int width = before.width(), height = before.height();
            // Rounded corners that the edge cuts are drawn a shade differently; text that moved
            // differs by much.
            int moved = 0;
            for (int y = 0; y < height - by - 60; ++y)
                for (int x = 0; x < width; ++x)
                    moved += qAbs(qGray(before.pixel(x, y)) - qGray(after.pixel(x, y + by))) > 32;
            QVERIFY2(moved == 0, qPrintable(QString("step %1: %2 pixels").arg(step).arg(moved)));
        }
    }

    void textCanBeSelectedAndCopied() {
        Shown shown;
        shown.model.setRows({question(1, "first\nsecond"),
                             answer(2, "plain **bold** text\n\n| a | b |\n|---|---|\n| 1 | 2 |")});
        QVERIFY(!shown.view.copy());
        shown.view.selectAll();
        QCOMPARE(shown.view.selectedText(),
                 QString("first\nsecond\n\nplain bold text\na\tb\n1\t2"));
        QVERIFY(shown.view.copy());
        QCOMPARE(QApplication::clipboard()->text(), shown.view.selectedText());
    }

    void aDragSelectsWithinTheText() {
        Shown shown;
        shown.model.setRows({answer(1, "alpha beta gamma")});
        QWidget* port = shown.view.viewport();
        // The first line begins at the left edge of the column.
        const int left = (port->width() - std::min(ems(46), port->width() - 48)) / 2;
        const QPoint from(left + 1, 30);
        QTest::mousePress(port, Qt::LeftButton, {}, from);
        QTest::mouseMove(port, QPoint(port->width() - 2, 30));
        QMouseEvent move(QEvent::MouseMove, QPointF(port->width() - 2, 30),
                         port->mapToGlobal(QPointF(port->width() - 2, 30)), Qt::NoButton,
                         Qt::LeftButton, {});
        QApplication::sendEvent(port, &move);
        QTest::mouseRelease(port, Qt::LeftButton, {}, QPoint(port->width() - 2, 30));
        QCOMPARE(shown.view.selectedText(), QString("alpha beta gamma"));
        QTest::mouseDClick(port, Qt::LeftButton, {}, from);
        QCOMPARE(shown.view.selectedText(), QString("alpha"));
    }

    void linksOpenOnlyAfterAClick() {
        Shown shown;
        QSignalSpy chosen(&shown.view, &TranscriptView::linkChosen);
        shown.model.setRows({answer(1, "[the page](https://example.org/x)")});
        const QPoint at = shown.find();
        QVERIFY(at.x() > 0);
        QCOMPARE(chosen.size(), 0);
        QTest::mouseClick(shown.view.viewport(), Qt::LeftButton, {}, at);
        QCOMPARE(chosen.size(), 1);
        QCOMPARE(chosen[0][0].toUrl(), QUrl("https://example.org/x"));
    }

    void stoppedAnswersOfferContinueAndTryAgain() {
        Shown shown;
        QSignalSpy resumed(&shown.view, &TranscriptView::continueWished);
        MessageRow stopped = answer(2, "half an ans");
        stopped.message.state = engine::MessageState::Stopped;
        shown.model.setRows({question(1, "q"), stopped});
        const QPoint at = shown.find();
        QVERIFY(at.x() > 0);
        QTest::mouseClick(shown.view.viewport(), Qt::LeftButton, {}, at);
        QCOMPARE(resumed.size(), 1);
        QCOMPARE(resumed[0][0].toLongLong(), 2);
    }

    void thinkingIsClosedUntilItIsClicked() {
        Shown shown;
        MessageRow thought = answer(1, "answer");
        thought.message.thinking = "a secret thought";
        thought.message.figures.thinkingSeconds = 12;
        shown.model.setRows({thought});
        shown.view.selectAll();
        QVERIFY(!shown.view.selectedText().contains("secret"));
        const QPoint at = shown.find();
        QVERIFY(at.x() > 0);
        QTest::mouseClick(shown.view.viewport(), Qt::LeftButton, {}, at);
        shown.view.selectAll();
        QVERIFY(shown.view.selectedText().contains("a secret thought"));
    }

    void noThinkingShowsNothing() {
        Shown shown;
        MessageRow plain = answer(1, "answer");
        plain.message.thinking = " ";
        shown.model.setRows({plain});
        QCOMPARE(shown.find(), QPoint(-1, -1));
    }

    void actionsOfTheHoveredMessageCarryItsId() {
        Shown shown;
        QSignalSpy edited(&shown.view, &TranscriptView::editWished);
        QSignalSpy again(&shown.view, &TranscriptView::tryAgainWished);
        QSignalSpy version(&shown.view, &TranscriptView::versionWished);
        MessageRow second = answer(12, "the answer");
        second.version = 2;
        second.versions = 3;
        shown.model.setRows({question(11, "the question"), second});
        auto* actions = shown.view.viewport()->findChild<MessageActions*>();
        const auto button = [&](const char* name) -> QToolButton* {
            for (QToolButton* b : actions->findChildren<QToolButton*>())
                if (b->accessibleName() == name && b->isVisible()) return b;
            return nullptr;
        };
        shown.hover(QPoint(shown.view.viewport()->width() / 2, 30));
        QVERIFY(actions->isVisible());
        QVERIFY(button("Edit") && !button("Try again") && !button("Next version"));
        button("Edit")->click();
        QCOMPARE(edited[0][0].toLongLong(), 11);
        shown.hover(QPoint(shown.view.viewport()->width() / 2, 110));
        QVERIFY(button("Try again") && !button("Edit"));
        button("Try again")->click();
        QCOMPARE(again[0][0].toLongLong(), 12);
        button("Next version")->click();
        QCOMPARE(version[0][0].toLongLong(), 12);
        QCOMPARE(version[0][1].toInt(), 3);
        button("Previous version")->click();
        QCOMPARE(version[1][1].toInt(), 1);
    }

    void findMarksAndWalks() {
        Shown shown;
        std::vector<MessageRow> rows;
        for (int i = 1; i <= 60; ++i)
            rows.push_back(i % 2 ? question(i, "nothing") : answer(i, kParagraph));
        rows[9] = answer(10, "a needle and another needle");
        rows[49] = answer(50, "the last Needle");
        shown.model.setRows(std::move(rows));
        shown.view.verticalScrollBar()->setValue(0);
        auto result = shown.view.find("needle", 0);
        QCOMPARE(result.hits, 3);
        QCOMPARE(result.current, 1);
        QCOMPARE(shown.view.find("needle", 1).current, 2);
        const int middle = shown.view.verticalScrollBar()->value();
        QCOMPARE(shown.view.find("needle", 1).current, 3);
        QVERIFY(shown.view.verticalScrollBar()->value() > middle);
        QCOMPARE(shown.view.find("needle", 1).current, 1);
        QCOMPARE(shown.view.find("needle", -1).current, 3);
        QCOMPARE(shown.view.find("absent", 0).hits, 0);
        shown.view.clearFind();
    }

    void directionFollowsTheLettersOfEachParagraph() {
        Shown shown;
        shown.model.setRows({answer(1, QString::fromUtf8("مرحبا بالعالم\n\nHello world"))});
        const QImage image = shown.view.viewport()->grab().toImage();
        const int column = std::min(ems(46), image.width() - 48);
        const int left = (image.width() - column) / 2;
        const auto ink = [&](int fromY, int toY, int fromX, int toX) {
            int count = 0;
            for (int y = fromY; y < toY; ++y)
                for (int x = fromX; x < toX; ++x) count += qGray(image.pixel(x, y)) < 128;
            return count;
        };
        const int line = ems(1.5), top = 20;
        QVERIFY(ink(top, top + line, left + column / 2, left + column) > 0);
        QCOMPARE(ink(top, top + line, left, left + column / 2), 0);
        const int second = top + line + 10;
        QVERIFY(ink(second, second + line, left, left + column / 2) > 0);
        QCOMPARE(ink(second, second + line, left + column / 2, left + column), 0);
    }

    void longMessagesOfThePersonAreShownInParts() {
        Shown shown;
        ProcessorTimer clock;
        shown.model.setRows({question(1, QString(1'000'000, 'x'))});
        shown.view.viewport()->repaint();
        QVERIFY2(clock.elapsed() < 100, qPrintable(QString("%1 ms").arg(clock.elapsed())));
        shown.view.selectAll();
        const qsizetype before = shown.view.selectedText().size();
        QVERIFY(before < 10'000);
        const QPoint more = shown.find();
        QVERIFY(more.x() > 0);
        QTest::mouseClick(shown.view.viewport(), Qt::LeftButton, {}, more);
        shown.view.selectAll();
        QVERIFY(shown.view.selectedText().size() > before + 40'000);
    }

    void arrowsWalkTheMessages() {
        Shown shown;
        shown.model.setRows({question(1, "one"), answer(2, "two"), question(3, "three")});
        QTest::keyClick(&shown.view, Qt::Key_Up);
        QCOMPARE(shown.view.focusedMessage(), 3);
        QTest::keyClick(&shown.view, Qt::Key_Up);
        QCOMPARE(shown.view.focusedMessage(), 2);
        QVERIFY(shown.view.accessibleDescription().contains("two"));
        QTest::keyClick(&shown.view, Qt::Key_Down);
        QCOMPARE(shown.view.focusedMessage(), 3);
    }

    void picturesAreAskedForOnceAndOnlyWhenVisible() {
        Shown shown;
        QSignalSpy wanted(&shown.view, &TranscriptView::pictureWanted);
        std::vector<MessageRow> rows;
        for (int i = 1; i <= 60; ++i) {
            rows.push_back(question(i, kParagraph));
            engine::Attachment file;
            file.sha256 = "hash" + std::to_string(i);
            file.width = 400;
            file.height = 300;
            rows.back().message.attachments.push_back(file);
        }
        shown.model.setRows(std::move(rows));
        QVERIFY(!wanted.isEmpty());
        QVERIFY(wanted.size() < 8);
        const qsizetype before = wanted.size();
        shown.view.viewport()->repaint();
        shown.model.setPicture("hash60", QImage(400, 300, QImage::Format_RGB32));
        shown.view.viewport()->repaint();
        QCOMPARE(wanted.size(), before);
    }
};

std::unique_ptr<QObject> makeTranscriptTest() {
    return std::make_unique<TranscriptTest>();
}

#include "transcript_test.moc"

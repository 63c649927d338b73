#include "processor_timer.h"
#include "ui_tests.h"

#include "ui/composer.h"
#include "ui/composer_edit.h"

#include <QApplication>
#include <QClipboard>
#include <QInputMethodEvent>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QUrl>
#include <QVBoxLayout>

using namespace ui;

namespace {

ComposerEdit* editOf(Composer& composer) {
    return composer.findChild<ComposerEdit*>();
}

QPushButton* sendOf(Composer& composer) {
    for (QPushButton* button : composer.findChildren<QPushButton*>())
        if (button->property("kind").toString() == "primary") return button;
    return nullptr;
}

void compose(QWidget* field, const QString& preedit, const QString& commit = {}) {
    QInputMethodEvent event(preedit, {});
    event.setCommitString(commit);
    QApplication::sendEvent(field, &event);
}

AttachmentChip readyChip(int id, const char* hash) {
    AttachmentChip chip;
    chip.id = id;
    chip.state = AttachmentChip::State::Ready;
    chip.name = "picture.png";
    chip.attachment.sha256 = hash;
    chip.attachment.fileName = "picture.png";
    chip.tokens = 100;
    return chip;
}

} // namespace

class ComposerTest : public QObject {
    Q_OBJECT
private slots:
    void enterSendsAndShiftEnterBreaks() {
        Composer composer;
        composer.show();
        QSignalSpy sent(&composer, &Composer::sendWished);
        ComposerEdit* edit = editOf(composer);
        QTest::keyClicks(edit, "one");
        QTest::keyClick(edit, Qt::Key_Return, Qt::ShiftModifier);
        QTest::keyClicks(edit, "two");
        QCOMPARE(sent.size(), 0);
        QTest::keyClick(edit, Qt::Key_Return);
        QCOMPARE(sent.size(), 1);
        QCOMPARE(sent[0][0].value<Draft>().text, QString("one\ntwo"));
        QVERIFY(composer.draft().empty());
    }

    void enterBreaksWhereTheSettingSaysSo() {
        Composer composer;
        composer.setEnterSends(false);
        QSignalSpy sent(&composer, &Composer::sendWished);
        QTest::keyClicks(editOf(composer), "one");
        QTest::keyClick(editOf(composer), Qt::Key_Return);
        QTest::keyClicks(editOf(composer), "two");
        QCOMPARE(sent.size(), 0);
        QCOMPARE(composer.draft().text, QString("one\ntwo"));
        QTest::keyClick(editOf(composer), Qt::Key_Return, Qt::ControlModifier);
        QCOMPARE(sent.size(), 1);
    }

    void nothingIsSentWhenThereIsNothing() {
        Composer composer;
        QSignalSpy sent(&composer, &Composer::sendWished);
        QTest::keyClick(editOf(composer), Qt::Key_Return);
        QTest::keyClicks(editOf(composer), "   ");
        QTest::keyClick(editOf(composer), Qt::Key_Return);
        QCOMPARE(sent.size(), 0);
        QVERIFY(!sendOf(composer)->isEnabled());
    }

    void enterWithinACompositionNeverSends() {
        Composer composer;
        composer.show();
        QSignalSpy sent(&composer, &Composer::sendWished);
        ComposerEdit* edit = editOf(composer);
        compose(edit, QString::fromUtf8("にほn"));
        QTest::keyClick(edit, Qt::Key_Return); // some input methods pass the key on
        QCOMPARE(sent.size(), 0);
        compose(edit, {}, QString::fromUtf8("日本"));
        QCOMPARE(sent.size(), 0);
        QCOMPARE(composer.draft().text, QString::fromUtf8("日本"));
        QTest::keyClick(edit, Qt::Key_Return);
        QCOMPARE(sent.size(), 1);
    }

    void aLongPasteBecomesAChipAndTurnsBack() {
        Composer composer;
        composer.show();
        const QString text = QString("word ").repeated(2000);
        QApplication::clipboard()->setText(text);
        editOf(composer)->paste();
        QCOMPARE(composer.draft().text, QString());
        QCOMPARE(composer.draft().pasted, QStringList{text});
        QCOMPARE(composer.draft().fullText(), text);
        auto* strip = composer.findChild<AttachmentStrip*>();
        emit strip->turnBackWished(text);
        strip->remove(strip->chips()[0].id);
        QCOMPARE(composer.draft().text, text);
        QVERIFY(composer.draft().pasted.isEmpty());
    }

    void aShortPasteIsText() {
        Composer composer;
        QApplication::clipboard()->setText("short");
        editOf(composer)->paste();
        QCOMPARE(composer.draft().text, QString("short"));
    }

    void aHugePasteDoesNotStallTheWindow() {
        Composer composer;
        composer.show();
        QMimeData data;
        data.setText(QString(1'000'000, 'x'));
        ProcessorTimer clock;
        composer.findChild<ComposerEdit*>()->paste(); // what the clipboard held before; warms up
        QApplication::clipboard()->setText(data.text());
        clock.restart();
        editOf(composer)->paste();
        QVERIFY2(clock.elapsed() < 100, qPrintable(QString("%1 ms").arg(clock.elapsed())));
        QVERIFY(composer.draft().pasted.contains(data.text()));
    }

    void aPastedPictureIsAttached() {
        Composer composer;
        QSignalSpy wished(&composer, &Composer::attachImageWished);
        QImage image(30, 20, QImage::Format_RGB32);
        image.fill(Qt::red);
        QApplication::clipboard()->setImage(image);
        editOf(composer)->paste();
        QCOMPARE(wished.size(), 1);
        QCOMPARE(wished[0][1].value<QImage>().size(), QSize(30, 20));
    }

    void filesAreAttachedAndTextFilesAreNotPastedAsPaths() {
        Composer composer;
        QSignalSpy wished(&composer, &Composer::attachFileWished);
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile("/tmp/a.png"), QUrl("https://example.org/b.png"),
                      QUrl::fromLocalFile("/tmp/c.jpg")});
        QVERIFY(Composer::accepts(&data));
        composer.take(&data);
        QCOMPARE(wished.size(), 2);
        QCOMPARE(wished[1][1].toString(), QString("/tmp/c.jpg"));
        QMimeData remote;
        remote.setUrls({QUrl("https://example.org/b.png")});
        QVERIFY(!Composer::accepts(&remote));
    }

    void sendWaitsForChipsAndTakesThemAlong() {
        Composer composer;
        composer.show();
        QSignalSpy wished(&composer, &Composer::attachFileWished);
        QSignalSpy sent(&composer, &Composer::sendWished);
        composer.attachPath("/tmp/picture.png");
        QTest::keyClicks(editOf(composer), "what is this?");
        QVERIFY(!sendOf(composer)->isEnabled());
        QTest::keyClick(editOf(composer), Qt::Key_Return);
        QCOMPARE(sent.size(), 0);
        composer.setChip(readyChip(wished[0][0].toInt(), "aa"));
        QVERIFY(sendOf(composer)->isEnabled());
        sendOf(composer)->click();
        QCOMPARE(sent.size(), 1);
        QCOMPARE(sent[0][0].value<Draft>().attachments.size(), size_t(1));
        QVERIFY(composer.draft().attachments.empty());
    }

    void aFailedChipDoesNotGoAlong() {
        Composer composer;
        QSignalSpy wished(&composer, &Composer::attachFileWished);
        composer.attachPath("/tmp/broken.png");
        AttachmentChip chip;
        chip.id = wished[0][0].toInt();
        chip.state = AttachmentChip::State::Failed;
        chip.problem = "This is an HEIC photo. Save it as JPEG first.";
        composer.setChip(chip);
        QTest::keyClicks(editOf(composer), "text");
        QVERIFY(composer.draft().attachments.empty());
        QVERIFY(sendOf(composer)->isEnabled());
    }

    void sendTurnsToStopAndASecondMessageWaits() {
        Composer composer;
        composer.show();
        QSignalSpy sent(&composer, &Composer::sendWished);
        QSignalSpy stopped(&composer, &Composer::stopWished);
        composer.setAnswering(true);
        QCOMPARE(sendOf(composer)->text(), QString("Stop"));
        QTest::keyClicks(editOf(composer), "next question");
        QTest::keyClick(editOf(composer), Qt::Key_Return);
        QCOMPARE(sent.size(), 0);
        QVERIFY(composer.draft().empty());
        composer.setAnswering(false);
        QCOMPARE(sent.size(), 1);
        QCOMPARE(sent[0][0].value<Draft>().text, QString("next question"));
        QCOMPARE(stopped.size(), 0);
    }

    void afterStopTheKeysGoToTheMessage() {
        QWidget window;
        QVBoxLayout column(&window);
        auto* const composer = new Composer;
        column.addWidget(composer);
        column.addWidget(new QPushButton("another")); // the next in the order of focus
        window.show();
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        composer->setAnswering(true);
        sendOf(*composer)->setFocus();
        QVERIFY(sendOf(*composer)->hasFocus());
        composer->setAnswering(false);
        QVERIFY(editOf(*composer)->hasFocus());
    }

    void stopGivesTheWaitingMessageBack() {
        Composer composer;
        composer.show();
        QSignalSpy sent(&composer, &Composer::sendWished);
        QSignalSpy stopped(&composer, &Composer::stopWished);
        composer.setAnswering(true);
        QTest::keyClicks(editOf(composer), "waits");
        QTest::keyClick(editOf(composer), Qt::Key_Return);
        sendOf(composer)->click();
        QCOMPARE(stopped.size(), 1);
        composer.setAnswering(false);
        QCOMPARE(sent.size(), 0);
        QCOMPARE(composer.draft().text, QString("waits"));
    }

    void blockedSendSaysWhyAndKeepsTheText() {
        Composer composer;
        composer.setSendBlocked("No model is loaded");
        QSignalSpy sent(&composer, &Composer::sendWished);
        QTest::keyClicks(editOf(composer), "text");
        QTest::keyClick(editOf(composer), Qt::Key_Return);
        QCOMPARE(sent.size(), 0);
        QCOMPARE(composer.draft().text, QString("text"));
        QCOMPARE(sendOf(composer)->toolTip(), QString("No model is loaded"));
        const auto said = [&] {
            const auto labels = composer.findChildren<QLabel*>();
            return std::any_of(labels.begin(), labels.end(), [](QLabel* label) {
                return !label->isHidden() && label->text() == "No model is loaded.";
            });
        };
        QVERIFY(said());
        composer.setSendBlocked({});
        QVERIFY(sendOf(composer)->isEnabled());
        QVERIFY(!said());
    }

    void draftsAreAnnouncedButNotWhenTheyAreSet() {
        Composer composer;
        QSignalSpy changed(&composer, &Composer::draftChanged);
        Draft draft;
        draft.text = "from before";
        draft.pasted = {"long"};
        draft.attachments.push_back(readyChip(0, "aa").attachment);
        composer.setDraft(draft);
        QTest::qWait(350);
        QCOMPARE(changed.size(), 0);
        QCOMPARE(composer.draft(), draft);
        QVERIFY(composer.chipOf("aa") > 0);
        QCOMPARE(composer.chipOf("bb"), -1);
        QTest::keyClicks(editOf(composer), "!");
        QTRY_COMPARE(changed.size(), 1);
    }

    void editingKeepsWhatWasBeingWritten() {
        Composer composer;
        QSignalSpy sent(&composer, &Composer::sendWished);
        QTest::keyClicks(editOf(composer), "unsent");
        Draft old;
        old.text = "old message";
        composer.beginEdit(7, old);
        QCOMPARE(composer.draft().text, QString("old message"));
        composer.endEdit();
        QCOMPARE(composer.draft().text, QString("unsent"));
        composer.beginEdit(7, old);
        QTest::keyClick(editOf(composer), Qt::Key_Return);
        QCOMPARE(sent.size(), 1);
        QCOMPARE(sent[0][1].toLongLong(), 7);
        QCOMPARE(composer.editing(), 0);
    }

    void whatComesBackStandsBeforeWhatWasTypedSince() {
        Composer composer;
        QTest::keyClicks(editOf(composer), "later");
        Draft draft;
        draft.text = "refused";
        composer.giveBack(draft);
        QCOMPARE(composer.draft().text, QString("refused\n\nlater"));
    }

    void aLongMessageThatComesBackIsAChip() {
        // One word of a million letters would hold the window for a minute in a text field.
        const QString word(1'000'000, 'x');
        Composer composer;
        composer.show();
        QTest::keyClicks(editOf(composer), "later");
        Draft draft;
        draft.text = word;
        composer.giveBack(draft);
        QCOMPARE(editOf(composer)->toPlainText(), QString("later"));
        QCOMPARE(composer.draft().pasted, QStringList(word));
        // Nor does the draft of another chat, or a message that is edited, come as text.
        composer.setDraft(draft);
        QCOMPARE(editOf(composer)->toPlainText(), QString());
        QCOMPARE(composer.draft().fullText(), word);
        composer.beginEdit(7, draft);
        QCOMPARE(composer.draft().fullText(), word);
        QVERIFY(Composer::canBeTyped(QString("a word ").repeated(10'000)));
        QVERIFY(!Composer::canBeTyped(QString("a word ").repeated(100'000)));
    }

    void whatDoesNotFitIsSaidBeforeSending() {
        Composer composer;
        composer.show();
        const auto line = [&] {
            for (QLabel* label : composer.findChildren<QLabel*>())
                if (label->property("tone") == "warning" && label->isVisible())
                    return label->text();
            return QString();
        };
        composer.setContextUse(1000, 4000);
        QCOMPARE(line(), QString());
        composer.setTokenPrice(3001);
        QVERIFY2(line().contains("too long"), qPrintable(line()));
        composer.setTokenPrice(2999);
        QCOMPARE(line(), QString());
        composer.setContextUse(3500, 4000);
        QVERIFY2(line().contains("too long"), qPrintable(line()));
        composer.setTokenPrice(-1);
        QVERIFY2(line().contains("87 %"), qPrintable(line()));
        composer.setContextUse(4000, 4000);
        QVERIFY2(line().startsWith("This conversation is full"), qPrintable(line()));
        composer.setTokenPrice(1);
        QVERIFY2(line().startsWith("This conversation is full"), qPrintable(line()));
    }

    void aProblemWithAFileIsReadWhole() {
        Composer composer;
        composer.resize(600, 200);
        composer.show();
        composer.attachPath("/nowhere/photo.heic");
        AttachmentChip chip = readyChip(1, "");
        chip.state = AttachmentChip::State::Failed;
        chip.problem =
            QString("This is an HEIC photo, and nothing on this computer reads it. ").repeated(2) +
            "Save it as JPEG and attach that.";
        composer.setChip(chip);
        QApplication::processEvents();
        for (QLabel* label : composer.findChildren<QLabel*>()) {
            if (label->text() != chip.problem) continue;
            QVERIFY(label->height() >= label->heightForWidth(label->width()));
            QVERIFY(label->parentWidget()->rect().contains(label->geometry()));
            return;
        }
        QFAIL("the sentence is not shown");
    }

    void theFieldGrowsToItsLimit() {
        Composer composer;
        composer.resize(500, 100);
        composer.show();
        composer.setMaxHeight(300);
        const int least = editOf(composer)->height();
        composer.insertText("a\nb\nc\nd");
        const int some = editOf(composer)->height();
        QVERIFY(some > least);
        composer.insertText(QString("line\n").repeated(200));
        QVERIFY(editOf(composer)->height() > some);
        QVERIFY(editOf(composer)->height() <= 300);
        composer.setDraft({});
        QCOMPARE(editOf(composer)->height(), least);
    }
};

std::unique_ptr<QObject> makeComposerTest() {
    return std::make_unique<ComposerTest>();
}

#include "composer_test.moc"

#include "ui_tests.h"

#include "ui/composer.h"
#include "ui/main_window.h"
#include "ui/model_setup.h"
#include "ui/performance_panel.h"
#include "ui/settings_dialog.h"
#include "ui/sidebar.h"
#include "ui/status_line.h"
#include "ui/transcript_view.h"

#include <QAbstractButton>
#include <QAbstractSlider>
#include <QAccessible>
#include <QApplication>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QLineEdit>
#include <QListView>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>
#include <QUrl>

using namespace ui;

namespace {

// What a person can operate or what takes the focus.
bool needsName(const QWidget* widget) {
    if (QString::fromLatin1(widget->objectName().toLatin1()).startsWith("qt_")) return false;
    return qobject_cast<const QAbstractButton*>(widget) || qobject_cast<const QLineEdit*>(widget) ||
           qobject_cast<const QPlainTextEdit*>(widget) || qobject_cast<const QComboBox*>(widget) ||
           qobject_cast<const QSlider*>(widget) || qobject_cast<const QAbstractItemView*>(widget) ||
           (widget->focusPolicy() & Qt::TabFocus);
}

QString nameOf(const QWidget* widget) {
    QAccessibleInterface* iface =
        QAccessible::queryAccessibleInterface(const_cast<QWidget*>(widget));
    return iface ? iface->text(QAccessible::Name) : QString();
}

QString describe(const QWidget* widget) {
    QString text = widget->metaObject()->className();
    for (const QWidget* parent = widget->parentWidget(); parent; parent = parent->parentWidget())
        text += QString(" in ") + parent->metaObject()->className();
    return text;
}

void checkNames(QWidget& top) {
    for (const QWidget* widget : top.findChildren<QWidget*>()) {
        if (!needsName(widget)) continue;
        // Parts that Qt puts into its own controls are named by these.
        const QWidget* parent = widget->parentWidget();
        if (qobject_cast<const QComboBox*>(parent) ||
            qobject_cast<const QAbstractSpinBox*>(parent) || qobject_cast<const QLineEdit*>(parent))
            continue;
        if (QString(parent->metaObject()->className()).startsWith("QComboBox") ||
            QString(widget->metaObject()->className()) == "QMenuBarExtension" ||
            QString(widget->metaObject()->className()).startsWith("QComboBox"))
            continue;
        QVERIFY2(!nameOf(widget).isEmpty(), qPrintable(describe(widget)));
        if (const auto* button = qobject_cast<const QAbstractButton*>(widget);
            button && button->text().isEmpty())
            QVERIFY2(!button->toolTip().isEmpty() || !button->accessibleName().isEmpty(),
                     qPrintable(describe(widget)));
    }
}

QList<ChatEntry> sampleChats() {
    const QDateTime now = QDateTime::currentDateTime();
    return {{1, "Alpha", now, false, false, false},
            {2, "Beta", now.addDays(-1), false, false, false},
            {3, "Gamma", now.addDays(-20), true, false, false}};
}

void drop(QWidget* target, const QMimeData* data) {
    QDragEnterEvent enter(QPoint(300, 200), Qt::CopyAction, data, Qt::LeftButton, {});
    QApplication::sendEvent(target, &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent event(QPointF(300, 200), Qt::CopyAction, data, Qt::LeftButton, {});
    QApplication::sendEvent(target, &event);
}

} // namespace

class WindowTest : public QObject {
    Q_OBJECT
private slots:
    void everyControlHasAName() {
        MainWindow window;
        ConversationModel model;
        window.transcript().setModel(&model);
        window.transcript().setEmptyChat(
            {"Model", "A sentence.", "A notice.", {"one", "two", "three"}});
        window.show();
        window.sidebar().setChats(sampleChats());
        window.showNotice(
            {"n", NoticeKind::Warning, "Text", "details", {{"a", "Try Again"}}, true});
        window.composer().attachPath("/tmp/a.png");
        SlotState slot;
        slot.mark = SlotState::Mark::Warning;
        slot.sentence = "Sentence";
        slot.remedies = {{"r", "Wait for It"}};
        window.setup().setSlot(ModelSlot::Drafter, slot);
        PlanState plan;
        plan.maxContextTokens = 32768;
        plan.choice.contextTokens = 4096;
        plan.offers.resize(2);
        window.setup().setPlan(plan);
        window.setup().setFound({{"/a", "a.gguf", 1000, ModelSlot::Target, "Downloads", {}}});
        checkNames(window);
        SettingsDialog settings;
        checkNames(settings);
    }

    void targetsAreLargeEnough() {
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        QTest::qWait(1);
        for (const QAbstractButton* button : window.findChildren<QAbstractButton*>()) {
            // The icons in a field are shown by Qt; the field itself is the target.
            if (!button->isVisible() || qobject_cast<QLineEdit*>(button->parentWidget())) continue;
            QVERIFY2(button->width() >= 27 && button->height() >= 27,
                     qPrintable(describe(button) +
                                QString(" %1×%2").arg(button->width()).arg(button->height())));
        }
    }

    void focusWalksTheAreasWithF6() {
        MainWindow window;
        ConversationModel model;
        window.transcript().setModel(&model);
        window.resize(1280, 800);
        window.show();
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        window.composer().focusText();
        QList<QWidget*> seen;
        for (int i = 0; i < 5; ++i) {
            QTest::keyClick(&window, Qt::Key_F6);
            QWidget* focus = QApplication::focusWidget();
            QVERIFY(focus);
            QVERIFY2(!seen.contains(focus), qPrintable(describe(focus)));
            seen += focus;
        }
        QVERIFY(window.composer().isAncestorOf(QApplication::focusWidget()));
        QTest::keyClick(&window, Qt::Key_L, Qt::ControlModifier);
        QVERIFY(window.composer().isAncestorOf(QApplication::focusWidget()));
    }

    void narrowWindowsLayTheSidesOverTheMiddle() {
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        QVERIFY(window.sidebar().isVisible());
        QVERIFY(window.panel().isVisible());
        window.resize(1000, 700);
        QVERIFY(window.sidebar().isVisible());
        QVERIFY(!window.panel().isVisible());
        window.resize(640, 480);
        QCOMPARE(window.size(), QSize(640, 480));
        QVERIFY(!window.sidebar().isVisible());
        const int width = window.transcript().width();
        window.actionSet().action(ActionId::Sidebar)->trigger();
        QVERIFY(window.sidebar().isVisible());
        QCOMPARE(window.transcript().width(), width); // over it, not beside it
        window.actionSet().action(ActionId::Performance)->trigger();
        QVERIFY(window.panel().isVisible());
        QVERIFY(!window.sidebar().isVisible());
        QTest::keyClick(&window, Qt::Key_Escape);
        QVERIFY(!window.panel().isVisible());
        window.resize(1280, 800);
        QVERIFY(window.sidebar().isVisible());
        QVERIFY(window.panel().isVisible());
    }

    void everythingFitsTheSmallestWindowWithLargeText() {
        MainWindow window;
        window.resize(640, 480);
        window.show();
        applyTextZoom(200);
        QTest::qWait(20);
        QCOMPARE(window.width(), 640);
        QVERIFY(window.composer().width() > 400);
        // Also what was shown already has the new size.
        for (const QWidget* widget : window.findChildren<QWidget*>())
            QVERIFY2(widget->font().pointSizeF() > 1.6 * 10 * 0.85, qPrintable(describe(widget)));
        for (const QAbstractButton* button : window.composer().findChildren<QAbstractButton*>())
            if (button->isVisible()) QVERIFY(window.composer().rect().contains(button->geometry()));
        applyTextZoom(100);
    }

    void layoutIsRememberedAndGarbageIsIgnored() {
        QByteArray saved;
        {
            MainWindow window;
            window.resize(1200, 700);
            window.show();
            window.actionSet().action(ActionId::Performance)->trigger();
            window.actionSet().action(ActionId::StatusBar)->trigger();
            saved = window.saveLayout();
        }
        MainWindow window;
        window.restoreLayout(saved);
        window.show();
        QCOMPARE(window.size(), QSize(1200, 700));
        QVERIFY(!window.panel().isVisible());
        QVERIFY(!window.statusLine().isVisible());
        QVERIFY(!window.actionSet().action(ActionId::StatusBar)->isChecked());
        MainWindow other;
        for (const QByteArray& garbage :
             {QByteArray(), QByteArray("nonsense"), saved.left(saved.size() / 2)})
            other.restoreLayout(garbage);
        other.show();
        QVERIFY(other.statusLine().isVisible());
    }

    void filesDroppedAnywhereAreAttached() {
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        QSignalSpy wished(&window.composer(), &Composer::attachFileWished);
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile("/tmp/photo.png")});
        drop(&window, &data);
        QCOMPARE(wished.size(), 1);
        QVERIFY(!window.transcript().acceptDrops() &&
                !window.transcript().viewport()->acceptDrops());
        QVERIFY(!window.sidebar().acceptDrops());
    }

    void modelFilesGoToTheSetUpPage() {
        MainWindow window;
        window.show();
        QSignalSpy chosen(&window.setup(), &ModelSetup::filesChosen);
        QSignalSpy attached(&window.composer(), &Composer::attachFileWished);
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile("/tmp/b.gguf"), QUrl::fromLocalFile("/tmp/a.GGUF")});
        drop(&window, &data);
        QCOMPARE(chosen.size(), 1);
        QCOMPARE(chosen[0][0].toStringList(), QStringList({"/tmp/b.gguf", "/tmp/a.GGUF"}));
        QCOMPARE(attached.size(), 0);
        window.showPage(MainWindow::Page::Setup);
        drop(&window.setup(), &data);
        QCOMPARE(chosen.size(), 2);
    }

    void droppedTextIsInserted() {
        MainWindow window;
        window.show();
        QMimeData data;
        data.setText("some words");
        drop(&window, &data);
        QCOMPARE(window.composer().draft().text, QString("some words"));
    }

    void closingIsOnlyAWishUntilItIsFinished() {
        MainWindow window;
        window.show();
        QSignalSpy wished(&window, &MainWindow::closeWished);
        window.close();
        QCOMPARE(wished.size(), 1);
        QVERIFY(window.isVisible());
        window.finishClose();
        QVERIFY(!window.isVisible());
    }

    void onlyDeleteInTheListMovesAChatToTheTrash() {
        MainWindow window;
        window.show();
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        window.sidebar().setChats(sampleChats());
        window.sidebar().setCurrent(2);
        QSignalSpy trashed(&window.sidebar(), &Sidebar::trashWished);
        QSignalSpy restored(&window.sidebar(), &Sidebar::restoreWished);
        window.composer().focusText();
        for (int key : {Qt::Key_Delete, Qt::Key_Backspace}) {
            QTest::keyClick(QApplication::focusWidget(), Qt::Key(key));
            QTest::keyClick(QApplication::focusWidget(), Qt::Key(key), Qt::ControlModifier);
        }
        auto* list = window.sidebar().findChild<QListView*>();
        list->setFocus();
        QTest::keyClick(list, Qt::Key_Backspace);
        QCOMPARE(trashed.size(), 0);
        QTest::keyClick(list, Qt::Key_Delete);
        QCOMPARE(trashed.size(), 1);
        QCOMPARE(trashed[0][0].toLongLong(), 2);
        window.sidebar().showUndo(2, "Beta");
        window.actionSet().action(ActionId::Undo)->trigger();
        QCOMPARE(restored.size(), 1);
    }

    void theSidebarShowsPinnedChatsFirstAndRenamesInPlace() {
        Sidebar sidebar;
        sidebar.resize(260, 600);
        sidebar.show();
        sidebar.setChats(sampleChats());
        auto* list = sidebar.findChild<QListView*>();
        QStringList rows;
        for (int i = 0; i < list->model()->rowCount(); ++i)
            rows += list->model()->index(i, 0).data().toString();
        QCOMPARE(rows, QStringList({"Pinned", "Gamma", "Today", "Alpha", "Yesterday", "Beta"}));
        sidebar.setCurrent(1);
        QCOMPARE(sidebar.neighbour(1), 2);
        QCOMPARE(sidebar.neighbour(-1), 3);
        QSignalSpy renamed(&sidebar, &Sidebar::renameWished);
        sidebar.beginRename(1);
        QLineEdit* editor = nullptr;
        for (QLineEdit* field : list->findChildren<QLineEdit*>()) editor = field;
        QVERIFY(editor);
        // A refresh while the name is typed must not end it.
        auto chats = sampleChats();
        chats[1].unread = true;
        sidebar.setChats(chats);
        editor->selectAll();
        QTest::keyClicks(editor, "New name");
        QTest::keyClick(editor, Qt::Key_Return);
        QTRY_COMPARE(renamed.size(), 1);
        QCOMPARE(renamed[0][0].toLongLong(), 1);
        QCOMPARE(renamed[0][1].toString(), QString("New name"));
    }

    void searchAsksWhileTypingAndShowsHits() {
        Sidebar sidebar;
        sidebar.show();
        sidebar.setChats(sampleChats());
        QSignalSpy asked(&sidebar, &Sidebar::searchWished);
        QSignalSpy chosen(&sidebar, &Sidebar::hitChosen);
        auto* field = sidebar.findChild<QLineEdit*>();
        QTest::keyClicks(field, "word");
        QTRY_COMPARE(asked.size(), 1);
        QCOMPARE(asked[0][0].toString(), QString("word"));
        sidebar.setHits("old query", {{2, 9, "Beta", "old", 0, 3}});
        auto* list = sidebar.findChild<QListView*>();
        QCOMPARE(list->model()->index(1, 0).data().toString(), QString("Gamma"));
        sidebar.setHits("word", {{2, 9, "Beta", "the word stands here", 4, 4}});
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(chosen.size(), 1);
        QCOMPARE(chosen[0][1].toLongLong(), 9);
        QVERIFY(sidebar.clearSearch() || field->text().isEmpty() || !field->hasFocus());
    }

    void noticesAreReplacedByTheirIdAndCarryTheirRemedies() {
        MainWindow window;
        window.show();
        QSignalSpy wished(&window, &MainWindow::noticeRemedyWished);
        window.showNotice({"disk", NoticeKind::Warning, "one", {}, {{"again", "Try Again"}}, true});
        window.showNotice({"disk", NoticeKind::Warning, "two", {}, {{"again", "Try Again"}}, true});
        QList<QAbstractButton*> buttons;
        QTest::qWait(10); // what is replaced is deleted by the event loop
        for (QAbstractButton* button : window.findChildren<QAbstractButton*>())
            if (button->text() == "Try Again" && button->isVisible()) buttons += button;
        QCOMPARE(buttons.size(), 1);
        buttons[0]->click();
        QCOMPARE(wished[0][0].toString(), QString("disk"));
        QCOMPARE(wished[0][1].toString(), QString("again"));
        window.hideNotice("disk");
        QTest::qWait(10);
        for (QAbstractButton* button : window.findChildren<QAbstractButton*>())
            QVERIFY(button->text() != "Try Again");
    }

    void betweenAnswersThePanelShowsTheLastOnesSpeeds() {
        PerformancePanel panel;
        PanelState state;
        engine::AnswerFigures last;
        last.writtenTokens = 90;
        last.writeSeconds = 3;
        last.readTokens = 500;
        last.readSeconds = 2;
        state.lastAnswer = last;
        panel.setState(state);
        QVERIFY(panel.asText().contains("Writing: 30 tokens/s"));
        QVERIFY(panel.asText().contains("Reading: 250 tokens/s"));
        state.writingPerSecond = 44;
        panel.setState(state);
        QVERIFY(panel.asText().contains("Writing: 44 tokens/s"));
    }

    void thePanelSaysNotAvailableInsteadOfNothing() {
        PerformancePanel panel;
        panel.setState({});
        QVERIFY(panel.asText().contains("not available"));
        QVERIFY(!panel.asText().contains(" 0"));
        PanelState state;
        state.state = "Ready";
        state.draftAvailable = true;
        state.draftPaused = true;
        state.guessedTokens = 1480;
        state.acceptedTokens = 412;
        panel.setState(state);
        QVERIFY(panel.asText().contains("412 of 1,480"));
        QVERIFY(panel.asText().contains("no gain – paused"));
        state.draftPaused = false;
        state.gain = 1.6;
        panel.setState(state);
        QVERIFY(panel.asText().contains(QString::fromUtf8("1.6×")));
    }

    void thePlanCardWishesEachChangeAtOnce() {
        PlanCard card;
        PlanState state;
        state.maxContextTokens = 131072;
        state.choice = {32768, true, true};
        state.visionPossible = true;
        state.draftPossible = true;
        state.plan.fits = true;
        state.plan.totalBytes = 100;
        state.plan.freeBytes = 100;
        QSignalSpy changed(&card, &PlanCard::choiceChanged);
        card.setPlan(state);
        QCOMPARE(changed.size(), 0);
        card.findChild<QSlider*>()->setValue(card.findChild<QSlider*>()->maximum());
        QCOMPARE(changed.size(), 1);
        QCOMPARE(card.choice().contextTokens, 131072);
        for (QAbstractButton* box : card.findChildren<QAbstractButton*>())
            if (box->isCheckable()) {
                const qsizetype before = changed.size();
                box->toggle();
                QCOMPARE(changed.size(), before + 1);
            }
        QCOMPARE(card.choice(), (PlanChoice{131072, false, false}));
    }

    void settingsApplyAtOnceAndCanBeRestored() {
        SettingsDialog dialog;
        SettingsValues values;
        values.enterSends = false;
        values.sampling.topP = 0.123456f;
        QSignalSpy changed(&dialog, &SettingsDialog::valuesChanged);
        dialog.setValues(values);
        QCOMPARE(changed.size(), 0);
        QCOMPARE(dialog.values(), values);
        for (QAbstractButton* button : dialog.findChildren<QAbstractButton*>())
            if (button->text().startsWith("Enter sends")) button->click();
        QCOMPARE(changed.size(), 1);
        values.enterSends = true;
        QCOMPARE(dialog.values(), values); // what the boxes round stays as it was
        for (QAbstractButton* button : dialog.findChildren<QAbstractButton*>())
            if (button->text() == "Restore Defaults") button->click();
        QCOMPARE(dialog.values(), SettingsValues());
    }
};

std::unique_ptr<QObject> makeWindowTest() {
    return std::make_unique<WindowTest>();
}

#include "window_test.moc"

#include "ui_tests.h"

#include "ui/action_table.h"
#include "ui/main_window.h"

#include <QAction>
#include <QKeySequence>
#include <QMenu>
#include <QMenuBar>
#include <QSet>
#include <QSignalSpy>
#include <QTest>

using namespace ui;

class ActionTableTest : public QObject {
    Q_OBJECT
private slots:
    void everyRowHasAKeyAMenuAndAName() {
        QSet<QString> keys;
        QSet<int> ids;
        for (const ActionRow& row : actionTable()) {
            QVERIFY(*row.key && *row.menu && *row.text);
            QVERIFY2(!keys.contains(row.key), row.key);
            QVERIFY2(!ids.contains(int(row.id)), row.key);
            keys.insert(row.key);
            ids.insert(int(row.id));
        }
        // Every action that the program knows stands in the table.
        QCOMPARE(ids.size(), int(ActionId::About) + 1);
    }

    void shortcutsAreValidAndUnique() {
        QHash<QKeySequence, const char*> seen;
        for (const ActionRow& row : actionTable()) {
            if (!*row.shortcut) continue;
            const QKeySequence keys(row.shortcut, QKeySequence::PortableText);
            QVERIFY2(!keys.isEmpty() && keys[0].key() != Qt::Key_unknown, row.key);
            QVERIFY2(!seen.contains(keys), row.key);
            seen.insert(keys, row.key);
        }
        QVERIFY(seen.size() > 20);
    }

    void everyRowIsInItsMenuOnce() {
        MainWindow window;
        QHash<QAction*, int> count;
        const auto walk = [&](auto&& self, const QList<QAction*>& actions) -> void {
            for (QAction* action : actions) {
                if (action->menu())
                    self(self, action->menu()->actions());
                else if (!action->isSeparator())
                    ++count[action];
            }
        };
        walk(walk, window.menuBar()->actions());
        for (const ActionRow& row : actionTable())
            QCOMPARE(count.value(window.actionSet().action(row.id)), 1);
        QCOMPARE(count.size(), qsizetype(actionTable().size()));
    }

    void rowsOfTheAppArePassedOnAndRowsOfTheWindowAreNot() {
        MainWindow window;
        window.show();
        window.setAnswering(true);
        window.setModelLoaded(true);
        QSignalSpy passed(&window, &MainWindow::actionTriggered);
        for (const ActionRow& row : actionTable()) {
            if (row.id == ActionId::AttachFile || row.id == ActionId::Shortcuts ||
                row.id == ActionId::About)
                continue;
            QAction* action = window.actionSet().action(row.id);
            const bool enabled = action->isEnabled();
            action->setEnabled(true);
            passed.clear();
            action->trigger();
            action->setEnabled(enabled);
            QVERIFY2(passed.size() == (row.handler == Handler::App ? 1 : 0), row.key);
            if (!passed.isEmpty()) QCOMPARE(passed[0][0].value<ActionId>(), row.id);
        }
    }

    void rowsOfTheWindowDoSomething() {
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        QSignalSpy strength(&window, &MainWindow::strengthChosen);
        QSignalSpy draft(&window, &MainWindow::draftLengthChosen);
        QSignalSpy theme(&window, &MainWindow::themeChosen);
        QSignalSpy zoom(&window, &MainWindow::textZoomChosen);
        const auto trigger = [&](ActionId id) { window.actionSet().action(id)->trigger(); };
        trigger(ActionId::ThinkingExtraHigh);
        QCOMPARE(strength.takeFirst()[0].value<engine::ThinkingStrength>(),
                 engine::ThinkingStrength::ExtraHigh);
        trigger(ActionId::DraftLong);
        QCOMPARE(draft.takeFirst()[0].value<engine::DraftLength>().tokens, 12);
        trigger(ActionId::ThemeDark);
        QVERIFY(colours().dark);
        QCOMPARE(theme.takeFirst()[0].value<ThemeChoice>(), ThemeChoice::Dark);
        trigger(ActionId::ThemeLight);
        trigger(ActionId::TextLarger);
        QCOMPARE(zoom.takeFirst()[0].toInt(), 110);
        trigger(ActionId::TextDefault);
        QCOMPARE(textZoom(), 100);
    }
};

std::unique_ptr<QObject> makeActionTableTest() {
    return std::make_unique<ActionTableTest>();
}

#include "action_table_test.moc"

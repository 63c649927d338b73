// Runs all window tests in one program; each class is one subject.

#include "ui_tests.h"

#include "ui/theme.h"

#include <QApplication>
#include <QTest>

int main(int argc, char** argv) {
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication app(argc, argv);
    ui::applyTheme(ui::ThemeChoice::Light);
    int failures = 0;
    // A class is run alone by its name as the first argument: ui_test WindowTest [test...]
    QStringList arguments = app.arguments();
    QString only;
    if (arguments.size() > 1 && arguments[1].endsWith("Test")) only = arguments.takeAt(1);
    for (const auto& make : {makeThemeTest, makeMarkdownTest, makeActionTableTest, makeComposerTest,
                             makeTranscriptTest, makeWindowTest}) {
        const std::unique_ptr<QObject> test = make();
        if (only.isEmpty() || only == test->metaObject()->className())
            failures += QTest::qExec(test.get(), arguments);
    }
    return failures ? 1 : 0;
}

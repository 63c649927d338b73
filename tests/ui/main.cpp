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
    for (const auto& make : {makeThemeTest, makeMarkdownTest, makeActionTableTest, makeComposerTest, makeTranscriptTest,
                             makeWindowTest}) {
        const std::unique_ptr<QObject> test = make();
        failures += QTest::qExec(test.get(), app.arguments());
    }
    return failures ? 1 : 0;
}

// Saves a picture of each sample state: gallery FOLDER [STATE...]
// The state "others" stands for menus and dialogs.

#include "sample_states.h"

#include "ui/help_dialogs.h"
#include "ui/settings_dialog.h"
#include "ui/transcript_view.h"

#include <QApplication>
#include <QDialog>
#include <QDir>
#include <QElapsedTimer>
#include <QMenu>
#include <QMenuBar>
#include <QStringList>

#include <cstdio>

namespace {

// Menus and dialogs are windows of their own.
void saveOthers(const QDir& folder) {
    for (const bool dark : {false, true}) {
        ui::applyTheme(dark ? ui::ThemeChoice::Dark : ui::ThemeChoice::Light);
        ui::applyTextZoom(100);
        const QString end = dark ? "-dark.png" : "-light.png";
        ui::MainWindow window;
        window.show();
        for (QAction* action : window.menuBar()->actions()) {
            action->menu()->ensurePolished();
            action->menu()->adjustSize();
            action->menu()->grab().save(
                folder.filePath(action->menu()->objectName().replace(' ', '-') + end));
        }
        ui::SettingsDialog settings;
        settings.grab().save(folder.filePath("settings" + end));
        ui::showShortcuts(&window, window.actionSet());
        ui::showAbout(&window);
        int number = 0;
        for (QDialog* dialog : window.findChildren<QDialog*>())
            dialog->grab().save(folder.filePath(QString("dialog-%1").arg(number++) + end));
    }
}

} // namespace

int main(int argc, char** argv) {
    QApplication app(argc, argv);
    const QStringList arguments = app.arguments();
    if (arguments.size() < 2) {
        std::fprintf(stderr, "usage: gallery FOLDER [STATE...]\n");
        return 2;
    }
    const QDir folder(arguments[1]);
    folder.mkpath(".");
    if (arguments.mid(2).contains("others")) saveOthers(folder);
    for (const gallery::SampleState& state : gallery::sampleStates()) {
        if (arguments.size() > 2 && !arguments.mid(2).contains(state.name)) continue;
        app.setLayoutDirection(state.rightToLeft ? Qt::RightToLeft : Qt::LeftToRight);
        ui::applyTheme(state.theme);
        ui::applyTextZoom(state.zoom);
        ui::ConversationModel model;
        ui::MainWindow window;
        window.transcript().setModel(&model);
        window.resize(state.size);
        window.show();
        gallery::Shown shown{window, model};
        state.fill(shown);
        QElapsedTimer clock;
        clock.start();
        while (clock.elapsed() < 350) app.processEvents(QEventLoop::AllEvents, 20);
        const QString path = folder.filePath(state.name + ".png");
        if (!window.grab().save(path)) {
            std::fprintf(stderr, "%s was not written\n", qPrintable(path));
            return 1;
        }
        std::printf("%s\n", qPrintable(path));
    }
    return 0;
}

// Saves a picture of each sample state: gallery FOLDER [STATE...]

#include "sample_states.h"

#include "ui/transcript_view.h"

#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QStringList>

#include <cstdio>

int main(int argc, char** argv) {
    QApplication app(argc, argv);
    const QStringList arguments = app.arguments();
    if (arguments.size() < 2) {
        std::fprintf(stderr, "usage: gallery FOLDER [STATE...]\n");
        return 2;
    }
    const QDir folder(arguments[1]);
    folder.mkpath(".");
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

#pragma once
// The whole program on the reference trio, in a folder of its own, without a display. Restarting it
// builds all its objects anew on the same folder.

#include "app/application.h"
#include "ui/composer.h"
#include "ui/sidebar.h"
#include "ui/transcript_view.h"

#include <QPlainTextEdit>
#include <QSettings>
#include <QTemporaryDir>
#include <QtTest>

#include <memory>

class Program {
public:
    // The reference model never ends an answer by itself: the conversation's length does.
    explicit Program(int contextTokens = 4096, const QString& folder = {})
        : m_data(folder.isEmpty() ? m_folder.path() : folder) {
        QSettings ini(m_data + QStringLiteral("/settings.ini"), QSettings::IniFormat);
        ini.setValue(QStringLiteral("model/target"), trioFile("target.gguf"));
        ini.setValue(QStringLiteral("model/contextTokens"), contextTokens);
    }
    ~Program() { stop(); }

    static QString trioFile(const char* name) {
        return QStringLiteral(GLINT_FIXTURES "/oracle/tiny-f32/") + QLatin1String(name);
    }
    QString folder() const { return m_data; }
    std::filesystem::path database() const {
        return (m_data + QStringLiteral("/history.db")).toStdString();
    }

    // False if the model is not ready after thirty seconds.
    bool start(const QStringList& pictures = {}) {
        app::StartOptions options;
        options.dataFolder = m_data;
        options.attachments = pictures;
        for (const char* name : {"target.gguf", "mmproj.gguf", "dflash.gguf"}) {
            options.modelFiles.push_back(trioFile(name).toStdString());
        }
        m_application = std::make_unique<app::Application>(options);
        bool history = false;
        QObject::connect(m_application.get(), &app::Application::historyOpened, m_application.get(),
                         [&history] { history = true; });
        m_application->start();
        return QTest::qWaitFor(
                   [&] { return history && m_application->models().model().has_value(); }, 30000) &&
               QTest::qWaitFor([&] { return window().isVisible(); });
    }
    // As closing the window does; the milliseconds until everything was kept, or -1 after ten
    // seconds.
    qint64 stop() {
        if (!m_application) return 0;
        QElapsedTimer timer;
        timer.start();
        bool closed = false;
        QObject::connect(m_application.get(), &app::Application::closed, m_application.get(),
                         [&closed] { closed = true; });
        m_application->window().close();
        const bool ended = QTest::qWaitFor([&] { return closed; }, 10000);
        m_application.reset();
        return ended ? timer.elapsed() : -1;
    }
    bool restart() { return stop() >= 0 && start(); }

    app::Application& application() { return *m_application; }
    ui::MainWindow& window() { return m_application->window(); }
    ui::Composer& composer() { return window().composer(); }
    const app::Chat& chat() { return m_application->chat().open(); }
    ui::ConversationModel& model() { return m_application->chat().model(); }
    bool idle() { return m_application->runner().idle(); }

    QPlainTextEdit* field() { return composer().findChild<QPlainTextEdit*>(); }
    // Types into the composer and presses Enter.
    void send(const QString& text) {
        QTest::keyClicks(field(), text);
        QTest::keyClick(field(), Qt::Key_Return);
    }
    // The last message of the path on the screen; its text as it is now.
    engine::Message last() {
        if (model().rowCount() == 0) return {};
        return model().at(model().rowCount() - 1).message;
    }
    qsizetype lastLength() {
        if (model().rowCount() == 0) return 0;
        const int row = model().rowCount() - 1;
        return model().text(row).size() + model().thinking(row).size();
    }
    bool waitForWords(qsizetype least = 20) {
        return QTest::qWaitFor(
            [&] { return last().role == engine::Role::Assistant && lastLength() >= least; }, 20000);
    }
    bool waitForEnd() {
        return QTest::qWaitFor([&] { return idle(); }, 60000);
    }
    // Stops the answer once a few words are there.
    bool stopSoon() {
        if (!waitForWords(10)) return false;
        m_application->runner().stopAll();
        return waitForEnd();
    }
    bool sendAndStop(const QString& text) {
        send(text);
        return stopSoon();
    }

private:
    QTemporaryDir m_folder;
    QString m_data;
    std::unique_ptr<app::Application> m_application;
};

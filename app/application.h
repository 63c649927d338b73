#pragma once
// The program: builds every object once, in order, and ends them in reverse.
//
// GUI thread.

#include "app/actions.h"
#include "app/answer_runner.h"
#include "app/attachments.h"
#include "app/chat_controller.h"
#include "app/chat_list.h"
#include "app/chat_saver.h"
#include "app/disk_worker.h"
#include "app/engine_worker.h"
#include "app/model_controller.h"
#include "app/settings.h"
#include "app/telemetry.h"
#include "ui/main_window.h"
#include "ui/settings_dialog.h"

#include <QObject>
#include <QPointer>
#include <QString>
#include <QTimer>

#include <filesystem>
#include <vector>

namespace app {

struct StartOptions {
    QString dataFolder;                            // exists
    std::vector<std::filesystem::path> modelFiles; // in any order; empty: the last ones
    QStringList attachments;                       // files for the first message
};

class Application : public QObject {
    Q_OBJECT
public:
    explicit Application(const StartOptions& options);
    ~Application() override;

    // Shows the window, opens the history and begins loading.
    void start();
    // Another start of the program: raises the window and takes its files.
    void startedAgain(const QStringList& files);
    // Stops the answer, keeps it, and ends the event loop; at the latest after four seconds.
    void close();

    // For tests.
    ui::MainWindow& window() { return m_window; }
    ChatController& chat() { return m_chat; }
    AnswerRunner& runner() { return m_runner; }
    ModelController& models() { return m_models; }
    const Actions& actions() const { return m_actions; }

signals:
    void historyOpened();
    void closed(); // everything is kept; the event loop may end

private:
    void applySettings();
    void openHistory();
    void connectWindow();
    void connectSaving();
    void saveText(const QString& suggestedName, const QString& text);
    void showSettings();
    void showPrivacy();
    void finishClose();

    StartOptions m_options;
    // In the order of construction. The disk thread ends last, when everything was handed to it.
    Settings m_settings;
    qint64 m_lastChat; // open when the program ended
    DiskWorker m_disk;
    EngineWorker m_engine;
    ui::MainWindow m_window;
    ChatSaver m_saver;
    ChatList m_list;
    AnswerRunner m_runner;
    ChatController m_chat;
    Attachments m_attachments;
    Telemetry m_telemetry;
    ModelController m_models;
    Actions m_actions;
    QPointer<ui::SettingsDialog> m_settingsDialog;
    QTimer m_closeTimer;
    bool m_closing = false;
    bool m_closed = false;
    bool m_historyOpen = true; // false: it could not be opened, and the window says so
    bool m_savingTrouble = false;
};

} // namespace app

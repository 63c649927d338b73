#include "app/application.h"

#include "app/error_text.h"
#include "ui/composer.h"
#include "ui/sidebar.h"
#include "ui/status_line.h"
#include "ui/theme.h"
#include "ui/transcript_view.h"

#include <QApplication>
#include <QDesktopServices>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QLocale>
#include <QMessageBox>
#include <QPushButton>
#include <QSaveFile>
#include <QUrl>

namespace app {

using engine::Error;
using engine::Result;

namespace {

constexpr int kCloseMilliseconds = 4000;

bool isModelFile(const QString& path) {
    return path.endsWith(QLatin1String(".gguf"), Qt::CaseInsensitive);
}

} // namespace

Application::Application(const StartOptions& options)
    : m_options(options), m_settings(options.dataFolder + QStringLiteral("/settings.ini")),
      m_lastChat(m_settings.openChat()), m_saver(m_disk),
      m_list(m_window.sidebar(), m_disk, m_saver), m_runner(m_engine, m_disk, m_saver),
      m_chat({m_window, m_settings, m_disk, m_saver, m_list, m_runner}),
      m_attachments(m_window, m_chat.model(), m_disk), m_telemetry(m_window, m_runner, m_chat),
      m_models(m_window, m_engine, m_settings), m_actions(m_window, m_chat, m_models) {
    connect(&m_models, &ModelController::modelChanged, this, [this] {
        m_attachments.setModel(m_models.model());
        m_telemetry.setModel(m_models.model(), m_models.modelLine());
    });
    connect(&m_models, &ModelController::pageShown, this, [this](ui::MainWindow::Page page) {
        if (page == ui::MainWindow::Page::Chat) m_chat.showTitle();
    });
    connectWindow();
    connectSaving();
    applySettings();
    m_telemetry.setModel(std::nullopt, {});
}

Application::~Application() = default;

void Application::connectWindow() {
    ui::TranscriptView& transcript = m_window.transcript();
    connect(&transcript, &ui::TranscriptView::linkChosen, this,
            [](const QUrl& url) { QDesktopServices::openUrl(url); });
    connect(&transcript, &ui::TranscriptView::saveTextWished, this, &Application::saveText);
    connect(&m_window, &ui::MainWindow::themeChosen, this, [this](ui::ThemeChoice theme) {
        ui::SettingsValues values = m_settings.values();
        values.theme = theme;
        m_settings.setValues(values);
    });
    connect(&m_window, &ui::MainWindow::textZoomChosen, this, [this](int percent) {
        ui::SettingsValues values = m_settings.values();
        values.textZoom = percent;
        m_settings.setValues(values);
    });
    connect(&m_window, &ui::MainWindow::layoutChanged, this,
            [this] { m_settings.setWindowLayout(m_window.saveLayout()); });
    connect(&m_window, &ui::MainWindow::closeWished, this, &Application::close);
    connect(&m_window, &ui::MainWindow::noticeRemedyWished, this,
            [this](const QString&, const QString& remedyId) {
                if (remedyId == QLatin1String(remedy::kSaveAgain)) m_saver.saveAgain();
            });
    connect(&m_actions, &Actions::settingsWished, this, &Application::showSettings);
    connect(&m_actions, &Actions::quitWished, this, &Application::close);
    connect(&m_actions, &Actions::privacyWished, this, &Application::showPrivacy);
    m_closeTimer.setSingleShot(true);
    m_closeTimer.setInterval(kCloseMilliseconds);
    connect(&m_closeTimer, &QTimer::timeout, this, &Application::finishClose);
    connect(&m_runner, &AnswerRunner::answerEnded, this, [this] {
        if (m_closing && m_runner.idle()) finishClose();
    });
}

void Application::connectSaving() {
    const QString notice = QStringLiteral("saving");
    const auto trouble = [this, notice](const Error& error) {
        // The first one says since when; if there is no history at all, that is said already.
        if (m_savingTrouble || !m_historyOpen) return;
        m_savingTrouble = true;
        m_window.showNotice(errorNotice(notice, error, Doing::Saving));
        m_window.statusLine().setSaved(tr("Not saved"));
    };
    connect(&m_saver, &ChatSaver::failed, this, trouble);
    connect(&m_list, &ChatList::failed, this, trouble);
    connect(&m_chat, &ChatController::failed, this, [this](const Error& error) {
        m_window.showNotice(errorNotice(QStringLiteral("reading"), error, Doing::OpeningHistory));
    });
    const auto good = [this, notice] {
        if (m_savingTrouble) m_window.hideNotice(notice);
        m_savingTrouble = false;
        m_window.statusLine().setSaved(tr("Saved"));
    };
    connect(&m_saver, &ChatSaver::recovered, this, good);
    connect(&m_saver, &ChatSaver::saved, this, good);
}

void Application::applySettings() {
    const ui::SettingsValues values = m_settings.values();
    if (ui::themeChoice() != values.theme) ui::applyTheme(values.theme);
    if (ui::textZoom() != values.textZoom) ui::applyTextZoom(values.textZoom);
    m_window.composer().setEnterSends(values.enterSends);
    m_list.setSearchThinking(values.searchThinking);
    m_runner.setSampling(values.sampling);
}

void Application::start() {
    m_window.restoreLayout(m_settings.windowLayout());
    m_window.show();
    openHistory();
    m_models.start(m_options.modelFiles);
    for (const QString& file : m_options.attachments) m_window.composer().attachPath(file);
}

void Application::openHistory() {
    const std::filesystem::path path =
        filePath(m_options.dataFolder + QStringLiteral("/history.db"));
    m_disk.ask(
        this, [path](Disk& disk) { return disk.openHistory(path); },
        [this](Result<Disk::OpenedHistory> opened) {
            m_historyOpen = opened.ok();
            if (!opened.ok()) {
                m_window.showNotice(
                    errorNotice(QStringLiteral("history"), opened.error(), Doing::OpeningHistory));
                m_window.statusLine().setSaved(tr("Not saved"));
                emit historyOpened();
                return;
            }
            if (!opened->setAside.empty()) m_window.showNotice(setAsideNotice(opened->setAside));
            m_list.setChats(std::move(opened->chats));
            const ChatSummary* const last = m_list.find(m_lastChat);
            // Pictures given at the start are for a new chat, which is open already.
            const bool untouched = m_chat.open().conversation.messages.empty() &&
                                   m_chat.open().draft.empty() && m_options.attachments.isEmpty();
            if (last && last->deletedMs == 0 && untouched) m_chat.openChat(m_lastChat);
            emit historyOpened();
        });
}

void Application::startedAgain(const QStringList& files) {
    m_window.setWindowState(m_window.windowState() & ~Qt::WindowMinimized);
    m_window.show();
    m_window.raise();
    m_window.activateWindow();
    QStringList models;
    for (const QString& file : files) {
        if (isModelFile(file)) {
            models.append(file);
        } else {
            m_window.composer().attachPath(file);
        }
    }
    if (!models.isEmpty()) m_models.open(models);
}

void Application::saveText(const QString& suggestedName, const QString& text) {
    auto* const dialog = new QFileDialog(&m_window, tr("Save"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->selectFile(suggestedName);
    connect(dialog, &QFileDialog::fileSelected, this, [this, text](const QString& path) {
        m_disk.ask(
            this,
            [path, text](Disk&) -> Result<void> {
                QSaveFile file(path);
                if (file.open(QIODevice::WriteOnly) && file.write(text.toUtf8()) >= 0 &&
                    file.commit())
                    return {};
                return Error{engine::ErrorCode::Io, file.errorString().toStdString()};
            },
            [this, path](const Result<void>& saved) {
                m_window.statusLine().say(
                    saved.ok() ? tr("Saved as %1").arg(QDir::toNativeSeparators(path))
                               : tr("The file could not be written: %1.")
                                     .arg(QString::fromStdString(saved.error().message)));
            });
    });
    dialog->open();
}

void Application::showSettings() {
    if (!m_settingsDialog) {
        m_settingsDialog = new ui::SettingsDialog(&m_window);
        m_settingsDialog->setAttribute(Qt::WA_DeleteOnClose);
        m_settingsDialog->setValues(m_settings.values());
        connect(m_settingsDialog, &ui::SettingsDialog::valuesChanged, this,
                [this](const ui::SettingsValues& values) {
                    m_settings.setValues(values);
                    applySettings();
                });
    }
    m_settingsDialog->show();
    m_settingsDialog->raise();
}

void Application::showPrivacy() {
    qint64 bytes = 0;
    const QFileInfoList files = QDir(m_options.dataFolder).entryInfoList(QDir::Files);
    for (const QFileInfo& file : files) bytes += file.size();
    auto* const box = new QMessageBox(&m_window);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setWindowTitle(tr("How Private Is This?"));
    box->setText(tr("Everything happens on this computer. Glint opens no network connection; you "
                    "can see this with "
                    "your system's network monitor while an answer is being written."));
    box->setInformativeText(
        tr("Your chats, pictures and settings lie in %1 and take %2. Model files are only read.")
            .arg(QDir::toNativeSeparators(m_options.dataFolder),
                 QLocale().formattedDataSize(bytes, 1, QLocale::DataSizeSIFormat)));
    QPushButton* const folder = box->addButton(tr("Open Folder"), QMessageBox::ActionRole);
    connect(folder, &QPushButton::clicked, this,
            [this] { QDesktopServices::openUrl(QUrl::fromLocalFile(m_options.dataFolder)); });
    box->addButton(QMessageBox::Close);
    box->open();
}

void Application::close() {
    if (m_closing) return;
    m_closing = true;
    m_chat.keepDraft();
    m_settings.setWindowLayout(m_window.saveLayout());
    if (m_runner.idle()) {
        finishClose();
        return;
    }
    m_window.statusLine().setState(tr("Ending the answer"));
    m_closeTimer.start();
    m_runner.stopAll();
    if (m_runner.idle()) finishClose();
}

void Application::finishClose() {
    if (m_closed) return;
    m_closed = true;
    m_closeTimer.stop();
    m_window.finishClose();
    emit closed();
}

} // namespace app

#pragma once
// Twice a second: what the engine is doing, as figures for the performance panel, the status line,
// the memory dot and the composer's meter.
//
// GUI thread. Everything passed to the constructor outlives this object.

#include "app/answer_runner.h"
#include "app/chat_controller.h"
#include "app/engine_worker.h"
#include "app/rate_meter.h"
#include "ui/main_window.h"
#include "ui/performance_panel.h"

#include <QObject>
#include <QTimer>

#include <optional>

namespace app {

class Telemetry : public QObject {
    Q_OBJECT
public:
    Telemetry(ui::MainWindow& window, AnswerRunner& runner, ChatController& chat,
              QObject* parent = nullptr);

    void setModel(const std::optional<LoadedModel>& model, const QString& modelLine);

private:
    void tick();
    void showStatus();
    QString stateText(const ui::Activity& activity) const;
    ui::MemoryFigures memoryFigures() const;
    void showMemoryDot(const ui::MemoryFigures& figures);
    std::optional<engine::AnswerFigures> lastFigures() const;
    qint64 contextUsed() const;

    ui::MainWindow& m_window;
    AnswerRunner& m_runner;
    ChatController& m_chat;
    std::optional<LoadedModel> m_model;
    QTimer m_timer;

    RateMeter m_writing, m_reading;
    int m_idleTicks = 0;
};

} // namespace app

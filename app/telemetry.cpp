#include "app/telemetry.h"

#include "app/backend_choice.h"
#include "ui/composer.h"
#include "ui/status_line.h"

#include <QLocale>

#include <algorithm>

namespace app {

namespace {

constexpr int kMilliseconds = 500;
// After the last answer the graph runs on until it is empty: 60 seconds.
constexpr int kTicksAfterAnswer = 120;

QString gibibytes(qint64 bytes) {
    return QLocale().toString(double(bytes) / double(qint64(1) << 30), 'f', 1);
}

} // namespace

Telemetry::Telemetry(ui::MainWindow& window, AnswerRunner& runner, ChatController& chat,
                     QObject* parent)
    : QObject(parent), m_window(window), m_runner(runner), m_chat(chat) {
    m_timer.setInterval(kMilliseconds);
    connect(&m_timer, &QTimer::timeout, this, &Telemetry::tick);
    const auto wake = [this] {
        m_idleTicks = 0;
        if (!m_timer.isActive()) m_timer.start();
        showStatus();
    };
    connect(&runner, &AnswerRunner::activityChanged, this, wake);
    connect(&chat, &ChatController::opened, this, &Telemetry::tick);
    connect(&chat, &ChatController::pathChanged, this, &Telemetry::tick);
}

void Telemetry::setModel(const std::optional<LoadedModel>& model, const QString& modelLine) {
    m_model = model;
    m_window.statusLine().setModel(modelLine);
    tick();
}

QString Telemetry::stateText(const ui::Activity& activity) const {
    const QLocale locale;
    switch (activity.kind) {
    case ui::Activity::Kind::Waiting: return tr("Waiting");
    case ui::Activity::Kind::Looking:
        return tr("Looking at picture %1 of %2")
            .arg(activity.pictureIndex)
            .arg(activity.pictureCount);
    case ui::Activity::Kind::Reading:
        if (activity.readTotal <= 0) return tr("Reading");
        return tr("Reading %1 %").arg(qint64(100) * activity.readDone / activity.readTotal);
    case ui::Activity::Kind::Thinking:
        return tr("Thinking · %1 tokens")
            .arg(locale.toString(m_runner.telemetry().progress.writtenTokens));
    case ui::Activity::Kind::Answering:
        return tr("Answering · %1 tokens")
            .arg(locale.toString(m_runner.telemetry().progress.writtenTokens));
    case ui::Activity::Kind::None: break;
    }
    if (!m_model) return tr("No model loaded");
    if (!m_runner.idle()) return tr("Answering in another chat");
    const qint64 used = contextUsed();
    if (used <= 0) return tr("Ready");
    return tr("Ready · %1 of %2 tokens")
        .arg(locale.toString(used), locale.toString(qint64(m_model->contextTokens)));
}

// While the open chat's answer grows the engine says; otherwise the last answer's prompt and text
// are what the conversation takes.
qint64 Telemetry::contextUsed() const {
    const AnswerRunner::Telemetry& now = m_runner.telemetry();
    if (now.running && m_runner.activity(m_chat.openId()).kind >= ui::Activity::Kind::Thinking &&
        now.progress.contextTokens > 0) {
        return now.progress.contextTokens;
    }
    const auto figures = lastFigures();
    return figures ? figures->promptTokens + figures->writtenTokens : 0;
}

std::optional<engine::AnswerFigures> Telemetry::lastFigures() const {
    const auto path = m_chat.open().conversation.activePath();
    for (auto m = path.rbegin(); m != path.rend(); ++m) {
        if ((*m)->role == engine::Role::Assistant && (*m)->figures.promptTokens > 0)
            return (*m)->figures;
    }
    return std::nullopt;
}

ui::MemoryFigures Telemetry::memoryFigures() const {
    const engine::MemoryState memory =
        (m_model->onCard ? automaticPlace() : processorPlace()).memory;
    ui::MemoryFigures figures;
    figures.parts = m_model->memory;
    figures.totalBytes = memory.totalBytes;
    // The model's file may be counted as free by the system, since its pages can be read again.
    figures.freeBytes = std::clamp<qint64>(
        memory.freeBytes, 0, std::max<qint64>(0, memory.totalBytes - figures.parts.total()));
    figures.otherBytes =
        std::max<qint64>(0, memory.totalBytes - figures.freeBytes - figures.parts.total());
    return figures;
}

void Telemetry::showMemoryDot(const ui::MemoryFigures& figures) {
    const qint64 used = figures.totalBytes - figures.freeBytes;
    const double share = figures.totalBytes > 0 ? double(used) / double(figures.totalBytes) : 0;
    const ui::NoticeKind kind = share > 0.95   ? ui::NoticeKind::Bad
                                : share > 0.88 ? ui::NoticeKind::Warning
                                               : ui::NoticeKind::Info;
    m_window.setMemoryDot(
        tr("%1 of %2 GiB").arg(gibibytes(used), gibibytes(figures.totalBytes)), kind,
        kind != ui::NoticeKind::Info
            ? tr("Memory is nearly full. Close other programs, or use a shorter conversation.")
        : m_model->onCard ? tr("Memory in use on your graphics card. There is room left.")
                          : tr("Memory in use on your computer. There is room left."));
}

void Telemetry::showStatus() {
    m_window.statusLine().setState(stateText(m_runner.activity(m_chat.openId())));
    m_window.composer().setContextUse(m_model ? contextUsed() : 0,
                                      m_model ? m_model->contextTokens : 0);
}

void Telemetry::tick() {
    showStatus();
    ui::PanelState panel;
    panel.state = stateText(m_runner.activity(m_chat.openId()));
    if (m_model) {
        panel.place = m_model->backendName;
        panel.memory = memoryFigures();
        showMemoryDot(*panel.memory);
        panel.draftAvailable = m_model->draft;
        panel.contextTotal = m_model->contextTokens;
        panel.contextUsed = contextUsed();
    } else {
        m_window.setMemoryDot(tr("no model loaded"), ui::NoticeKind::Info);
    }

    const AnswerRunner::Telemetry& now = m_runner.telemetry();
    if (now.chatId == m_chat.openId()) { // but speed is shown whatever chat it was for
        panel.firstWordSeconds = now.firstWordSeconds;
        panel.draftPaused = now.progress.draftingPaused;
        if (now.progress.draftedTokens > 0) {
            panel.guessedTokens = now.progress.draftedTokens;
            panel.acceptedTokens = now.progress.acceptedTokens;
            if (now.progress.gain > 0) panel.gain = now.progress.gain;
        }
    }
    panel.writingPerSecond = m_writing.take(now.answer, now.progress.writtenTokens,
                                            now.progress.writeSeconds, !now.running);
    panel.readingPerSecond =
        m_reading.take(now.answer, now.readDone, now.readSeconds, !now.running || !now.reading);
    panel.lastAnswer = lastFigures();
    m_window.panel().setState(panel);

    if (m_runner.idle() && ++m_idleTicks > kTicksAfterAnswer) m_timer.stop();
}

} // namespace app

#pragma once
// What the program is known for: state, memory by part, reading and writing speed, draft help,
// context. Fed twice a second; hidden it does nothing but keep the latest value. What is not known
// is empty here and reads "not available", never 0.

#include "engine/chat/conversation.h"
#include "engine/runtime/placement.h"

#include <QString>
#include <QWidget>

#include <optional>

namespace ui {

struct MemoryFigures {
    engine::MemoryByPart parts;
    qint64 otherBytes = 0; // other programs
    qint64 freeBytes = 0;
    qint64 totalBytes = 0;
    qint64 safeBytes = 0;  // a tick here; 0: none
    bool graphics = false; // GPU memory, else the computer's
    bool operator==(const MemoryFigures&) const = default;
};

struct PanelState {
    QString state; // "Answering"
    QString place; // "Everything runs on your processor."
    std::optional<MemoryFigures> memory;
    std::optional<double> writingPerSecond; // now; empty when not writing
    std::optional<double> readingPerSecond;
    std::optional<double> firstWordSeconds; // of the latest answer
    bool draftAvailable = false;            // a drafter is loaded
    bool draftPaused = false;
    std::optional<int> guessedTokens; // of the latest answer
    std::optional<int> acceptedTokens;
    std::optional<double> gain;        // speed against no drafting
    std::optional<qint64> contextUsed; // tokens
    std::optional<qint64> contextTotal;
    std::optional<engine::AnswerFigures> lastAnswer;
};

class PerformancePanel : public QWidget {
    Q_OBJECT
public:
    explicit PerformancePanel(QWidget* parent = nullptr);

    // Also adds one sample of both speeds to the graph.
    void setState(const PanelState& state);
    QString asText() const; // for support

signals:
    void copied(); // asText() is on the clipboard

protected:
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    class Private;
    Private* d = nullptr; // a child of this widget
};

} // namespace ui

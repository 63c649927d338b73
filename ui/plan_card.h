#pragma once
// What loading will cost, before it is done: a sentence, the memory bar, the length slider and two
// switches. Each change is wished at once; the answer is setPlan().

#include "engine/runtime/placement.h"

#include <QWidget>

#include <vector>

namespace ui {

struct PlanChoice {
    qint64 contextTokens = 0;
    bool vision = false;
    bool draft = false;
    bool operator==(const PlanChoice&) const = default;
};

struct PlanState {
    engine::PlacementPlan plan; // of `choice`
    PlanChoice choice;
    qint64 maxContextTokens = 0; // the model's limit
    bool visionPossible = false; // the file is there
    bool draftPossible = false;
    bool graphics = false;
    QString place;                             // "Runs on your processor." and why, in words
    std::vector<engine::PlacementPlan> offers; // what fits, best first; shown if `plan` does not
};

class PlanCard : public QWidget {
    Q_OBJECT
public:
    explicit PlanCard(QWidget* parent = nullptr);

    void setPlan(const PlanState& state);
    PlanChoice choice() const;

signals:
    void choiceChanged(const ui::PlanChoice& choice);
    void loadWished(const ui::PlanChoice& choice);

protected:
    void changeEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    class Private;
    Private* d = nullptr; // a child of this widget
};

} // namespace ui

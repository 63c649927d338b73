#pragma once
// One of the three slots of the set-up page.

#include "ui/model_setup.h"

#include <QWidget>

namespace ui {

class IconLabel;

class ModelSlotCard : public QWidget {
    Q_OBJECT
public:
    ModelSlotCard(ModelSlot slot, QWidget* parent);
    void setState(const SlotState& state);

signals:
    void chooseWished();
    void clearWished();
    void remedyWished(const QString& remedyId);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void showState();

    ModelSlot m_slot;
    SlotState m_state;
    IconLabel* m_mark;
    QLabel* m_sentence;
    QLabel* m_detail;
    QWidget* m_remedies;
    QPushButton* m_choose;
    QWidget* m_clear;
};

} // namespace ui

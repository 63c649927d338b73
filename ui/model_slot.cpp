#include "ui/model_slot.h"

#include "ui/controls.h"
#include "ui/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

namespace ui {

namespace {

QString slotName(ModelSlot slot) {
    switch (slot) {
    case ModelSlot::Target: break;
    case ModelSlot::Projector: return ModelSlotCard::tr("Vision part");
    case ModelSlot::Drafter: return ModelSlotCard::tr("Draft help");
    }
    return ModelSlotCard::tr("Model");
}

QString whatItAdds(ModelSlot slot) {
    switch (slot) {
    case ModelSlot::Target: break;
    case ModelSlot::Projector:
        return ModelSlotCard::tr("Optional. Lets the model see the pictures that you attach.");
    case ModelSlot::Drafter:
        return ModelSlotCard::tr("Optional. Guesses the next words, so that answers come faster. "
                                 "The text stays the same.");
    }
    return ModelSlotCard::tr("Needed. The language model itself, a file that ends in .gguf.");
}

} // namespace

ModelSlotCard::ModelSlotCard(ModelSlot slot, QWidget* parent) : QWidget(parent), m_slot(slot) {
    setAccessibleName(slotName(slot));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(16, 12, 12, 12);
    row->setSpacing(12);
    auto* column = new QVBoxLayout;
    column->setSpacing(3);
    auto* name = label(slotName(slot), this);
    setFontRole(name, FontRole::Strong);
    column->addWidget(name);
    auto* line = new QHBoxLayout;
    line->setSpacing(6);
    m_mark = new IconLabel(this);
    line->addWidget(m_mark, 0, Qt::AlignTop);
    m_sentence = label({}, this);
    m_sentence->setWordWrap(true);
    line->addWidget(m_sentence, 1);
    column->addLayout(line);
    m_detail = label({}, this, "muted");
    m_detail->setWordWrap(true);
    m_detail->setTextInteractionFlags(Qt::TextSelectableByMouse);
    setFontRole(m_detail, FontRole::Caption);
    column->addWidget(m_detail);
    m_remedies = new QWidget(this);
    (new FlowLayout(8, m_remedies))->setContentsMargins(0, 4, 0, 0);
    column->addWidget(m_remedies);
    row->addLayout(column, 1);
    m_choose = new QPushButton(tr("Choose…"), this);
    m_choose->setAccessibleName(tr("Choose the file for: %1").arg(slotName(slot)));
    row->addWidget(m_choose, 0, Qt::AlignTop);
    auto* clear = iconButton("close", tr("Leave out: %1").arg(slotName(slot)), this);
    m_clear = clear;
    row->addWidget(clear, 0, Qt::AlignTop);
    connect(m_choose, &QPushButton::clicked, this, &ModelSlotCard::chooseWished);
    connect(clear, &QToolButton::clicked, this, &ModelSlotCard::clearWished);
    showState();
}

void ModelSlotCard::setState(const SlotState& state) {
    if (state == m_state) return;
    m_state = state;
    showState();
}

void ModelSlotCard::showState() {
    using Mark = SlotState::Mark;
    const bool empty = m_state.mark == Mark::Empty;
    m_sentence->setText(empty && m_state.sentence.isEmpty() ? whatItAdds(m_slot)
                                                            : m_state.sentence);
    const char* tone = m_state.mark == Mark::Good      ? "good"
                       : m_state.mark == Mark::Warning ? "warning"
                       : m_state.mark == Mark::Bad     ? "bad"
                                                       : "muted";
    setTone(m_sentence, tone);
    switch (m_state.mark) {
    case Mark::Good: m_mark->setIcon("check", &Colours::good, tr("In order")); break;
    case Mark::Warning: m_mark->setIcon("warning", &Colours::fourth, tr("Note")); break;
    case Mark::Bad: m_mark->setIcon("error", &Colours::bad, tr("Problem")); break;
    default: m_mark->setIcon(nullptr, &Colours::text, {}); break;
    }
    m_detail->setText(m_state.detail);
    m_detail->setVisible(!m_state.detail.isEmpty());
    m_clear->setVisible(!empty);
    QLayout* layout = m_remedies->layout();
    while (QLayoutItem* item = layout->takeAt(0)) {
        item->widget()->hide();
        item->widget()->deleteLater();
        delete item;
    }
    for (const Remedy& remedy : m_state.remedies) {
        auto* button = new QPushButton(remedy.text, m_remedies);
        connect(button, &QPushButton::clicked, this,
                [this, id = remedy.id] { emit remedyWished(id); });
        layout->addWidget(button);
    }
    m_remedies->setVisible(!m_state.remedies.isEmpty());
    setAccessibleDescription(m_sentence->text());
    updateGeometry();
}

void ModelSlotCard::paintEvent(QPaintEvent*) {
    const Colours& c = colours();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(c.surface);
    painter.setPen(c.line);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 10, 10);
}

} // namespace ui

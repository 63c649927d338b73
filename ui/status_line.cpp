#include "ui/status_line.h"

#include "ui/controls.h"
#include "ui/theme.h"

#include <QAccessible>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QTimer>

namespace ui {

StatusLine::StatusLine(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Status"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(14, 5, 14, 5);
    row->setSpacing(16);
    m_state = new ElidedLabel(this);
    m_saved = label({}, this, "muted");
    m_model = new ElidedLabel(this);
    m_network = label(tr("No network connection"), this, "muted");
    m_network->setToolTip(
        tr("This program opens no network connection. Everything stays on your computer."));
    m_state->setTint(&Colours::muted);
    m_model->setTint(&Colours::muted);
    for (QWidget* part : std::initializer_list<QWidget*>{m_state, m_saved, m_model, m_network})
        setFontRole(part, FontRole::Caption);
    row->addWidget(m_state);
    row->addWidget(m_saved);
    row->addStretch(1);
    row->addWidget(m_model);
    row->addWidget(m_network);
    m_saying = new QTimer(this);
    m_saying->setSingleShot(true);
    m_saying->setInterval(2500);
    connect(m_saying, &QTimer::timeout, this, [this] { m_state->setText(m_stateText); });
}

void StatusLine::setState(const QString& text) {
    if (text == m_stateText) return;
    m_stateText = text;
    if (!m_saying->isActive()) m_state->setText(text);
    QAccessibleEvent event(this, QAccessible::NameChanged);
    setAccessibleName(tr("Status: %1").arg(text));
    QAccessible::updateAccessibility(&event);
}

void StatusLine::setSaved(const QString& text) {
    m_saved->setText(text);
}
void StatusLine::setModel(const QString& text) {
    m_model->setText(text);
}
QString StatusLine::state() const {
    return m_stateText;
}

void StatusLine::say(const QString& text) {
    m_state->setText(text);
    m_saying->start();
}

void StatusLine::resizeEvent(QResizeEvent*) {
    // A narrow window keeps what changes and drops what does not.
    m_model->setVisible(width() > ems(44));
    m_network->setVisible(width() > ems(34));
}

void StatusLine::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), colours().surface);
    painter.fillRect(0, 0, width(), 1, colours().line);
}

} // namespace ui

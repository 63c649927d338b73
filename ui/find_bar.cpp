#include "ui/find_bar.h"

#include "ui/controls.h"
#include "ui/theme.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>

namespace ui {

FindBar::FindBar(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Find in this chat"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(16, 6, 10, 6);
    row->setSpacing(6);
    m_field = new QLineEdit(this);
    m_field->setPlaceholderText(tr("Find in this chat"));
    m_field->setAccessibleName(tr("Find in this chat"));
    m_field->setMaximumWidth(ems(26));
    row->addWidget(m_field, 1);
    m_count = label({}, this, "muted");
    row->addWidget(m_count);
    row->addStretch(1);
    auto* previous = iconButton("arrow-up", tr("Previous (Shift+F3)"), this);
    auto* next = iconButton("chevron-down", tr("Next (F3)"), this);
    auto* close = iconButton("close", tr("Close"), this);
    row->addWidget(previous);
    row->addWidget(next);
    row->addWidget(close);
    connect(m_field, &QLineEdit::textChanged, this,
            [this](const QString& text) { emit findWished(text, 0); });
    connect(previous, &QToolButton::clicked, this,
            [this] { emit findWished(m_field->text(), -1); });
    connect(next, &QToolButton::clicked, this, [this] { emit findWished(m_field->text(), 1); });
    connect(close, &QToolButton::clicked, this, &FindBar::closed);
    hide();
}

void FindBar::open(const QString& text) {
    show();
    if (!text.isEmpty()) m_field->setText(text);
    m_field->setFocus(Qt::ShortcutFocusReason);
    m_field->selectAll();
    emit findWished(m_field->text(), 0);
}

void FindBar::setResult(int hits, int current) {
    m_count->setText(m_field->text().isEmpty() ? QString()
                     : hits == 0               ? tr("Not found")
                                               : tr("%1 of %2").arg(current).arg(hits));
}

QString FindBar::text() const {
    return m_field->text();
}

void FindBar::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) {
        emit closed();
    } else if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
        emit findWished(m_field->text(), event->modifiers() & Qt::ShiftModifier ? -1 : 1);
    } else {
        QWidget::keyPressEvent(event);
    }
}

} // namespace ui

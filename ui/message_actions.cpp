#include "ui/message_actions.h"

#include "ui/controls.h"
#include "ui/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

namespace ui {

MessageActions::MessageActions(QWidget* parent) : QWidget(parent) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    m_previous = iconButton("chevron-left", tr("Previous version"), this);
    m_version = label({}, this, "muted");
    setFontRole(m_version, FontRole::Caption);
    m_next = iconButton("chevron-right", tr("Next version"), this);
    m_copy = iconButton("copy", tr("Copy"), this);
    m_edit = iconButton("edit", tr("Edit"), this);
    m_tryAgain = iconButton("retry", tr("Try again"), this);
    m_continue = iconButton("continue", tr("Continue"), this);
    for (QToolButton* button : {m_previous, m_next, m_copy, m_edit, m_tryAgain, m_continue}) {
        setIconPixels(button, 18);
        button->setProperty("kind", "text");
    }
    row->addWidget(m_previous);
    row->addWidget(m_version);
    row->addWidget(m_next);
    for (QToolButton* button : {m_copy, m_edit, m_tryAgain, m_continue}) row->addWidget(button);
    connect(m_previous, &QToolButton::clicked, this,
            [this] { emit versionWished(m_abilities.version - 1); });
    connect(m_next, &QToolButton::clicked, this,
            [this] { emit versionWished(m_abilities.version + 1); });
    connect(m_copy, &QToolButton::clicked, this, &MessageActions::copyWished);
    connect(m_edit, &QToolButton::clicked, this, &MessageActions::editWished);
    connect(m_tryAgain, &QToolButton::clicked, this, &MessageActions::tryAgainWished);
    connect(m_continue, &QToolButton::clicked, this, &MessageActions::continueWished);
}

void MessageActions::setAbilities(const MessageAbilities& abilities) {
    m_abilities = abilities;
    const bool several = abilities.versions > 1;
    m_previous->setVisible(several);
    m_version->setVisible(several);
    m_next->setVisible(several);
    m_version->setText(tr("%1 of %2").arg(abilities.version).arg(abilities.versions));
    m_previous->setEnabled(abilities.canChangeVersion && abilities.version > 1);
    m_next->setEnabled(abilities.canChangeVersion && abilities.version < abilities.versions);
    m_copy->setVisible(abilities.copy);
    m_edit->setVisible(abilities.edit);
    m_tryAgain->setVisible(abilities.tryAgain);
    m_continue->setVisible(abilities.resume);
    adjustSize();
}

} // namespace ui

#include "ui/side_panels.h"

#include "ui/theme.h"

#include <QDataStream>
#include <QEvent>
#include <QIODevice>
#include <QPainter>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>

namespace ui {

SidePanels::SidePanels(QWidget* sidebar, QWidget* middle, QWidget* panel, QWidget* parent)
    : QWidget(parent), m_sidebar(sidebar), m_middle(middle), m_panel(panel) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    m_splitter = new QSplitter(Qt::Horizontal, this);
    m_splitter->setChildrenCollapsible(false);
    m_splitter->setHandleWidth(1);
    column->addWidget(m_splitter);
    m_sidebar->setMaximumWidth(360);
    m_panel->setMaximumWidth(360);
    for (QWidget* part : {sidebar, middle, panel}) m_splitter->addWidget(part);
    for (QWidget* side : {sidebar, panel}) {
        side->setAutoFillBackground(true);
        side->installEventFilter(this);
    }
    m_splitter->setStretchFactor(0, 0);
    m_splitter->setStretchFactor(1, 1);
    m_splitter->setStretchFactor(2, 0);
    connect(m_splitter, &QSplitter::splitterMoved, this, [this] {
        if (m_sidebar->isVisible()) m_sidebarWidth = m_sidebar->width();
        if (m_panel->isVisible()) m_panelWidth = m_panel->width();
        emit changed();
    });
}

bool SidePanels::sidebarShown() const {
    return narrow() ? m_overlay == m_sidebar : m_sidebarWanted;
}

bool SidePanels::panelShown() const {
    if (!m_panelPossible) return false;
    return narrow() ? m_overlay == m_panel : m_panelWanted.value_or(width() >= kPanelFrom);
}

void SidePanels::toggleSidebar() {
    if (narrow())
        m_overlay = m_overlay == m_sidebar ? nullptr : m_sidebar;
    else
        m_sidebarWanted = !m_sidebarWanted;
    arrange();
    emit changed();
}

void SidePanels::togglePanel() {
    if (!m_panelPossible) return;
    if (narrow())
        m_overlay = m_overlay == m_panel ? nullptr : m_panel;
    else
        m_panelWanted = !panelShown();
    arrange();
    emit changed();
}

void SidePanels::showSidebar() {
    if (!sidebarShown()) toggleSidebar();
}

void SidePanels::setPanelPossible(bool possible) {
    if (possible == m_panelPossible) return;
    m_panelPossible = possible;
    if (!possible && m_overlay == m_panel) m_overlay = nullptr;
    arrange();
    emit changed();
}

bool SidePanels::closeOverlays() {
    if (!m_overlay) return false;
    m_overlay = nullptr;
    arrange();
    emit changed();
    return true;
}

void SidePanels::placeOverlay(QWidget* side, bool atStart) {
    const int wanted = atStart ? m_sidebarWidth : m_panelWidth;
    const int width = std::min(
        {std::max(wanted, side->minimumWidth()), side->maximumWidth(), this->width() - 60});
    const bool left = atStart != isRightToLeft();
    side->setGeometry(left ? 0 : this->width() - width, 0, width, height());
    side->show();
    side->raise();
}

void SidePanels::arrange() {
    const bool isNarrow = narrow();
    if (isNarrow) {
        for (QWidget* side : {m_sidebar, m_panel}) {
            if (side->parentWidget() == m_splitter) {
                side->setParent(this);
                side->hide();
            }
            if (side != m_overlay) side->hide();
        }
        if (m_overlay) placeOverlay(m_overlay, m_overlay == m_sidebar);
    } else {
        m_overlay = nullptr;
        if (m_sidebar->parentWidget() != m_splitter) m_splitter->insertWidget(0, m_sidebar);
        if (m_panel->parentWidget() != m_splitter) m_splitter->insertWidget(2, m_panel);
        m_sidebar->setVisible(m_sidebarWanted);
        m_panel->setVisible(panelShown());
        const int side = m_sidebarWanted ? m_sidebarWidth : 0;
        const int panel = panelShown() ? m_panelWidth : 0;
        m_splitter->setSizes({side, std::max(320, width() - side - panel - 2), panel});
    }
}

void SidePanels::resizeEvent(QResizeEvent* event) {
    const bool before = m_panel->isVisibleTo(this), sideBefore = m_sidebar->isVisibleTo(this);
    QWidget::resizeEvent(event);
    arrange();
    if (before != m_panel->isVisibleTo(this) || sideBefore != m_sidebar->isVisibleTo(this))
        emit changed();
}

bool SidePanels::eventFilter(QObject* watched, QEvent* event) {
    // An overlay ends with a line, since nothing else separates it from what lies below.
    auto* side = static_cast<QWidget*>(watched);
    if (event->type() == QEvent::Paint && side == m_overlay) {
        QPainter painter(side);
        painter.fillRect(side->rect(), colours().surface);
        const bool left = (side == m_sidebar) != isRightToLeft();
        painter.fillRect(left ? side->width() - 1 : 0, 0, 1, side->height(), colours().line);
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

QByteArray SidePanels::saveState() const {
    QByteArray bytes;
    QDataStream out(&bytes, QIODevice::WriteOnly);
    out.setVersion(QDataStream::Qt_6_4);
    out << qint32(m_sidebarWidth) << qint32(m_panelWidth) << m_sidebarWanted
        << qint8(m_panelWanted ? int(*m_panelWanted) : -1);
    return bytes;
}

void SidePanels::restoreState(const QByteArray& state) {
    QDataStream in(state);
    in.setVersion(QDataStream::Qt_6_4);
    qint32 sidebar = 0, panel = 0;
    bool wanted = true;
    qint8 panelWanted = -1;
    in >> sidebar >> panel >> wanted >> panelWanted;
    if (in.status() != QDataStream::Ok) return;
    m_sidebarWidth = std::clamp(int(sidebar), m_sidebar->minimumWidth(), m_sidebar->maximumWidth());
    m_panelWidth = std::clamp(int(panel), m_panel->minimumWidth(), m_panel->maximumWidth());
    m_sidebarWanted = wanted;
    if (panelWanted >= 0) m_panelWanted = panelWanted != 0;
    arrange();
}

} // namespace ui

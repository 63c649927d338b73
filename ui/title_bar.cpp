#include "ui/title_bar.h"

#include "ui/controls.h"
#include "ui/strength_menu.h"
#include "ui/theme.h"

#include <QHBoxLayout>
#include <QMenu>
#include <QPainter>

#include <algorithm>

namespace ui {

// A dot and a few words. Its shape says what its colour says: round in order, a triangle otherwise.
class MemoryDot : public QWidget {
public:
    explicit MemoryDot(QWidget* parent) : QWidget(parent) {
        setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
        hide();
    }
    void set(const QString& text, NoticeKind kind, const QString& why) {
        setVisible(!text.isEmpty());
        m_text = text;
        m_kind = kind;
        m_why = why;
        setToolTip(why);
        setAccessibleName(tr("Memory: %1").arg(text));
        updateGeometry();
        update();
    }
    QSize sizeHint() const override {
        const QFontMetrics metrics(font());
        return QSize(metrics.horizontalAdvance(m_text) + 18, metrics.height() + 8);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const Colours& c = colours();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        const bool mirrored = isRightToLeft();
        const QPointF at(mirrored ? width() - 5 : 5, height() / 2.0);
        if (m_why.isEmpty()) {
            // Nothing is loaded, so there is nothing to say by a dot.
        } else if (m_kind == NoticeKind::Info) {
            painter.setBrush(c.good);
            painter.drawEllipse(at, 3.5, 3.5);
        } else {
            painter.setBrush(m_kind == NoticeKind::Bad ? c.bad : c.fourth);
            const QPointF corners[] = {at + QPointF(0, -5), at + QPointF(5, 4),
                                       at + QPointF(-5, 4)};
            painter.drawPolygon(corners, 3);
        }
        painter.setPen(c.muted);
        painter.drawText(rect().adjusted(mirrored ? 0 : 16, 0, mirrored ? -16 : 0, 0),
                         Qt::AlignVCenter | Qt::AlignLeading, m_text);
    }

private:
    QString m_text;
    QString m_why;
    NoticeKind m_kind = NoticeKind::Info;
};

TitleBar::TitleBar(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Title bar"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(10, 7, 10, 7);
    row->setSpacing(8);
    m_sidebar = iconButton("sidebar", tr("Show or hide the chats (Ctrl+B)"), this);
    row->addWidget(m_sidebar);
    m_title = new ElidedLabel(this);
    setFontRole(m_title, FontRole::Strong);
    row->addWidget(m_title, 1);
    m_strength = new MenuButton(this);
    m_strength->setToolTip(tr("How long the model thinks before it answers"));
    m_strengths =
        strengthMenu(m_strength, [this](engine::ThinkingStrength s) { emit strengthChosen(s); });
    m_strength->setMenu(m_strengths);
    row->addWidget(m_strength);
    m_memory = new MemoryDot(this);
    row->addWidget(m_memory);
    m_panel = iconButton("panel", tr("Show or hide performance (F9)"), this);
    row->addWidget(m_panel);
    connect(m_sidebar, &QToolButton::clicked, this, &TitleBar::sidebarToggled);
    connect(m_panel, &QToolButton::clicked, this, &TitleBar::panelToggled);
    setStrength(engine::ThinkingStrength::High);
}

void TitleBar::setTitle(const QString& title) {
    m_title->setText(title);
}

void TitleBar::setStrength(engine::ThinkingStrength strength) {
    m_strength->setText(tr("Thinking: %1").arg(strengthText(strength)));
    m_strength->setAccessibleName(m_strength->text());
    checkStrength(m_strengths, strength);
    m_strength->updateGeometry();
    m_strength->update();
}

void TitleBar::setStrengthShown(bool shown) {
    m_strengthShown = shown;
    m_strength->setVisible(shown && width() > ems(26));
}

void TitleBar::setMemory(const QString& text, NoticeKind kind, const QString& why) {
    m_memory->set(text, kind, why);
}

void TitleBar::setPanelPossible(bool possible) {
    m_panel->setVisible(possible);
}

void TitleBar::setSidesShown(bool sidebar, bool panel) {
    m_sidebar->setIcon(icon("sidebar", sidebar ? &Colours::accent : &Colours::muted));
    m_panel->setIcon(icon("panel", panel ? &Colours::accent : &Colours::muted));
}

QWidget* TitleBar::firstControl() const {
    return m_strength->isVisible() ? static_cast<QWidget*>(m_strength) : m_sidebar;
}

void TitleBar::resizeEvent(QResizeEvent*) {
    // The strength stands in the composer too; a narrow title bar leaves the room to the title.
    m_strength->setVisible(m_strengthShown && width() > ems(26));
}

void TitleBar::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), colours().window);
    painter.fillRect(0, height() - 1, width(), 1, colours().line);
}

} // namespace ui

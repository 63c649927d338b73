#pragma once
// Above the middle of the window: the chat's name, its thinking strength, and how full the memory
// is.

#include "engine/chat/conversation.h"
#include "ui/notice.h"

#include <QWidget>

class QMenu;
class QToolButton;

namespace ui {

class ElidedLabel;
class MemoryDot;
class MenuButton;

class TitleBar : public QWidget {
    Q_OBJECT
public:
    explicit TitleBar(QWidget* parent);
    void setTitle(const QString& title);
    void setStrength(engine::ThinkingStrength strength);
    void setStrengthShown(bool shown);
    void setMemory(const QString& text, NoticeKind kind, const QString& why);
    void setPanelPossible(bool possible);
    void setSidesShown(bool sidebar, bool panel);
    QWidget* firstControl() const;

signals:
    void strengthChosen(engine::ThinkingStrength strength);
    void sidebarToggled();
    void panelToggled();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QToolButton* m_sidebar;
    ElidedLabel* m_title;
    MenuButton* m_strength;
    QMenu* m_strengths;
    MemoryDot* m_memory;
    QToolButton* m_panel;
    bool m_strengthShown = true;
};

} // namespace ui

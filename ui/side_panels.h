#pragma once
// The three columns of the window: chats, middle, performance. Below 900 px the outer two lie over
// the middle instead of beside it, one at a time.

#include <QByteArray>
#include <QWidget>

#include <optional>

class QSplitter;

namespace ui {

class SidePanels : public QWidget {
    Q_OBJECT
public:
    static constexpr int kNarrow = 900;     // px; narrower, the sides become overlays
    static constexpr int kPanelFrom = 1100; // px; from here the panel is open by default

    // Takes the three widgets as children.
    SidePanels(QWidget* sidebar, QWidget* middle, QWidget* panel, QWidget* parent);

    bool sidebarShown() const;
    bool panelShown() const;
    bool narrow() const { return width() < kNarrow; }

    void toggleSidebar();
    void togglePanel();
    void showSidebar();
    void setPanelPossible(bool possible); // off where there is nothing to measure
    bool closeOverlays();                 // true if one was open

    QByteArray saveState() const;
    void restoreState(const QByteArray& state);

signals:
    void changed();

protected:
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void arrange();
    void placeOverlay(QWidget* side, bool atStart);

    QWidget* m_sidebar;
    QWidget* m_middle;
    QWidget* m_panel;
    QSplitter* m_splitter;
    bool m_sidebarWanted = true;
    std::optional<bool> m_panelWanted; // empty: as wide windows have it
    QWidget* m_overlay = nullptr;      // the side that lies over the middle now
    bool m_panelPossible = true;
    int m_sidebarWidth = 264;
    int m_panelWidth = 324;
};

} // namespace ui

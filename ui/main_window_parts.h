#pragma once
// The parts of the MainWindow and how they work together. Included by the window's own files only.

#include "ui/action_table.h"
#include "ui/composer.h"
#include "ui/find_bar.h"
#include "ui/image_viewer.h"
#include "ui/main_window.h"
#include "ui/model_setup.h"
#include "ui/performance_panel.h"
#include "ui/side_panels.h"
#include "ui/sidebar.h"
#include "ui/status_line.h"
#include "ui/title_bar.h"
#include "ui/transcript_view.h"

#include <QCoreApplication>
#include <QLabel>
#include <QStackedWidget>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

namespace ui {

class MainWindow::Private : public QObject {
    Q_DECLARE_TR_FUNCTIONS(ui::MainWindow)
public:
    static constexpr double kComposerShare = 0.4; // of the window's height, at most

    explicit Private(MainWindow* window) : QObject(window), q(window) {}

    MainWindow* q;
    ActionSet* actions = nullptr;
    SidePanels* sides = nullptr;
    Sidebar* sidebar = nullptr;
    PerformancePanel* panel = nullptr;
    TitleBar* title = nullptr;
    QVBoxLayout* notices = nullptr;
    QStackedWidget* pages = nullptr;
    ModelSetup* setup = nullptr;
    LoadingPage* loading = nullptr;
    QWidget* chat = nullptr;
    QVBoxLayout* composerBox = nullptr;
    FindBar* find = nullptr;
    TranscriptView* transcript = nullptr;
    Composer* composer = nullptr;
    StatusLine* status = nullptr;
    ImageViewer* viewer = nullptr;
    QWidget* dropHint = nullptr;
    QTimer layoutTimer;
    bool closing = false;
    bool answering = false;
    bool loaded = false;

    void build();
    void connectAll();
    void carryOut(ActionId id, bool checked);
    bool edit(ActionId id);
    void nextArea(int step);
    void findInChat(int step);
    void enableActions();
    void fitComposer() {
        composer->setMaxHeight(int(q->height() * kComposerShare));
        const int side = q->width() < 700 ? 12 : 24;
        composerBox->setContentsMargins(side, 4, side, 14);
    }
    void showSides() {
        actions->setChecked(ActionId::Sidebar, sides->sidebarShown());
        actions->setChecked(ActionId::Performance, sides->panelShown());
        title->setSidesShown(sides->sidebarShown(), sides->panelShown());
    }
    void chooseZoom(int percent) {
        percent = std::clamp(percent, kMinTextZoom, kMaxTextZoom);
        if (percent == textZoom()) return;
        applyTextZoom(percent);
        emit q->textZoomChosen(percent);
    }
    void chooseTheme(ThemeChoice choice) {
        applyTheme(choice);
        emit q->themeChosen(choice);
    }
};

} // namespace ui

#pragma once
// The window: menu bar, sidebar, title bar, the middle (set-up, loading or chat), performance
// panel, status line. It arranges, carries out the Handler::Window rows of the action table, and
// passes everything else on as the signals of its parts. Owns all its parts.

#include "engine/chat/conversation.h"
#include "ui/action_table.h"
#include "ui/notice.h"
#include "ui/theme.h"

#include <QMainWindow>

namespace ui {

class Composer;
class LoadingPage;
class ModelSetup;
class PerformancePanel;
class Sidebar;
class StatusLine;
class TranscriptView;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    enum class Page { Setup, Loading, Chat };

    explicit MainWindow(QWidget* parent = nullptr);
    ~MainWindow() override;

    ActionSet& actionSet();
    Sidebar& sidebar();
    TranscriptView& transcript();
    Composer& composer();
    PerformancePanel& panel();
    ModelSetup& setup();
    LoadingPage& loading();
    StatusLine& statusLine();

    void showPage(Page page);
    Page page() const;

    // Title bar of the chat.
    void setTitle(const QString& title);
    void setStrength(engine::ThinkingStrength strength); // menu, title bar and composer
    void setDraftLength(engine::DraftLength length);     // menu
    // "18.9 of 24 GiB"; kind Warning or Bad colours the dot, and the tooltip says why.
    void setMemoryDot(const QString& text, NoticeKind kind, const QString& why = {});

    // Bars above the transcript; replaced by id.
    void showNotice(const Notice& notice);
    void hideNotice(const QString& id);

    void showPicture(const QImage& image, const QString& name);
    // Text of the person for the model, for this chat; the answer is instructionsChosen.
    void editInstructions(const QString& text);

    // Sets the answering state of transcript, composer and menus.
    void setAnswering(bool answering);
    // Which menu rows make sense now.
    void setModelLoaded(bool loaded);

    // Geometry, splitters, what is shown: opaque, stored by app, checked against the screens
    // present.
    QByteArray saveLayout() const;
    void restoreLayout(const QByteArray& layout); // an empty or foreign value gives the default

    // closeEvent only wishes; after the answer and the disk are done app calls this.
    void finishClose();

signals:
    void actionTriggered(ui::ActionId id, bool checked); // rows of Handler::App
    void strengthChosen(engine::ThinkingStrength strength);
    void draftLengthChosen(engine::DraftLength length);
    void themeChosen(ui::ThemeChoice choice); // already applied; to be remembered
    void textZoomChosen(int percent);         // already applied; to be remembered
    void noticeRemedyWished(const QString& noticeId, const QString& remedyId);
    void noticeClosed(const QString& noticeId);
    void instructionsChosen(const QString& text);
    void layoutChanged(); // saveLayout() has something new
    void closeWished();

protected:
    void closeEvent(QCloseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void moveEvent(QMoveEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    bool
    closeTopmost(); // viewer, search, find bar, overlay: what Esc closes; false if there is none

    class Private;
    Private* d = nullptr; // a child of this widget
};

} // namespace ui

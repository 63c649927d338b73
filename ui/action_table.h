#pragma once
// The menus as one table. ActionSet makes a QAction of each row and fills the menu bar; `triggered`
// says which row was chosen. Rows of Handler::Window are carried out by MainWindow, the others by
// app. A row stands here only if its function exists.

#include <QHash>
#include <QObject>
#include <QString>

#include <span>

class QAction;
class QMenu;
class QMenuBar;

namespace ui {

enum class ActionId {
    // File
    NewChat,
    ModelFiles,
    Settings,
    Quit,
    // Edit
    Undo,
    Redo,
    Cut,
    Copy,
    Paste,
    SelectAll,
    FindInChat,
    FindNext,
    FindPrevious,
    SearchChats,
    // View
    Sidebar,
    Performance,
    StatusBar,
    ThemeSystem,
    ThemeLight,
    ThemeDark,
    TextLarger,
    TextSmaller,
    TextDefault,
    FullScreen,
    // Chat
    AttachFile,
    TryAgain,
    ContinueAnswer,
    AnswerNow,
    Stop,
    EditLast,
    PreviousVersion,
    NextVersion,
    CopyLastAnswer,
    Instructions,
    Rename,
    Pin,
    MoveToTrash,
    PreviousChat,
    NextChat,
    // Model
    ThinkingLow,
    ThinkingMedium,
    ThinkingHigh,
    ThinkingExtraHigh,
    DraftAutomatic,
    DraftOff,
    DraftShort,
    DraftMedium,
    DraftLong,
    DraftLongest,
    LoadModel,
    UnloadModel,
    // Help
    Shortcuts,
    Privacy,
    About,
};

enum class Handler { Window, App };

struct ActionRow {
    ActionId id;
    const char* key; // stable name for settings and tests
    const char*
        menu; // "File", "Model/Thinking": "/" opens a sub-menu. Translated in context "ActionTable"
    const char* text;     // Title Capitals, "…" when more input is needed
    const char* shortcut; // QKeySequence portable text; "" for none
    Handler handler;
    bool checkable = false;
    const char* group = ""; // rows of one group exclude each other
    bool separatorBefore = false;
};

std::span<const ActionRow> actionTable();

class ActionSet : public QObject {
    Q_OBJECT
public:
    // The actions belong to this object.
    explicit ActionSet(QObject* parent = nullptr);

    QAction* action(ActionId id) const;
    void fill(QMenuBar* bar) const;
    // For a row of a group: checks it without emitting `triggered`.
    void setChecked(ActionId id, bool checked);
    void setEnabled(ActionId id, bool enabled);

signals:
    void triggered(ui::ActionId id, bool checked);

private:
    QHash<int, QAction*> m_actions;
};

} // namespace ui

#include "ui/action_table.h"

#include <QAction>
#include <QActionGroup>
#include <QCoreApplication>
#include <QMenu>
#include <QMenuBar>

namespace ui {

namespace {

#define T(text) QT_TRANSLATE_NOOP("ActionTable", text)

using enum ActionId;
constexpr Handler kWindow = Handler::Window;
constexpr Handler kApp = Handler::App;

const ActionRow kRows[] = {
    {NewChat, "new-chat", T("File"), T("New Chat"), "Ctrl+N", kApp},
    {ModelFiles, "model-files", T("File"), T("Model Files…"), "", kApp},
    {Settings, "settings", T("File"), T("Settings…"), "Ctrl+,", kApp, false, "", true},
    {Quit, "quit", T("File"), T("Quit"), "Ctrl+Q", kApp, false, "", true},

    {Undo, "undo", T("Edit"), T("Undo"), "Ctrl+Z", kWindow},
    {Redo, "redo", T("Edit"), T("Redo"), "Ctrl+Shift+Z", kWindow},
    {Cut, "cut", T("Edit"), T("Cut"), "Ctrl+X", kWindow, false, "", true},
    {Copy, "copy", T("Edit"), T("Copy"), "Ctrl+C", kWindow},
    {Paste, "paste", T("Edit"), T("Paste"), "Ctrl+V", kWindow},
    {SelectAll, "select-all", T("Edit"), T("Select All"), "Ctrl+A", kWindow},
    {FindInChat, "find", T("Edit"), T("Find in Chat…"), "Ctrl+F", kWindow, false, "", true},
    {FindNext, "find-next", T("Edit"), T("Find Next"), "F3", kWindow},
    {FindPrevious, "find-previous", T("Edit"), T("Find Previous"), "Shift+F3", kWindow},
    {SearchChats, "search", T("Edit"), T("Search All Chats…"), "Ctrl+K", kWindow},

    {Sidebar, "sidebar", T("View"), T("Sidebar"), "Ctrl+B", kWindow, true},
    {Performance, "performance", T("View"), T("Performance"), "F9", kWindow, true},
    {StatusBar, "status-bar", T("View"), T("Status Bar"), "", kWindow, true},
    {ThemeSystem, "theme-system", T("View/Theme"), T("Like the System"), "", kWindow, true, "theme",
     true},
    {ThemeLight, "theme-light", T("View/Theme"), T("Light"), "", kWindow, true, "theme"},
    {ThemeDark, "theme-dark", T("View/Theme"), T("Dark"), "", kWindow, true, "theme"},
    {TextLarger, "text-larger", T("View"), T("Larger Text"), "Ctrl++", kWindow, false, "", true},
    {TextSmaller, "text-smaller", T("View"), T("Smaller Text"), "Ctrl+-", kWindow},
    {TextDefault, "text-default", T("View"), T("Default Text"), "Ctrl+0", kWindow},
    {FullScreen, "full-screen", T("View"), T("Full Screen"), "F11", kWindow, true, "", true},

    {AttachFile, "attach", T("Chat"), T("Attach File…"), "Ctrl+O", kWindow},
    {TryAgain, "try-again", T("Chat"), T("Try Again"), "Ctrl+R", kApp, false, "", true},
    {ContinueAnswer, "continue", T("Chat"), T("Continue"), "Ctrl+Shift+R", kApp},
    {AnswerNow, "answer-now", T("Chat"), T("Answer Now"), "", kApp},
    {Stop, "stop", T("Chat"), T("Stop"), "Esc", kApp},
    {EditLast, "edit-last", T("Chat"), T("Edit Last Message"), "Ctrl+Up", kApp, false, "", true},
    {PreviousVersion, "previous-version", T("Chat"), T("Previous Version"), "Alt+Left", kApp},
    {NextVersion, "next-version", T("Chat"), T("Next Version"), "Alt+Right", kApp},
    {CopyLastAnswer, "copy-answer", T("Chat"), T("Copy Last Answer"), "Ctrl+Shift+C", kWindow},
    {Instructions, "instructions", T("Chat"), T("Instructions…"), "", kApp, false, "", true},
    {Rename, "rename", T("Chat"), T("Rename"), "F2", kWindow},
    {Pin, "pin", T("Chat"), T("Pin"), "", kApp, true},
    {MoveToTrash, "trash", T("Chat"), T("Move to Trash"), "", kApp},
    {PreviousChat, "previous-chat", T("Chat"), T("Previous Chat"), "Ctrl+PgUp", kWindow, false, "",
     true},
    {NextChat, "next-chat", T("Chat"), T("Next Chat"), "Ctrl+PgDown", kWindow},

    {ThinkingLow, "thinking-low", T("Model/Thinking"), T("Low – Quick"), "", kWindow, true,
     "thinking"},
    {ThinkingMedium, "thinking-medium", T("Model/Thinking"), T("Medium"), "", kWindow, true,
     "thinking"},
    {ThinkingHigh, "thinking-high", T("Model/Thinking"), T("High"), "", kWindow, true, "thinking"},
    {ThinkingExtraHigh, "thinking-xhigh", T("Model/Thinking"), T("Extra High – Slow and Thorough"),
     "", kWindow, true, "thinking"},
    {DraftAutomatic, "draft-auto", T("Model/Draft Length"), T("Automatic (Recommended)"), "",
     kWindow, true, "draft"},
    {DraftOff, "draft-off", T("Model/Draft Length"), T("Off"), "", kWindow, true, "draft"},
    {DraftShort, "draft-short", T("Model/Draft Length"), T("Short (4)"), "", kWindow, true,
     "draft"},
    {DraftMedium, "draft-medium", T("Model/Draft Length"), T("Medium (8)"), "", kWindow, true,
     "draft"},
    {DraftLong, "draft-long", T("Model/Draft Length"), T("Long (12)"), "", kWindow, true, "draft"},
    {DraftLongest, "draft-longest", T("Model/Draft Length"), T("Longest (15)"), "", kWindow, true,
     "draft"},
    {LoadModel, "load", T("Model"), T("Load"), "", kApp, false, "", true},
    {UnloadModel, "unload", T("Model"), T("Unload and Free Memory"), "", kApp},

    {Shortcuts, "shortcuts", T("Help"), T("Keyboard Shortcuts"), "", kWindow},
    {Privacy, "privacy", T("Help"), T("How Private Is This?"), "", kApp},
    {About, "about", T("Help"), T("About Glint"), "", kWindow, false, "", true},
};

#undef T

QString translated(const char* text) {
    return QCoreApplication::translate("ActionTable", text);
}

} // namespace

std::span<const ActionRow> actionTable() {
    return kRows;
}

ActionSet::ActionSet(QObject* parent) : QObject(parent) {
    QHash<QString, QActionGroup*> groups;
    for (const ActionRow& row : kRows) {
        auto* action = new QAction(translated(row.text), this);
        action->setObjectName(row.key);
        action->setCheckable(row.checkable);
        if (*row.shortcut)
            action->setShortcut(QKeySequence(row.shortcut, QKeySequence::PortableText));
        if (*row.group) {
            QActionGroup*& group = groups[row.group];
            if (!group) group = new QActionGroup(this);
            group->addAction(action);
        }
        connect(action, &QAction::triggered, this,
                [this, id = row.id](bool checked) { emit triggered(id, checked); });
        m_actions.insert(int(row.id), action);
    }
}

QAction* ActionSet::action(ActionId id) const {
    return m_actions.value(int(id));
}

void ActionSet::fill(QMenuBar* bar) const {
    QHash<QString, QMenu*> menus;
    const auto menuAt = [&](const QString& path, bool separatorBefore) {
        QMenu* menu = nullptr;
        const QStringList parts = path.split('/');
        for (int i = 0; i < parts.size(); ++i) {
            QMenu*& next = menus[parts.mid(0, i + 1).join('/')];
            if (!next) {
                if (menu && separatorBefore) menu->addSeparator();
                next = menu ? menu->addMenu(parts[i]) : bar->addMenu(parts[i]);
                next->setObjectName("menu " + parts[i]);
            }
            menu = next;
        }
        return menu;
    };
    for (const ActionRow& row : kRows) {
        const QString path = translated(row.menu);
        const bool opensSubMenu = !menus.contains(path) && path.contains('/');
        QMenu* menu = menuAt(path, row.separatorBefore);
        if (row.separatorBefore && !opensSubMenu) menu->addSeparator();
        menu->addAction(action(row.id));
    }
}

void ActionSet::setChecked(ActionId id, bool checked) {
    action(id)->setChecked(checked);
}
void ActionSet::setEnabled(ActionId id, bool enabled) {
    action(id)->setEnabled(enabled);
}

} // namespace ui

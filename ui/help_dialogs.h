#pragma once
// Small dialogs that only tell or ask for text. None blocks the program; each deletes itself when
// closed.

#include <QString>

#include <functional>

class QWidget;

namespace ui {

class ActionSet;

void showShortcuts(QWidget* parent, const ActionSet& actions);
void showAbout(QWidget* parent);
// The person's instructions for one chat.
void askInstructions(QWidget* parent, const QString& text,
                     const std::function<void(const QString&)>& chosen);

} // namespace ui

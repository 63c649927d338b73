#pragma once
// The thinking strengths in words, and a menu of them, for composer, title bar and settings.

#include "engine/chat/conversation.h"

#include <QString>

#include <functional>

class QMenu;
class QWidget;

namespace ui {

QString strengthText(engine::ThinkingStrength strength); // "Medium"
QMenu* strengthMenu(QWidget* parent, const std::function<void(engine::ThinkingStrength)>& chosen);
void checkStrength(QMenu* menu, engine::ThinkingStrength strength);

} // namespace ui

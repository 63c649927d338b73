#include "ui/strength_menu.h"

#include <QActionGroup>
#include <QCoreApplication>
#include <QMenu>

namespace ui {

namespace {

QString say(const char* text) {
    return QCoreApplication::translate("ui::StrengthMenu", text);
}

struct StrengthText {
    engine::ThinkingStrength strength;
    const char* shortText;
    const char* longText;
};

const StrengthText kStrengths[] = {
    {engine::ThinkingStrength::Low, QT_TRANSLATE_NOOP("ui::StrengthMenu", "Low"),
     QT_TRANSLATE_NOOP("ui::StrengthMenu", "Low – Quick")},
    {engine::ThinkingStrength::Medium, QT_TRANSLATE_NOOP("ui::StrengthMenu", "Medium"),
     QT_TRANSLATE_NOOP("ui::StrengthMenu", "Medium")},
    {engine::ThinkingStrength::High, QT_TRANSLATE_NOOP("ui::StrengthMenu", "High"),
     QT_TRANSLATE_NOOP("ui::StrengthMenu", "High")},
    {engine::ThinkingStrength::ExtraHigh, QT_TRANSLATE_NOOP("ui::StrengthMenu", "Extra high"),
     QT_TRANSLATE_NOOP("ui::StrengthMenu", "Extra High – Slow and Thorough")},
};

} // namespace

QString strengthText(engine::ThinkingStrength strength) {
    for (const StrengthText& row : kStrengths)
        if (row.strength == strength) return say(row.shortText);
    return {};
}

QMenu* strengthMenu(QWidget* parent, const std::function<void(engine::ThinkingStrength)>& chosen) {
    auto* menu = new QMenu(parent);
    auto* group = new QActionGroup(menu);
    for (const StrengthText& row : kStrengths) {
        QAction* action = menu->addAction(say(row.longText));
        action->setCheckable(true);
        action->setData(int(row.strength));
        group->addAction(action);
        QObject::connect(action, &QAction::triggered, menu,
                         [chosen, strength = row.strength] { chosen(strength); });
    }
    return menu;
}

void checkStrength(QMenu* menu, engine::ThinkingStrength strength) {
    const QList<QAction*> actions = menu->actions();
    for (QAction* action : actions) action->setChecked(action->data().toInt() == int(strength));
}

} // namespace ui

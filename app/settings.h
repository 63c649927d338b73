#pragma once
// What is remembered between starts, apart from chats: an ini file in the data folder. Every key is
// typed, and a value that makes no sense reads as the default.
//
// GUI thread.

#include "engine/runtime/engine.h"
#include "ui/plan_card.h"
#include "ui/settings_dialog.h"

#include <QByteArray>
#include <QSettings>
#include <QString>

namespace app {

class Settings {
public:
    explicit Settings(const QString& iniFile);

    ui::SettingsValues values() const;
    void setValues(const ui::SettingsValues& values);

    QByteArray windowLayout() const;
    void setWindowLayout(const QByteArray& layout);

    qint64 openChat() const; // 0: none
    void setOpenChat(qint64 chatId);

    engine::ModelFiles modelFiles() const; // empty paths: none
    void setModelFiles(const engine::ModelFiles& files);

    // contextTokens 0: as many as fit.
    ui::PlanChoice plan() const;
    void setPlan(const ui::PlanChoice& plan);

    // Sentences that are said once.
    bool wasSaid(const QString& what) const;
    void setSaid(const QString& what);

private:
    mutable QSettings m_ini;
};

} // namespace app

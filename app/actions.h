#pragma once
// What the menu rows of Handler::App do: one table from the row to its handler.
//
// GUI thread. Everything passed to the constructor outlives this object.

#include "ui/action_table.h"

#include <QHash>
#include <QObject>

#include <functional>

namespace ui {
class MainWindow;
}

namespace app {

class ChatController;
class ModelController;

class Actions : public QObject {
    Q_OBJECT
public:
    Actions(ui::MainWindow& window, ChatController& chat, ModelController& models,
            QObject* parent = nullptr);

    bool handles(ui::ActionId id) const { return m_handlers.contains(int(id)); }

signals:
    void settingsWished();
    void quitWished();
    void privacyWished();

private:
    void add(ui::ActionId id, std::function<void()> handler) {
        m_handlers.insert(int(id), std::move(handler));
    }

    QHash<int, std::function<void()>> m_handlers;
};

} // namespace app

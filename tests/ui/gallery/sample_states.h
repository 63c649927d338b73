#pragma once
// The states of the window that a screenshot must show, filled with sample values.

#include "ui/conversation_model.h"
#include "ui/main_window.h"

#include <QString>

#include <functional>
#include <vector>

namespace gallery {

struct Shown {
    ui::MainWindow& window;
    ui::ConversationModel& model;
};

struct SampleState {
    QString name;
    QSize size;
    ui::ThemeChoice theme = ui::ThemeChoice::Light;
    int zoom = 100;
    bool rightToLeft = false;
    std::function<void(Shown&)> fill;
};

std::vector<SampleState> sampleStates();

} // namespace gallery

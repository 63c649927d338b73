#pragma once
// Settings apply at once. A row of the dialog per value here.

#include "engine/chat/conversation.h"
#include "engine/runtime/sampler_table.h"
#include "ui/theme.h"

#include <QDialog>

namespace ui {

struct SettingsValues {
    ThemeChoice theme = ThemeChoice::System;
    int textZoom = 100; // percent
    bool enterSends = true;
    engine::ThinkingStrength strength = engine::ThinkingStrength::High; // of new chats
    engine::DraftLength draftLength;                                    // of new chats
    engine::SamplerSettings sampling;
    bool searchThinking = false; // search looks in thinking too
    int threads = 0;             // of the processor; 0: automatic
    bool operator==(const SettingsValues&) const = default;
};

class SettingsDialog : public QDialog {
    Q_OBJECT
public:
    explicit SettingsDialog(QWidget* parent = nullptr);
    void setValues(const SettingsValues& values); // emits nothing
    SettingsValues values() const;

signals:
    void valuesChanged(const ui::SettingsValues& values);

private:
    class Private;
    Private* d = nullptr; // a child of this widget
};

} // namespace ui

#pragma once
// What people attach: read, decoded and stored on the disk thread, shown as chips with their price,
// and pictures brought to the transcript and the viewer. Also the price of the whole draft.
//
// GUI thread. Everything passed to the constructor outlives this object.

#include "app/disk_worker.h"
#include "app/engine_worker.h"
#include "app/token_counter.h"
#include "engine/model/spec.h"
#include "ui/attachment_strip.h"
#include "ui/conversation_model.h"
#include "ui/main_window.h"

#include <QObject>
#include <QTimer>

#include <optional>

namespace app {

class Attachments : public QObject {
    Q_OBJECT
public:
    Attachments(ui::MainWindow& window, ui::ConversationModel& model, DiskWorker& disk,
                QObject* parent = nullptr);

    // Which model will read the pictures; empty: none is loaded, and prices are not known.
    void setModel(const std::optional<LoadedModel>& model);
    // The composer shows another chat's draft: its chips want their thumbnails.
    void showDraftChips();

private:
    void attach(ui::AttachmentChip chip, const engine::Result<Disk::Attached>& attached);
    void setPrice(ui::AttachmentChip& chip) const;
    void countDraft();
    void bringPicture(const QString& sha256);
    void openPicture(const QString& sha256, const QString& name);

    ui::MainWindow& m_window;
    ui::ConversationModel& m_model;
    DiskWorker& m_disk;
    TokenCounter m_counter;
    std::optional<engine::VisionSpec> m_vision;
    QTimer m_countTimer; // the price follows the typing after a short rest
};

// How a picture of this size is read: its tokens, and the percentage to which its sides shrink
// (100: none).
struct PicturePrice {
    int tokens = 0;
    int percent = 100;
};
PicturePrice picturePrice(int width, int height, const engine::VisionSpec& spec);

} // namespace app

#include "app/attachments.h"

#include "app/error_text.h"
#include "engine/model/image_patches.h"
#include "ui/composer.h"
#include "ui/transcript_view.h"

#include <QFileInfo>

#include <algorithm>
#include <climits>
#include <cmath>

namespace app {

using engine::Result;
using PictureResult = Result<std::shared_ptr<const engine::RgbImage>>;

namespace {

constexpr int kTranscriptSide = 1024; // pixels, see ConversationModel::setPicture
constexpr int kThumbnailSide = 192;
constexpr int kViewerSide = 16384;
constexpr int kCountDelayMilliseconds = 150;

// A picture made small on the disk thread; null if it cannot be read.
QImage shrunkPicture(Disk& disk, const std::string& sha256, int side) {
    const PictureResult picture = disk.picture(sha256);
    return picture.ok() ? shrunkCopy(*picture.value(), side) : QImage();
}

} // namespace

PicturePrice picturePrice(int width, int height, const engine::VisionSpec& spec) {
    PicturePrice price;
    price.tokens = static_cast<int>(engine::imageTokens({width, height}, spec));
    // Rounding to whole cells also changes the size a little; said is what the bound takes away.
    const auto grid = [&](int maxCells) {
        return engine::gridSize({width, height}, spec.cellPixels(), maxCells);
    };
    if (const engine::PixelSize bounded = grid(spec.maxCells); bounded != grid(INT_MAX)) {
        const double kept =
            std::min(double(bounded.width) / width, double(bounded.height) / height);
        price.percent = std::clamp(static_cast<int>(std::lround(kept * 100)), 1, 99);
    }
    return price;
}

Attachments::Attachments(ui::MainWindow& window, ui::ConversationModel& model, DiskWorker& disk,
                         QObject* parent)
    : QObject(parent), m_window(window), m_model(model), m_disk(disk) {
    ui::Composer& composer = window.composer();
    connect(&composer, &ui::Composer::attachFileWished, this, [this](int id, const QString& path) {
        ui::AttachmentChip chip;
        chip.id = id;
        chip.name = QFileInfo(path).fileName();
        m_disk.ask(
            this, [path](Disk& room) { return room.attachFile(path); },
            [this, chip](const Result<Disk::Attached>& attached) { attach(chip, attached); });
    });
    connect(
        &composer, &ui::Composer::attachImageWished, this,
        [this](int id, const QImage& image, const QString& name) {
            ui::AttachmentChip chip;
            chip.id = id;
            chip.name = name;
            m_disk.ask(
                this, [image, name](Disk& room) { return room.attachImage(image, name); },
                [this, chip](const Result<Disk::Attached>& attached) { attach(chip, attached); });
        });
    m_countTimer.setSingleShot(true);
    m_countTimer.setInterval(kCountDelayMilliseconds);
    connect(&m_countTimer, &QTimer::timeout, this, &Attachments::countDraft);
    connect(&composer, &ui::Composer::draftChanged, &m_countTimer, qOverload<>(&QTimer::start));
    connect(&composer, &ui::Composer::sendWished, &m_countTimer, qOverload<>(&QTimer::start));
    connect(&composer, &ui::Composer::draftSet, this, &Attachments::showDraftChips);
    connect(&m_counter, &TokenCounter::counted, this, [this](int textTokens) {
        if (textTokens < 0) {
            m_window.composer().setTokenPrice(-1);
            return;
        }
        int tokens = textTokens;
        for (const engine::Attachment& a : m_window.composer().draft().attachments) {
            if (m_vision && a.width > 0 && a.height > 0)
                tokens += picturePrice(a.width, a.height, *m_vision).tokens;
        }
        m_window.composer().setTokenPrice(tokens);
    });

    ui::TranscriptView& transcript = window.transcript();
    connect(&transcript, &ui::TranscriptView::pictureWanted, this, &Attachments::bringPicture);
    connect(&transcript, &ui::TranscriptView::pictureChosen, this, &Attachments::openPicture);
}

void Attachments::setModel(const std::optional<LoadedModel>& model) {
    m_vision = model ? model->vision : std::nullopt;
    m_counter.setModel(model ? model->files.target : std::filesystem::path());
    showDraftChips();
}

void Attachments::attach(ui::AttachmentChip chip, const Result<Disk::Attached>& attached) {
    if (!attached.ok()) {
        chip.state = ui::AttachmentChip::State::Failed;
        chip.problem = errorText(attached.error(), Doing::Attaching);
    } else {
        chip.state = ui::AttachmentChip::State::Ready;
        chip.attachment = attached->attachment;
        chip.thumbnail = attached->thumbnail;
        chip.text = attached->text;
        setPrice(chip);
    }
    m_window.composer().setChip(chip);
    m_countTimer.start();
}

void Attachments::setPrice(ui::AttachmentChip& chip) const {
    if (!m_vision || chip.attachment.width <= 0 || chip.attachment.height <= 0) return;
    const PicturePrice price =
        picturePrice(chip.attachment.width, chip.attachment.height, *m_vision);
    chip.tokens = price.tokens;
    chip.shrunkPercent = price.percent;
}

void Attachments::showDraftChips() {
    for (const engine::Attachment& attachment : m_window.composer().draft().attachments) {
        m_disk.ask(
            this,
            [hash = attachment.sha256](Disk& disk) {
                return shrunkPicture(disk, hash, kThumbnailSide);
            },
            [this, attachment](const QImage& thumbnail) {
                ui::AttachmentChip chip;
                chip.id = m_window.composer().chipOf(QString::fromStdString(attachment.sha256));
                if (chip.id < 0) return; // removed, or another chat is open
                chip.name = QString::fromStdString(attachment.fileName);
                chip.state = ui::AttachmentChip::State::Ready;
                chip.attachment = attachment;
                chip.thumbnail = thumbnail;
                setPrice(chip);
                m_window.composer().setChip(chip);
            });
    }
    m_countTimer.start();
}

void Attachments::countDraft() {
    m_counter.count(m_window.composer().draft().fullText());
}

void Attachments::bringPicture(const QString& sha256) {
    m_disk.ask(
        this,
        [hash = sha256.toStdString()](Disk& disk) {
            return shrunkPicture(disk, hash, kTranscriptSide);
        },
        [this, sha256](const QImage& image) {
            if (!image.isNull()) m_model.setPicture(sha256, image);
        });
}

void Attachments::openPicture(const QString& sha256, const QString& name) {
    m_disk.ask(
        this,
        [hash = sha256.toStdString()](Disk& disk) {
            return shrunkPicture(disk, hash, kViewerSide);
        },
        [this, name](const QImage& image) {
            if (!image.isNull()) m_window.showPicture(image, name);
        });
}

} // namespace app

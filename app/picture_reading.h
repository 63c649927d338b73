#pragma once
// Pictures from foreign bytes: the engine's own decoder first, then Qt's image plug-ins for what it
// does not know; both arrive as the same upright RGB8 on white. What a file is, its contents say
// and never its name.
//
// Pure functions. Disk thread, since decoding takes time.

#include "engine/base/result.h"
#include "engine/model/image.h"

#include <QByteArray>
#include <QImage>
#include <QString>

#include <cstddef>
#include <memory>
#include <span>

namespace app {

struct ReadPicture {
    std::shared_ptr<const engine::RgbImage> image;
    QString mimeType;
};

// Unsupported with the format's name as message ("HEIC") when it is a picture that no decoder here
// reads.
engine::Result<ReadPicture> readPicture(std::span<const std::byte> bytes);

// "HEIC", "AVIF", "WebP", "PDF", ... by the first bytes; empty if they are of none of these.
QString formatByContent(std::span<const std::byte> bytes);

// At most `side` pixels wide and high. Owns its pixels.
QImage shrunkCopy(const engine::RgbImage& image, int side);

// As PNG, for pictures that come from the clipboard and have no file.
QByteArray pngBytes(const QImage& image);

} // namespace app

#include "app/picture_reading.h"

#include <QBuffer>
#include <QImageReader>
#include <QPainter>

#include <array>
#include <cstring>
#include <string_view>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;
using engine::RgbImage;

namespace {

// What Qt's plug-ins may take for one picture; the engine's decoder has the same limit.
constexpr int kQtAllocationMebibytes = 1024;

std::string_view headOf(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 4096)};
}

QString isoMediaFormat(std::string_view head) {
    if (head.size() < 12 || head.substr(4, 4) != "ftyp") return {};
    const std::string_view brand = head.substr(8, 4);
    if (brand == "avif" || brand == "avis") return QStringLiteral("AVIF");
    for (const std::string_view heic :
         {"heic", "heix", "hevc", "hevx", "heim", "heis", "mif1", "msf1"}) {
        if (brand == heic) return QStringLiteral("HEIC");
    }
    return QStringLiteral("MP4");
}

bool looksLikeSvg(std::string_view head) {
    const std::size_t at = head.find_first_not_of("\xef\xbb\xbf \t\r\n");
    if (at == std::string_view::npos || head[at] != '<') return false;
    return head.find("<svg") != std::string_view::npos;
}

// Lays what is transparent over white, as the engine's decoder does.
std::shared_ptr<const RgbImage> toRgb(const QImage& decoded) {
    QImage flat(decoded.size(), QImage::Format_RGB888);
    flat.fill(Qt::white);
    QPainter painter(&flat);
    painter.drawImage(0, 0, decoded);
    painter.end();
    auto image = std::make_shared<RgbImage>();
    image->width = flat.width();
    image->height = flat.height();
    const std::size_t rowBytes = static_cast<std::size_t>(flat.width()) * 3;
    image->pixels.resize(rowBytes * static_cast<std::size_t>(flat.height()));
    for (int y = 0; y < flat.height(); ++y) {
        std::memcpy(image->pixels.data() + static_cast<std::size_t>(y) * rowBytes,
                    flat.constScanLine(y), rowBytes);
    }
    return image;
}

Result<ReadPicture> readWithQt(std::span<const std::byte> bytes, const Error& engineError) {
    QByteArray view = QByteArray::fromRawData(reinterpret_cast<const char*>(bytes.data()),
                                              static_cast<qsizetype>(bytes.size()));
    QBuffer buffer(&view);
    QImageReader::setAllocationLimit(kQtAllocationMebibytes);
    QImageReader reader(&buffer);
    reader.setDecideFormatFromContent(true);
    reader.setAutoTransform(true);
    const QString format = formatByContent(bytes);
    if (!reader.canRead()) {
        if (!format.isEmpty()) return Error{ErrorCode::Unsupported, format.toStdString()};
        return engineError;
    }
    const QSize size = reader.size();
    if (qint64(size.width()) * size.height() > engine::kMaxImagePixels) {
        return Error{ErrorCode::InvalidFile, "the picture has more than 100 million pixels"};
    }
    const QImage decoded = reader.read();
    if (decoded.isNull()) return Error{ErrorCode::InvalidFile, reader.errorString().toStdString()};
    if (qint64(decoded.width()) * decoded.height() > engine::kMaxImagePixels) {
        return Error{ErrorCode::InvalidFile, "the picture has more than 100 million pixels"};
    }
    return ReadPicture{toRgb(decoded),
                       QStringLiteral("image/") + QString::fromLatin1(reader.format().toLower())};
}

QString mimeOf(std::span<const std::byte> bytes) {
    const std::string_view head = headOf(bytes);
    if (head.starts_with("\x89PNG")) return QStringLiteral("image/png");
    if (head.starts_with("\xff\xd8")) return QStringLiteral("image/jpeg");
    if (head.starts_with("GIF8")) return QStringLiteral("image/gif");
    if (head.starts_with("BM")) return QStringLiteral("image/bmp");
    return QStringLiteral("image/x-unknown");
}

} // namespace

QString formatByContent(std::span<const std::byte> bytes) {
    const std::string_view head = headOf(bytes);
    if (head.starts_with("RIFF") && head.size() >= 12 && head.substr(8, 4) == "WEBP") {
        return QStringLiteral("WebP");
    }
    if (head.starts_with("%PDF")) return QStringLiteral("PDF");
    if (head.starts_with("II*") || head.starts_with(std::string_view("MM\0*", 4)))
        return QStringLiteral("TIFF");
    if (head.starts_with(std::string_view("\0\0\0\x0cJXL ", 8)) || head.starts_with("\xff\x0a")) {
        return QStringLiteral("JPEG XL");
    }
    if (head.starts_with(std::string_view("\0\0\1\0", 4))) return QStringLiteral("ICO");
    if (looksLikeSvg(head)) return QStringLiteral("SVG");
    return isoMediaFormat(head);
}

Result<ReadPicture> readPicture(std::span<const std::byte> bytes) {
    if (bytes.empty()) return Error{ErrorCode::InvalidFile, "the file is empty"};
    Result<RgbImage> decoded = engine::decodeImage(bytes);
    if (decoded.ok()) {
        return ReadPicture{std::make_shared<const RgbImage>(std::move(decoded.value())),
                           mimeOf(bytes)};
    }
    // What the engine's decoder knows and found broken or too large must not get a second chance to
    // fill the memory.
    if (mimeOf(bytes) != QLatin1String("image/x-unknown")) return decoded.error();
    return readWithQt(bytes, decoded.error());
}

QImage shrunkCopy(const RgbImage& image, int side) {
    const QImage view(image.pixels.data(), image.width, image.height, qsizetype(image.width) * 3,
                      QImage::Format_RGB888);
    if (image.width <= side && image.height <= side) return view.copy();
    return view.scaled(side, side, Qt::KeepAspectRatio, Qt::SmoothTransformation)
        .convertToFormat(QImage::Format_RGB888);
}

QByteArray pngBytes(const QImage& image) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    return bytes;
}

} // namespace app

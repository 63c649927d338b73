#include "app/disk_worker.h"

#include <QFile>
#include <QFileInfo>
#include <QStringDecoder>

#include <list>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;
using engine::RgbImage;

namespace {

constexpr int kThumbnailSide = 192; // shown at 96, sharp on a screen of double density
constexpr qint64 kMaxPictureFileBytes = 500'000'000;
constexpr qint64 kMaxTextFileBytes = 4'000'000;
constexpr std::size_t kDecodedBytes = 256u << 20;

std::span<const std::byte> spanOf(const QByteArray& bytes) {
    return {reinterpret_cast<const std::byte*>(bytes.constData()),
            static_cast<std::size_t>(bytes.size())};
}

// UTF-8 without NUL: what an editor would open as text.
bool isText(const QByteArray& bytes) {
    if (bytes.contains('\0')) return false;
    QStringDecoder decoder(QStringDecoder::Utf8);
    const QString decoded = decoder(bytes);
    return !decoder.hasError() && !decoded.isEmpty();
}

} // namespace

// The latest decoded pictures, so that a long chat does not decode all of its pictures for each
// answer.
class DecodedPictures {
public:
    std::shared_ptr<const RgbImage> find(const std::string& sha256) {
        for (auto entry = m_entries.begin(); entry != m_entries.end(); ++entry) {
            if (entry->first != sha256) continue;
            m_entries.splice(m_entries.begin(), m_entries, entry);
            return entry->second;
        }
        return nullptr;
    }
    void insert(const std::string& sha256, std::shared_ptr<const RgbImage> image) {
        m_bytes += image->pixels.size();
        m_entries.emplace_front(sha256, std::move(image));
        while (m_bytes > kDecodedBytes && m_entries.size() > 1) {
            m_bytes -= m_entries.back().second->pixels.size();
            m_entries.pop_back();
        }
    }

private:
    std::list<std::pair<std::string, std::shared_ptr<const RgbImage>>> m_entries; // latest first
    std::size_t m_bytes = 0;
};

Disk::Disk() : m_decoded(std::make_unique<DecodedPictures>()) {
    m_notOpen = {ErrorCode::Io, "the history is not open"};
}

Disk::~Disk() = default;

Result<Disk::OpenedHistory> Disk::openHistory(const std::filesystem::path& path) {
    Result<ConversationStore::Opened> opened = ConversationStore::open(path);
    if (!opened.ok()) {
        m_notOpen = opened.error();
        return opened.error();
    }
    Result<std::vector<ChatSummary>> chats = opened->store->chats();
    if (!chats.ok()) {
        m_notOpen = chats.error();
        return chats.error();
    }
    m_store = std::move(opened->store);
    return OpenedHistory{opened->setAside, opened->interruptedAnswers, std::move(chats.value())};
}

Error Disk::notOpen() const {
    return m_notOpen;
}

Result<Disk::Attached> Disk::attachFile(const QString& path) {
    QFile file(path);
    const QFileInfo info(path);
    if (info.isDir()) return Error{ErrorCode::Unsupported, "a folder cannot be attached"};
    if (!file.open(QIODevice::ReadOnly))
        return Error{ErrorCode::Io, file.errorString().toStdString()};
    if (file.size() > kMaxPictureFileBytes) {
        return Error{ErrorCode::Unsupported, "the file is larger than 500 MB"};
    }
    const QByteArray bytes = file.readAll();
    if (file.error() != QFile::NoError)
        return Error{ErrorCode::Io, file.errorString().toStdString()};
    const bool couldBeText =
        bytes.size() <= kMaxTextFileBytes && formatByContent(spanOf(bytes)).isEmpty();
    if (couldBeText && isText(bytes)) {
        Attached attached;
        attached.text = QString::fromUtf8(bytes);
        return attached;
    }
    return attachBytes(spanOf(bytes), info.fileName());
}

Result<Disk::Attached> Disk::attachImage(const QImage& image, const QString& name) {
    const QByteArray bytes = pngBytes(image);
    return attachBytes(spanOf(bytes), name);
}

Result<Disk::Attached> Disk::attachBytes(std::span<const std::byte> bytes, const QString& name) {
    Result<ReadPicture> picture = readPicture(bytes);
    if (!picture.ok()) return picture.error();
    if (!m_store) return notOpen();
    Result<std::string> hash = m_store->saveBytes(bytes);
    if (!hash.ok()) return hash.error();
    Attached attached;
    attached.attachment.sha256 = hash.value();
    attached.attachment.fileName = name.toStdString();
    attached.attachment.mimeType = picture->mimeType.toStdString();
    attached.attachment.bytes = static_cast<std::int64_t>(bytes.size());
    attached.attachment.width = picture->image->width;
    attached.attachment.height = picture->image->height;
    attached.thumbnail = shrunkCopy(*picture->image, kThumbnailSide);
    if (!m_decoded->find(hash.value())) m_decoded->insert(hash.value(), picture->image);
    return attached;
}

Result<std::shared_ptr<const RgbImage>> Disk::picture(const std::string& sha256) {
    if (auto found = m_decoded->find(sha256)) return found;
    if (!m_store) return notOpen();
    Result<std::vector<std::byte>> bytes = m_store->bytes(sha256);
    if (!bytes.ok()) return bytes.error();
    Result<ReadPicture> picture = readPicture(bytes.value());
    if (!picture.ok()) return picture.error();
    m_decoded->insert(sha256, picture->image);
    return picture->image;
}

DiskWorker::DiskWorker(QObject* parent) : QObject(parent), m_disk(new Disk) {
    m_thread.setObjectName(QStringLiteral("disk"));
    m_disk->moveToThread(&m_thread);
    connect(&m_thread, &QThread::finished, m_disk, &QObject::deleteLater);
    m_thread.start();
}

DiskWorker::~DiskWorker() {
    // The last request: it comes after everything that was asked before, so that nothing is
    // dropped.
    QMetaObject::invokeMethod(
        m_disk, [] { QThread::currentThread()->quit(); }, Qt::QueuedConnection);
    m_thread.wait();
}

} // namespace app

#pragma once
// The disk thread: it owns the one connection to the history, reads and decodes what people attach,
// and makes pictures small for display. Requests are carried out in the order they were made;
// values travel both ways and nothing that lives on one thread is seen from the other.
//
// GUI thread. Destroying it carries out everything that was asked before (flush), then ends the
// thread.

#include "app/picture_reading.h"
#include "app/store/conversation_store.h"
#include "engine/base/result.h"
#include "engine/chat/conversation.h"

#include <QImage>
#include <QObject>
#include <QPointer>
#include <QString>
#include <QThread>

#include <filesystem>
#include <memory>
#include <type_traits>
#include <utility>

namespace app {

class DecodedPictures;

// What lives on the disk thread. Methods are called there only.
class Disk : public QObject {
public:
    Disk();
    ~Disk() override;

    struct OpenedHistory {
        std::filesystem::path setAside; // see ConversationStore::Opened
        int interruptedAnswers = 0;
        std::vector<ChatSummary> chats;
    };
    engine::Result<OpenedHistory> openHistory(const std::filesystem::path& path);
    // Null until the history is open; then every store call is answered with `notOpen`.
    ConversationStore* store() { return m_store.get(); }
    engine::Error notOpen() const;

    struct Attached {
        engine::Attachment attachment; // bytes kept in the history under its hash
        QImage thumbnail;
        QString text; // a text file: its contents; then there is no attachment
    };
    engine::Result<Attached> attachFile(const QString& path);
    engine::Result<Attached> attachImage(const QImage& image, const QString& name);
    // Decoded for the model; the latest ones are kept.
    engine::Result<std::shared_ptr<const engine::RgbImage>> picture(const std::string& sha256);

private:
    engine::Result<Attached> attachBytes(std::span<const std::byte> bytes, const QString& name);

    std::unique_ptr<ConversationStore> m_store;
    engine::Error m_notOpen;
    std::unique_ptr<DecodedPictures> m_decoded;
};

class DiskWorker : public QObject {
    Q_OBJECT
public:
    explicit DiskWorker(QObject* parent = nullptr);
    ~DiskWorker() override;

    // Runs job(Disk&) on the disk thread and then done(result) on the GUI thread, unless `context`
    // is gone by then. Both own what they use by value.
    template<class Job, class Done> void ask(QObject* context, Job job, Done done) {
        // The relay carries the answer home: it lives on the GUI thread as long as this object.
        auto relay = [this, guard = QPointer<QObject>(context),
                      done = std::move(done)](auto result) mutable {
            QMetaObject::invokeMethod(
                this,
                [guard, done = std::move(done), result = std::move(result)]() mutable {
                    if (guard) done(std::move(result));
                },
                Qt::QueuedConnection);
        };
        QMetaObject::invokeMethod(
            m_disk,
            [disk = m_disk, job = std::move(job), relay = std::move(relay)]() mutable {
                relay(job(*disk));
            },
            Qt::QueuedConnection);
    }

    // The same for calls of the store: job(ConversationStore&) returns a Result.
    template<class Job, class Done> void askStore(QObject* context, Job job, Done done) {
        ask(
            context,
            [job = std::move(job)](
                Disk& disk) mutable -> std::invoke_result_t<Job&, ConversationStore&> {
                if (!disk.store()) return disk.notOpen();
                return job(*disk.store());
            },
            std::move(done));
    }

private:
    QThread m_thread;
    Disk* m_disk; // deleted on its own thread when that ends
};

} // namespace app

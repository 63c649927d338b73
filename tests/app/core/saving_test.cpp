#include "app/chat_saver.h"
#include "app/error_text.h"
#include "app/single_instance.h"
#include "tests/app/core/core_tests.h"
#include "tests/app/result_checks.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

using namespace app;

namespace {

ChatPtr newChat() {
    const auto chat = std::make_shared<Chat>();
    chat->conversation.id = newId();
    return chat;
}

engine::Message addMessage(Chat& chat, std::string text) {
    engine::Message m;
    m.id = newId();
    m.parentId = chat.conversation.activeLeafId;
    m.text = std::move(text);
    m.createdMs = nowMs();
    chat.conversation.messages.push_back(m);
    chat.conversation.activeLeafId = m.id;
    return m;
}

} // namespace

class SavingTest : public QObject {
    Q_OBJECT

private slots:
    void whatCouldNotBeWrittenIsWrittenLater() {
        QTemporaryDir folder;
        const std::filesystem::path path =
            folder.filePath(QStringLiteral("history.db")).toStdString();
        DiskWorker disk;
        ChatSaver saver(disk);
        QSignalSpy failed(&saver, &ChatSaver::failed), recovered(&saver, &ChatSaver::recovered);
        const ChatPtr chat = newChat();
        bool told = false;
        saver.message(chat, addMessage(*chat, "first"), false, [&] { told = true; });
        QTRY_VERIFY(told); // the chat goes on although nothing is open
        QVERIFY(failed.count() >= 1);
        QVERIFY(saver.hasUnsaved());

        bool opened = false;
        disk.ask(
            this, [path](Disk& room) { return room.openHistory(path); },
            [&](const engine::Result<Disk::OpenedHistory>& result) { opened = result.ok(); });
        QTRY_VERIFY(opened);
        saver.message(chat, addMessage(*chat, "second"), false);
        saver.saveAgain();
        QTRY_COMPARE(recovered.count(), 1);
        QVERIFY(!saver.hasUnsaved());
        std::optional<engine::Conversation> stored;
        disk.askStore(
            this, [id = chat->id()](ConversationStore& store) { return store.load(id); },
            [&](const engine::Result<StoredChat>& result) {
                stored = valueOf(result).conversation;
            });
        QTRY_VERIFY(stored);
        QCOMPARE(stored->messages.size(), std::size_t(2));
        QCOMPARE(stored->messages[0].text, std::string("first"));
        QCOMPARE(stored->activeLeafId, chat->conversation.activeLeafId);
    }

    void endingTheDiskThreadCarriesOutWhatWasAsked() {
        QTemporaryDir folder;
        const std::filesystem::path path =
            folder.filePath(QStringLiteral("history.db")).toStdString();
        std::vector<std::int64_t> ids;
        {
            DiskWorker disk;
            ChatSaver saver(disk);
            disk.ask(
                this, [path](Disk& room) { return room.openHistory(path); },
                [](const engine::Result<Disk::OpenedHistory>&) {});
            const ChatPtr chat = newChat();
            saver.header(chat);
            for (int i = 0; i < 50; ++i) saver.message(chat, addMessage(*chat, "m"), false);
            ids.push_back(chat->id());
        }
        const auto opened = valueOf(ConversationStore::open(path));
        QCOMPARE(valueOf(opened.store->load(ids[0])).conversation.messages.size(), std::size_t(50));
    }

    void everyErrorIsASentence() {
        using engine::ErrorCode;
        for (const ErrorCode code :
             {ErrorCode::Io, ErrorCode::InvalidFile, ErrorCode::Unfinished, ErrorCode::Unsupported,
              ErrorCode::OutOfMemory, ErrorCode::Device, ErrorCode::Internal}) {
            for (const Doing doing : {Doing::LoadingModel, Doing::Answering, Doing::Saving,
                                      Doing::OpeningHistory, Doing::Attaching}) {
                const QString text = errorText({code, "the reason"}, doing);
                QVERIFY2(text.endsWith(QLatin1Char('.')) && text[0].isUpper(), qPrintable(text));
                QVERIFY2(!text.contains(QLatin1Char('!')), qPrintable(text));
            }
        }
        QVERIFY(errorText({ErrorCode::Cancelled, "stopped"}, Doing::Answering).isEmpty());
    }

    void aSecondStartHandsItsFilesOver() {
        QTemporaryDir folder;
        SingleInstance first(folder.path());
        QVERIFY(first.claim());
        QSignalSpy again(&first, &SingleInstance::startedAgain);
        bool handed = false;
        // The second start is another process; here it is another thread, so that the first can
        // answer.
        std::unique_ptr<QThread> second(QThread::create([&] {
            SingleInstance other(folder.path());
            handed = !other.claim() && other.handOver({QStringLiteral("/tmp/ä b.png")});
        }));
        second->start();
        QTRY_COMPARE(again.count(), 1);
        QTRY_VERIFY(second->isFinished());
        QVERIFY(handed);
        QCOMPARE(again[0][0].toStringList(), QStringList(QStringLiteral("/tmp/ä b.png")));
    }

    void aLockLeftBehindIsCleared() {
        QTemporaryDir folder;
        QFile lock(folder.filePath(QStringLiteral("lock")));
        QVERIFY(lock.open(QIODevice::WriteOnly));
        // A process that does not exist, on this computer.
        lock.write("999999999\nglint\n" + QSysInfo::machineHostName().toUtf8() + "\n");
        lock.close();
        SingleInstance instance(folder.path());
        QVERIFY(instance.claim());
    }
};

std::unique_ptr<QObject> makeSavingTest() {
    return std::make_unique<SavingTest>();
}
#include "saving_test.moc"

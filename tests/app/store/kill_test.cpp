// A child process writes to the store as the program does and tells what was acknowledged; it is
// killed at a random moment, fifty times on the same file. Afterwards the file is sound, everything
// acknowledged is there, and the answer that was growing is marked as interrupted.

#include "app/store/conversation_store.h"
#include "tests/app/result_checks.h"

#include <QCoreApplication>
#include <QProcess>
#include <QRandomGenerator>
#include <QTemporaryDir>
#include <QtTest>

#include <cstdio>
#include <map>
#include <random>

using namespace app;
using engine::Message;
using engine::MessageState;
using engine::Role;

namespace {

void acknowledge(const char* what, std::int64_t chat, std::int64_t id, const std::string& text) {
    std::printf("%s %lld %lld %s\n", what, static_cast<long long>(chat), static_cast<long long>(id),
                text.c_str());
    std::fflush(stdout);
}

// Never returns but by being killed or by an error.
int writeForEver(const std::filesystem::path& path, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto opened = ConversationStore::open(path);
    if (!opened.ok() || !opened->setAside.empty()) {
        std::printf("error opening\n");
        return 1;
    }
    ConversationStore& store = *opened->store;
    const auto words = [&](int count) {
        std::string text;
        for (int i = 0; i < count; ++i) text += "word" + std::to_string(random() % 1000) + " ";
        return text;
    };
    for (;;) {
        ChatHeader header;
        header.id = newId();
        header.title = words(3);
        if (!store.saveHeader(header).ok()) return 2;
        acknowledge("chat", header.id, 0, header.title);
        std::int64_t parent = 0;
        for (int turn = 0; turn < 3; ++turn) {
            Draft draft;
            draft.text = words(20);
            std::vector<std::byte> picture(random() % 200'000);
            for (std::byte& b : picture) b = static_cast<std::byte>(random());
            const auto hash = store.saveBytes(picture);
            if (!hash.ok()) return 3;
            draft.attachments.push_back(
                {*hash, "p.png", "image/png", std::int64_t(picture.size()), 1, 1});
            if (!store.saveDraft(header.id, draft).ok()) return 4;
            acknowledge("draft", header.id, 0, draft.text);

            Message question;
            question.id = newId();
            question.parentId = parent;
            question.text = draft.text;
            question.attachments = draft.attachments;
            if (!store.saveMessage(header.id, question, true).ok()) return 5;
            acknowledge("message", header.id, question.id, question.text);

            Message reply;
            reply.id = newId();
            reply.parentId = question.id;
            reply.role = Role::Assistant;
            reply.state = MessageState::Growing;
            if (!store.saveMessage(header.id, reply, false).ok()) return 6;
            for (int step = 0; step < 8; ++step) {
                reply.text += words(30);
                if (!store.saveAnswer(reply).ok()) return 7;
                acknowledge("answer", header.id, reply.id, reply.text);
            }
            reply.state = MessageState::Complete;
            if (!store.saveAnswer(reply).ok()) return 8;
            acknowledge("done", header.id, reply.id, reply.text);
            parent = reply.id;
        }
    }
}

struct Acknowledged {
    std::map<std::int64_t, std::map<std::int64_t, std::string>> messages; // chat, message: text
    std::map<std::int64_t, std::string> drafts;                           // chat: text
    std::map<std::int64_t, bool> done;                                    // message
    int lines = 0;
};

} // namespace

class KillTest : public QObject {
    Q_OBJECT

private slots:
    void nothingAcknowledgedIsLost() {
        QTemporaryDir folder;
        const std::filesystem::path path =
            std::filesystem::path(folder.path().toStdString()) / "history.db";
        const quint32 seed = QRandomGenerator::global()->generate();
        qInfo("seed %u", seed);
        std::mt19937 random(seed);
        int interrupted = 0, acknowledgedLines = 0;
        for (int round = 0; round < 50; ++round) {
            Acknowledged known;
            QProcess child;
            child.setProcessChannelMode(QProcess::SeparateChannels);
            child.start(QCoreApplication::applicationFilePath(),
                        {QStringLiteral("--write"), QString::fromStdString(path.string()),
                         QString::number(random())});
            QVERIFY(child.waitForStarted());
            // Also so early that the store is still being opened.
            const int lifeMs = static_cast<int>(random() % 280);
            QVERIFY(!child.waitForFinished(lifeMs)); // it ends by itself only on an error
            child.kill();
            QVERIFY(child.waitForFinished());
            const QByteArray output = child.readAllStandardOutput();
            const qsizetype end = output.lastIndexOf('\n');
            for (const QByteArray& line : output.left(std::max<qsizetype>(end, 0)).split('\n')) {
                if (line.isEmpty()) continue;
                const QList<QByteArray> parts = line.split(' ');
                const QByteArray kind = parts[0];
                const std::int64_t chat = parts[1].toLongLong(), id = parts[2].toLongLong();
                const std::string text =
                    line.mid(kind.size() + parts[1].size() + parts[2].size() + 3).toStdString();
                if (kind == "draft") known.drafts[chat] = text;
                if (kind == "message") known.drafts.erase(chat);
                if (kind == "message" || kind == "answer" || kind == "done")
                    known.messages[chat][id] = text;
                if (kind == "done") known.done[id] = true;
                if (kind == "chat") known.messages[chat];
                ++known.lines;
            }
            acknowledgedLines += known.lines;

            const auto opened = valueOf(ConversationStore::open(path));
            QVERIFY(opened.setAside.empty());
            REQUIRE_OK(opened.store->checkIntegrity());
            interrupted += opened.interruptedAnswers;
            QVERIFY(opened.interruptedAnswers <= 1);
            for (const auto& [chatId, messages] : known.messages) {
                const StoredChat chat = valueOf(opened.store->load(chatId));
                for (const auto& [id, text] : messages) {
                    const Message* message = chat.conversation.find(id);
                    QVERIFY2(message, "an acknowledged message is gone");
                    // An answer may have grown once more before the kill.
                    QVERIFY2(message->text.starts_with(text), "acknowledged text is gone");
                    QVERIFY(message->state != MessageState::Growing);
                    if (known.done.contains(id)) QVERIFY(message->state == MessageState::Complete);
                    for (const engine::Attachment& a : message->attachments) {
                        QCOMPARE(sha256Of(valueOf(opened.store->bytes(a.sha256))), a.sha256);
                    }
                }
                if (!known.drafts.contains(chatId)) continue;
                // Either it is still the draft, or it was sent a moment before the kill.
                const std::string& draft = known.drafts[chatId];
                bool there = chat.draft.text == draft;
                for (const Message& message : chat.conversation.messages)
                    there |= message.text == draft;
                QVERIFY2(there, "an acknowledged draft is gone");
            }
        }
        qInfo("%d answers interrupted, %d calls acknowledged", interrupted, acknowledgedLines);
        // Otherwise the kills came too early or too late to say anything.
        QVERIFY(interrupted >= 5);
        QVERIFY(acknowledgedLines >= 200);
    }
};

int main(int argc, char** argv) {
    QCoreApplication application(argc, argv);
    const QStringList arguments = QCoreApplication::arguments();
    if (arguments.size() == 4 && arguments[1] == QLatin1String("--write")) {
        return writeForEver(arguments[2].toStdString(), arguments[3].toULongLong());
    }
    KillTest test;
    return QTest::qExec(&test, argc, argv);
}

#include "kill_test.moc"

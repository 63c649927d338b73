#include "app/store/conversation_store.h"

#include "app/store/schema.h"
#include "tests/app/result_checks.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <fstream>

using namespace app;
using engine::Message;
using engine::MessageState;
using engine::Role;

namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytesOf(std::string_view text) {
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return std::vector<std::byte>(data, data + text.size());
}

Message userMessage(std::int64_t parent, std::string text) {
    Message m;
    m.id = newId();
    m.parentId = parent;
    m.role = Role::User;
    m.text = std::move(text);
    m.createdMs = nowMs();
    return m;
}

Message answer(std::int64_t parent, std::string text, MessageState state = MessageState::Complete) {
    Message m = userMessage(parent, std::move(text));
    m.role = Role::Assistant;
    m.state = state;
    return m;
}

} // namespace

class ConversationStoreTest : public QObject {
    Q_OBJECT

private:
    std::unique_ptr<QTemporaryDir> m_folder;

    fs::path path() const { return fs::path(m_folder->path().toStdString()) / "history.db"; }
    ConversationStore::Opened open() const { return valueOf(ConversationStore::open(path())); }
    static std::int64_t newChat(ConversationStore& store, std::string title = "A chat") {
        ChatHeader header;
        header.id = newId();
        header.title = std::move(title);
        if (!store.saveHeader(header).ok()) qFatal("saveHeader");
        return header.id;
    }

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void everythingOfAChatComesBackAfterReopening() {
        ChatHeader header;
        header.id = newId();
        header.title = "Grüße an 🦊";
        header.titleChosen = true;
        header.instructions = "Answer in rhyme.";
        header.strength = engine::ThinkingStrength::Low;
        header.draftLength.tokens = 8;
        Message question = userMessage(0, std::string("Zeile 1\nnull \0 byte", 18));
        Message reply = answer(question.id, "Yes <|eot|> no");
        reply.thinking = "hm";
        reply.state = MessageState::LengthReached;
        reply.figures = {1.5, 2.5, 3.5, 10, 9, 8, 7, 6, 5};
        reply.generated = {"key", {1, 200008, -1, 2147483647}};
        Draft draft{"not sent", {"a long paste", "another"}, {}};
        {
            const auto opened = open();
            REQUIRE_OK(opened.store->saveHeader(header));
            const std::string hash = valueOf(opened.store->saveBytes(bytesOf("picture")));
            question.attachments.push_back({hash, "a b.png", "image/png", 7, 640, 480});
            draft.attachments.push_back({hash, "again.png", "image/png", 7, 640, 480});
            REQUIRE_OK(opened.store->saveMessage(header.id, question, false));
            REQUIRE_OK(opened.store->saveMessage(header.id, reply, false));
            REQUIRE_OK(opened.store->saveDraft(header.id, draft));
        }
        const auto opened = open();
        QVERIFY(opened.setAside.empty());
        QCOMPARE(opened.interruptedAnswers, 0);
        const StoredChat chat = valueOf(opened.store->load(header.id));
        QCOMPARE(chat.conversation.title, header.title);
        QCOMPARE(chat.conversation.instructions, header.instructions);
        QVERIFY(chat.conversation.strength == header.strength);
        QVERIFY(chat.conversation.draftLength == header.draftLength);
        QCOMPARE(chat.conversation.activeLeafId, reply.id);
        QCOMPARE(chat.conversation.messages.size(), std::size_t(2));
        QVERIFY(chat.conversation.messages[0] == question);
        QVERIFY(chat.conversation.messages[1] == reply);
        QVERIFY(chat.draft == draft);
        QVERIFY(valueOf(opened.store->bytes(question.attachments[0].sha256)) == bytesOf("picture"));
    }

    void sendingEmptiesTheDraftInTheSameStep() {
        const auto opened = open();
        const std::int64_t chat = newChat(*opened.store);
        REQUIRE_OK(opened.store->saveDraft(chat, {"hello", {"p"}, {}}));
        REQUIRE_OK(opened.store->saveMessage(chat, userMessage(0, "hello"), true));
        QVERIFY(valueOf(opened.store->load(chat)).draft.empty());
    }

    void aMessageWhoseAttachmentIsMissingLeavesNothingBehind() {
        const auto opened = open();
        const std::int64_t chat = newChat(*opened.store);
        REQUIRE_OK(opened.store->saveDraft(chat, {"hello", {}, {}}));
        Message message = userMessage(0, "hello");
        message.attachments.push_back({std::string(64, '0'), "gone.png", "image/png", 1, 1, 1});
        QVERIFY(!opened.store->saveMessage(chat, message, true).ok());
        const StoredChat loaded = valueOf(opened.store->load(chat));
        QVERIFY(loaded.conversation.messages.empty());
        QCOMPARE(loaded.draft.text, std::string("hello"));
    }

    void versionsAreSiblingsAndTheActiveLeafIsKept() {
        const auto opened = open();
        const std::int64_t chat = newChat(*opened.store);
        const Message question = userMessage(0, "Q");
        const Message first = answer(question.id, "A1");
        const Message second = answer(question.id, "A2");
        for (const Message& m : {question, first, second})
            REQUIRE_OK(opened.store->saveMessage(chat, m, false));
        REQUIRE_OK(opened.store->setActiveLeaf(chat, first.id));
        const engine::Conversation loaded = valueOf(opened.store->load(chat)).conversation;
        QCOMPARE(loaded.versions(second.id).size(), std::size_t(2));
        QCOMPARE(loaded.activePath().back()->text, std::string("A1"));
    }

    void aGrowingAnswerIsFoundAsInterrupted() {
        std::int64_t chat = 0;
        Message reply;
        {
            const auto opened = open();
            chat = newChat(*opened.store);
            const Message question = userMessage(0, "Q");
            reply = answer(question.id, "", MessageState::Growing);
            REQUIRE_OK(opened.store->saveMessage(chat, question, false));
            REQUIRE_OK(opened.store->saveMessage(chat, reply, false));
            reply.text = "Once upon a";
            REQUIRE_OK(opened.store->saveAnswer(reply));
            QVERIFY(valueOf(opened.store->search("upon", {})).empty()); // indexed when it ends
        }
        const auto opened = open();
        QCOMPARE(opened.interruptedAnswers, 1);
        const engine::Conversation loaded = valueOf(opened.store->load(chat)).conversation;
        QVERIFY(loaded.find(reply.id)->state == MessageState::Interrupted);
        QCOMPARE(loaded.find(reply.id)->text, std::string("Once upon a"));
        QCOMPARE(valueOf(opened.store->search("upon", {})).size(), std::size_t(1));
    }

    void searchFindsTitlesMessagesAndFileNames() {
        const auto opened = open();
        const std::int64_t chat = newChat(*opened.store, "Letter to the landlord");
        const std::string hash = valueOf(opened.store->saveBytes(bytesOf("x")));
        Message question =
            userMessage(0, "Der Vermieter möchte die Kaution behalten.\nSecond line.");
        question.attachments.push_back({hash, "Mietvertrag-2024.png", "image/png", 1, 1, 1});
        Message reply = answer(question.id, "東京の天気は晴れです。");
        reply.thinking = "secretly pondering";
        REQUIRE_OK(opened.store->saveMessage(chat, question, false));
        REQUIRE_OK(opened.store->saveMessage(chat, reply, false));

        const auto hits = [&](std::string_view words, SearchOptions options = {}) {
            return valueOf(opened.store->search(words, options));
        };
        QCOMPARE(hits("landl").size(), std::size_t(1));
        QCOMPARE(hits("landl")[0].messageId, std::int64_t(0));
        QCOMPARE(hits("kaution MOCHTE").size(), std::size_t(1)); // case and accents do not matter
        QCOMPARE(hits("kaution")[0].messageId, question.id);
        QVERIFY(hits("kaution")[0].snippet.find("\x02Kaution\x03") != std::string::npos);
        QCOMPARE(hits("mietvertrag").size(), std::size_t(1));
        QCOMPARE(hits("kaution landlord").size(), std::size_t(0));
        QCOMPARE(hits("pondering").size(), std::size_t(0));
        QCOMPARE(hits("pondering", {.thinking = true}).size(), std::size_t(1));
        QCOMPARE(hits("天気").size(), std::size_t(1)); // inside a run of letters without spaces
        QVERIFY(hits("天気")[0].snippet.find("\x02天気\x03") != std::string::npos);
        QCOMPARE(hits("\"; DROP TABLE message; --").size(), std::size_t(0));
        QCOMPARE(hits("NEAR( OR * ^").size(), std::size_t(0));
        QCOMPARE(hits("").size(), std::size_t(0));

        REQUIRE_OK(opened.store->moveToTrash(chat));
        QCOMPARE(hits("kaution").size(), std::size_t(0));
        QCOMPARE(hits("kaution", {.trash = true}).size(), std::size_t(1));
    }

    void searchFollowsChangesAndDeletions() {
        const auto opened = open();
        ChatHeader header;
        header.id = newChat(*opened.store, "zebra");
        Message question = userMessage(0, "giraffe");
        REQUIRE_OK(opened.store->saveMessage(header.id, question, false));
        question.text = "elephant";
        REQUIRE_OK(opened.store->saveMessage(header.id, question, false));
        header.title = "lion";
        REQUIRE_OK(opened.store->saveHeader(header));
        const auto count = [&](std::string_view word) {
            return valueOf(opened.store->search(word, {.trash = true})).size();
        };
        QCOMPARE(count("giraffe") + count("zebra"), std::size_t(0));
        QCOMPARE(count("elephant"), std::size_t(1));
        QCOMPARE(count("lion"), std::size_t(1));
        REQUIRE_OK(opened.store->moveToTrash(header.id));
        REQUIRE_OK(opened.store->deleteForever(std::vector{header.id}));
        QCOMPARE(count("elephant") + count("lion"), std::size_t(0));
        REQUIRE_OK(opened.store->checkIntegrity());
    }

    void onlyChatsInTheTrashCanBeDeletedForEver() {
        const auto opened = open();
        const std::int64_t kept = newChat(*opened.store), trashed = newChat(*opened.store);
        REQUIRE_OK(opened.store->saveMessage(trashed, userMessage(0, "bye"), false));
        REQUIRE_OK(opened.store->moveToTrash(trashed));
        QCOMPARE(valueOf(opened.store->chats()).size(), std::size_t(2));
        REQUIRE_OK(opened.store->deleteForever(std::vector{kept, trashed}));
        const auto chats = valueOf(opened.store->chats());
        QCOMPARE(chats.size(), std::size_t(1));
        QCOMPARE(chats[0].id, kept);
        REQUIRE_OK(opened.store->restoreFromTrash(kept));
        QVERIFY(!opened.store->load(trashed).ok());
    }

    void bytesNobodyNeedsLeaveAtTheNextStart() {
        std::string used, unused;
        {
            const auto opened = open();
            const std::int64_t chat = newChat(*opened.store);
            used = valueOf(opened.store->saveBytes(bytesOf("used")));
            unused = valueOf(opened.store->saveBytes(bytesOf("unused")));
            REQUIRE_OK(
                opened.store->saveDraft(chat, {"", {}, {{used, "u.png", "image/png", 4, 1, 1}}}));
            QVERIFY(opened.store->bytes(unused).ok());
        }
        const auto opened = open();
        QVERIFY(opened.store->bytes(used).ok());
        QVERIFY(!opened.store->bytes(unused).ok());
    }

    void damagedFilesAreKeptAsideAndANewHistoryBegins_data() {
        QTest::addColumn<QByteArray>("content");
        QTest::newRow("text")
            << QByteArray("this is no database, but somebody may need it").repeated(50);
        QTest::newRow("zeros") << QByteArray(8192, '\0');
        QTest::newRow("header of SQLite and nonsense")
            << QByteArray("SQLite format 3\0", 16) + QByteArray(8192, '\x7f');
    }
    void damagedFilesAreKeptAsideAndANewHistoryBegins() {
        QFETCH(QByteArray, content);
        QFile file(QString::fromStdString(path().string()));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(content);
        file.close();
        const auto opened = open();
        QVERIFY(!opened.setAside.empty());
        QFile kept(QString::fromStdString(opened.setAside.string()));
        QVERIFY(kept.open(QIODevice::ReadOnly));
        QCOMPARE(kept.readAll(), content);
        newChat(*opened.store);
        QCOMPARE(valueOf(opened.store->chats()).size(), std::size_t(1));
    }

    void aHistoryWithABrokenPageIsKeptAside() {
        {
            const auto opened = open();
            const std::int64_t chat = newChat(*opened.store);
            std::int64_t parent = 0;
            for (int i = 0; i < 200; ++i) {
                const Message m = userMessage(parent, std::string(2000, char('a' + i % 26)));
                REQUIRE_OK(opened.store->saveMessage(chat, m, false));
                parent = m.id;
            }
        }
        std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
        for (int page = 5; page < 60; ++page) {
            file.seekp(page * 4096);
            file << std::string(64, '\xff');
        }
        file.close();
        QVERIFY(!open().setAside.empty());
    }

    void aDatabaseOfAnotherProgramIsKeptAside() {
        {
            Database other = valueOf(Database::open(path()));
            REQUIRE_OK(other.execute("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)"));
        }
        const auto opened = open();
        QVERIFY(!opened.setAside.empty());
        Database kept = valueOf(Database::open(opened.setAside));
        QCOMPARE(valueOf(kept.integer("SELECT x FROM theirs")), std::int64_t(1));
    }

    void aNewerHistoryIsRefusedAndLeftAlone() {
        { const auto opened = open(); }
        {
            Database database = valueOf(Database::open(path()));
            REQUIRE_OK(database.execute("PRAGMA user_version = 99"));
        }
        const auto refused = ConversationStore::open(path());
        QVERIFY(!refused.ok());
        QVERIFY(refused.error().code == engine::ErrorCode::Unsupported);
        QVERIFY(fs::exists(path()));
    }

    void everyOlderVersionIsBroughtToTheNewest() {
        for (int version = 0; version <= newestSchemaVersion(); ++version) {
            const fs::path old =
                fs::path(m_folder->path().toStdString()) / ("v" + std::to_string(version) + ".db");
            {
                Database database = valueOf(Database::open(old));
                REQUIRE_OK(migrateTo(database, version));
                QCOMPARE(valueOf(database.integer("PRAGMA user_version")), std::int64_t(version));
            }
            const auto opened = valueOf(ConversationStore::open(old));
            QVERIFY(opened.setAside.empty());
            newChat(*opened.store);
        }
        QVERIFY(newestSchemaVersion() >= 1);
    }

    void aFailedStepLeavesTheOldVersion() {
        Database database = valueOf(Database::open(path()));
        // A table in the way of the first script.
        REQUIRE_OK(database.execute("CREATE TABLE blob (x)"));
        REQUIRE_OK(database.execute("PRAGMA application_id = " + std::to_string(kApplicationId)));
        QVERIFY(!migrate(database).ok());
        QCOMPARE(valueOf(database.integer("PRAGMA user_version")), std::int64_t(0));
        QCOMPARE(valueOf(database.integer("SELECT count(*) FROM sqlite_schema")), std::int64_t(1));
    }

    void aBackupIsAWholeHistory() {
        const fs::path copy = fs::path(m_folder->path().toStdString()) / "copy.db";
        const auto opened = open();
        const std::int64_t chat = newChat(*opened.store, "kept");
        REQUIRE_OK(opened.store->backUp(copy));
        newChat(*opened.store, "later");
        const auto other = valueOf(ConversationStore::open(copy));
        const auto chats = valueOf(other.store->chats());
        QCOMPARE(chats.size(), std::size_t(1));
        QCOMPARE(chats[0].id, chat);
    }

    void idsGrowAndAreNeverGivenTwice() {
        std::int64_t before = 0;
        for (int i = 0; i < 10000; ++i) {
            const std::int64_t id = newId();
            QVERIFY(id > before);
            before = id;
        }
    }
};

QTEST_GUILESS_MAIN(ConversationStoreTest)
#include "conversation_store_test.moc"

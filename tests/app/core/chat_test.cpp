#include "app/chat.h"
#include "tests/app/core/core_tests.h"

#include <QtTest>

using namespace app;

namespace {

engine::Message message(std::int64_t id, std::int64_t parent) {
    engine::Message m;
    m.id = id;
    m.parentId = parent;
    return m;
}

} // namespace

class ChatTest : public QObject {
    Q_OBJECT

private slots:
    void titlesAreTheFirstWords_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("title");
        QTest::newRow("short") << QStringLiteral("Hello there") << QStringLiteral("Hello there");
        QTest::newRow("lines") << QStringLiteral("  Hello\n\tthere ")
                               << QStringLiteral("Hello there");
        QTest::newRow("cut between words")
            << QStringLiteral("Please help me write a letter to the landlord about the heating")
            << QStringLiteral("Please help me write a letter to the…");
        QTest::newRow("one long word")
            << QString(100, QLatin1Char('x')) << QString(40, QLatin1Char('x')) + u'…';
        QTest::newRow("empty") << QString() << QString();
    }
    void titlesAreTheFirstWords() {
        QFETCH(QString, text);
        QFETCH(QString, title);
        QCOMPARE(titleFromText(text), title);
    }

    void aTitleNeverCutsThroughACharacter() {
        // Families joined from several code points, without a space between them.
        const QString family = QStringLiteral("👩‍👩‍👧‍👦");
        const QString title = titleFromText(family.repeated(20));
        QVERIFY(title.endsWith(u'…'));
        QCOMPARE((title.size() - 1) % family.size(), qsizetype(0));
    }

    void theLatestPathLeadsToTheNewestLeaf() {
        engine::Conversation c;
        for (const auto& [id, parent] : {std::pair{1, 0}, {2, 1}, {3, 1}, {4, 3}, {5, 2}, {6, 3}}) {
            c.messages.push_back(message(id, parent));
        }
        QCOMPARE(latestLeafBelow(c, 1), qint64(6));
        QCOMPARE(latestLeafBelow(c, 2), qint64(5));
        QCOMPARE(latestLeafBelow(c, 6), qint64(6));
        const auto path = pathTo(c, 5);
        QCOMPARE(path.size(), std::size_t(3));
        QCOMPARE(path[1]->id, std::int64_t(2));
    }

    void aCircleInAStoredTreeEnds() {
        engine::Conversation c;
        c.messages = {message(1, 2), message(2, 1)};
        QVERIFY(latestLeafBelow(c, 1) > 0);
        QVERIFY(pathTo(c, 1).size() <= 2);
    }

    void draftsSurviveTheWayThroughTheStore() {
        ui::Draft draft;
        draft.text = QStringLiteral("Grüße 🦊");
        draft.pasted = {QStringLiteral("long one"), QStringLiteral("long two")};
        draft.attachments.push_back({"hash", "a.png", "image/png", 3, 2, 1});
        QVERIFY(shownDraft(storedDraft(draft)) == draft);
    }

    void whatIsQueuedStandsBeforeWhatIsTyped() {
        Chat chat;
        chat.typed.text = QStringLiteral("second");
        QCOMPARE(unsentOf(chat).text, std::string("second"));
        chat.queued = ui::Draft();
        chat.queued->text = QStringLiteral("first");
        QCOMPARE(unsentOf(chat).text, std::string("first\n\nsecond"));
    }
};

std::unique_ptr<QObject> makeChatTest() {
    return std::make_unique<ChatTest>();
}
#include "chat_test.moc"

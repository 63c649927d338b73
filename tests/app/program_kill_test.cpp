// The whole program is killed at a random moment while it answers. Afterwards the message is there,
// the answer as it was on the screen two seconds before, and what was typed and not sent.

#include "tests/app/program.h"
#include "tests/app/result_checks.h"

#include <QProcess>
#include <QRandomGenerator>

#include <cstdio>
#include <random>

namespace {

constexpr int kRounds = 5;
constexpr int kLossMilliseconds = 2000;

void say(const char* what, qint64 chat, qint64 number) {
    std::printf("%s %lld %lld\n", what, static_cast<long long>(chat),
                static_cast<long long>(number));
    std::fflush(stdout);
}

qint64 bytesOf(const engine::Message& message) {
    return qint64(message.text.size() + message.thinking.size());
}

// The child: asks, then types on while the answer grows, and tells what is on the screen.
int answerForEver(const QString& folder) {
    Program program(4096, folder);
    if (!program.start()) return 1;
    program.window().actionSet().action(ui::ActionId::NewChat)->trigger();
    program.send(QStringLiteral("Never to be lost"));
    const qint64 chat = program.chat().id();
    if (!QTest::qWaitFor([&] { return program.model().rowCount() == 2; }, 20000)) return 2;
    say("asked", chat, 0);
    QTest::keyClicks(program.field(), QStringLiteral("half a sentence"));
    QElapsedTimer sinceTyped;
    sinceTyped.start();
    bool told = false;
    while (program.chat().id() == chat) {
        QTest::qWait(20);
        const engine::Message* const answer = app::activeLeaf(program.chat().conversation);
        say("shown", chat, answer ? bytesOf(*answer) : 0);
        if (!told && sinceTyped.elapsed() > kLossMilliseconds) say("typed", chat, 0);
        told = told || sinceTyped.elapsed() > kLossMilliseconds;
    }
    return 3;
}

} // namespace

class ProgramKillTest : public QObject {
    Q_OBJECT

private slots:
    void aKillLosesAtMostTwoSecondsOfAnAnswer() {
        QTemporaryDir folder;
        const quint32 seed = QRandomGenerator::global()->generate();
        qInfo("seed %u", seed);
        std::mt19937 random(seed);
        int withText = 0;
        for (int round = 0; round < kRounds; ++round) {
            QProcess child;
            child.start(QCoreApplication::applicationFilePath(),
                        {QStringLiteral("--answer"), folder.path()});
            QVERIFY(child.waitForStarted());
            struct Line {
                qint64 atMs;
                QByteArray what;
                qint64 chat, number;
            };
            std::vector<Line> lines;
            QElapsedTimer clock;
            clock.start();
            const int life = 200 + static_cast<int>(random() % 4500); // after the question
            qint64 askedAt = -1;
            const auto read = [&] {
                while (child.canReadLine()) {
                    const QList<QByteArray> parts = child.readLine().trimmed().split(' ');
                    if (parts.size() != 3) continue;
                    lines.push_back(
                        {clock.elapsed(), parts[0], parts[1].toLongLong(), parts[2].toLongLong()});
                    if (parts[0] == "asked") askedAt = clock.elapsed();
                }
            };
            while (askedAt < 0 || clock.elapsed() < askedAt + life) {
                QVERIFY2(clock.elapsed() < 60000 && child.state() == QProcess::Running,
                         "the program did not run");
                child.waitForReadyRead(10);
                read();
            }
            child.kill();
            const qint64 killedAt = clock.elapsed();
            QVERIFY(child.waitForFinished());

            const auto opened = valueOf(app::ConversationStore::open(
                folder.filePath(QStringLiteral("history.db")).toStdString()));
            QVERIFY(opened.setAside.empty());
            REQUIRE_OK(opened.store->checkIntegrity());
            const app::StoredChat chat = valueOf(opened.store->load(lines.front().chat));
            QCOMPARE(chat.conversation.messages.size(), std::size_t(2));
            QCOMPARE(chat.conversation.messages[0].text, std::string("Never to be lost"));
            const engine::Message& answer = chat.conversation.messages[1];
            // On a fast machine the answer may have filled the conversation before the kill.
            const bool ended = answer.state == engine::MessageState::LengthReached ||
                               answer.state == engine::MessageState::EndedWhileThinking;
            QVERIFY(ended || answer.state == engine::MessageState::Interrupted);
            QCOMPARE(opened.interruptedAnswers, ended ? 0 : 1);
            qint64 mustBeThere = 0;
            for (const Line& line : lines) {
                if (line.what == "shown" && line.atMs < killedAt - kLossMilliseconds)
                    mustBeThere = line.number;
                if (line.what == "typed") QCOMPARE(chat.draft.text, std::string("half a sentence"));
            }
            QVERIFY2(
                bytesOf(answer) >= mustBeThere,
                qPrintable(QStringLiteral("%1 of %2 bytes").arg(bytesOf(answer)).arg(mustBeThere)));
            withText += mustBeThere > 0;
        }
        QVERIFY(withText > 0); // otherwise every kill came too early to prove anything
    }
};

int main(int argc, char** argv) {
    QApplication application(argc, argv);
    const QStringList arguments = QCoreApplication::arguments();
    if (arguments.size() == 3 && arguments[1] == QLatin1String("--answer"))
        return answerForEver(arguments[2]);
    ProgramKillTest test;
    return QTest::qExec(&test, argc, argv);
}

#include "program_kill_test.moc"

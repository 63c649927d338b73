// Takes five seconds: the time the store waits for another program.

#include "app/store/conversation_store.h"
#include "tests/app/result_checks.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace app;

class LockTest : public QObject {
    Q_OBJECT

private slots:
    void anotherProgramsLockIsAnErrorAndNotADamage() {
        QTemporaryDir folder;
        const std::filesystem::path path =
            std::filesystem::path(folder.path().toStdString()) / "history.db";
        const auto opened = valueOf(ConversationStore::open(path));
        Database other = valueOf(Database::open(path));
        REQUIRE_OK(other.execute("BEGIN EXCLUSIVE"));
        QElapsedTimer timer;
        timer.start();
        ChatHeader header;
        header.id = newId();
        const auto saved = opened.store->saveHeader(header);
        QVERIFY(!saved.ok());
        QVERIFY(saved.error().code == engine::ErrorCode::Io);
        QVERIFY(timer.elapsed() >= 4000);
        REQUIRE_OK(other.execute("ROLLBACK"));
        REQUIRE_OK(opened.store->saveHeader(header));
    }
};

QTEST_GUILESS_MAIN(LockTest)
#include "lock_test.moc"

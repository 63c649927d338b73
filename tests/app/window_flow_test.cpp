// The real window, the real engine and the real history, driven as a person does it.

#include "app/store/schema.h"
#include "tests/app/program.h"
#include "tests/app/result_checks.h"
#include "ui/attachment_strip.h"
#include "ui/chat_list.h"
#include "ui/notice_card.h"

#include <QClipboard>
#include <QDropEvent>
#include <QListView>
#include <QMimeData>
#include <QSignalSpy>

using engine::MessageState;
using engine::Role;

namespace {

void drop(QWidget& target, QMimeData& data) {
    const QPoint middle = target.rect().center();
    QDragEnterEvent enter(middle, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&target, &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent event(middle, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&target, &event);
}

QString pictureFile() {
    return Program::trioFile("images/exact.png");
}

engine::Conversation storedConversation(const Program& program, qint64 chatId) {
    const auto opened = valueOf(app::ConversationStore::open(program.database()));
    return valueOf(opened.store->load(chatId)).conversation;
}

} // namespace

class WindowFlowTest : public QObject {
    Q_OBJECT

private slots:
    void everyMenuRowOfTheAppHasAHandler() {
        QTemporaryDir folder;
        app::StartOptions options;
        options.dataFolder = folder.path();
        app::Application application(options);
        for (const ui::ActionRow& row : ui::actionTable()) {
            const bool ours = row.handler == ui::Handler::App;
            QVERIFY2(application.actions().handles(row.id) == ours, row.key);
        }
        bool closed = false;
        QObject::connect(&application, &app::Application::closed, this, [&] { closed = true; });
        application.window().actionSet().action(ui::ActionId::Quit)->trigger();
        QVERIFY(closed);
    }

    void anAnswerStreamsAndIsKept() {
        Program program(512);
        QVERIFY(program.start());
        program.send(QStringLiteral("Hello there"));
        QVERIFY(program.waitForWords());
        const qsizetype early = program.lastLength();
        QVERIFY(!program.idle());
        QVERIFY(program.waitForEnd());
        QVERIFY(program.lastLength() > early); // it arrived in pieces
        const engine::Message shown = program.last();
        QVERIFY(shown.state == MessageState::LengthReached ||
                shown.state == MessageState::EndedWhileThinking);
        QVERIFY(shown.figures.writtenTokens > 0);
        const qint64 chat = program.chat().id();
        QCOMPARE(program.chat().conversation.title, std::string("Hello there"));
        QVERIFY(program.stop() >= 0);

        const engine::Conversation stored = storedConversation(program, chat);
        QCOMPARE(stored.messages.size(), std::size_t(2));
        QCOMPARE(stored.messages[0].text, std::string("Hello there"));
        QVERIFY(stored.messages[1] == shown);
        QVERIFY(!stored.messages[1].generated.ids.empty());
    }

    void thePanelShowsAnAnswersFiguresInItsOwnChatOnly() {
        Program program(512);
        QVERIFY(program.start());
        const auto line = [&](const QString& name) {
            for (const QString& each : program.window().panel().asText().split(u'\n'))
                if (each.startsWith(name)) return each;
            return QString();
        };
        const QString nothing = line(QStringLiteral("Time to first word"));
        QVERIFY(!nothing.isEmpty());
        program.send(QStringLiteral("Hello there"));
        QVERIFY(program.waitForEnd());
        QTRY_VERIFY(line(QStringLiteral("Time to first word")) != nothing);
        const QString first = line(QStringLiteral("Time to first word"));
        const qint64 chat = program.chat().id();
        program.window().actionSet().action(ui::ActionId::NewChat)->trigger();
        QTRY_COMPARE(line(QStringLiteral("Time to first word")), nothing);
        emit program.window().sidebar().chatChosen(chat);
        QTRY_COMPARE(line(QStringLiteral("Time to first word")), first);
    }

    void aFirstMessageThatDoesNotFitComesBackAndTheWindowSaysWhy() {
        Program program(512);
        QVERIFY(program.start());
        const QString text = QStringLiteral("never to be lost ").repeated(400).trimmed();
        program.composer().attachPath(pictureFile());
        QTRY_COMPARE(program.composer().draft().attachments.size(), std::size_t(1));
        program.send(text);
        QVERIFY(QTest::qWaitFor([&] { return program.model().errorCard().has_value(); }, 20000));
        QVERIFY(program.waitForEnd());
        QCOMPARE(program.model().rowCount(), 0);
        const auto cards = program.window().findChildren<ui::NoticeCard*>();
        QVERIFY(std::any_of(cards.begin(), cards.end(),
                            [](ui::NoticeCard* card) { return card->isVisible(); }));
        QCOMPARE(program.composer().draft().text, text);
        // Its picture is as it was before.
        const auto chip = [&] {
            const auto chips = program.composer().findChild<ui::AttachmentStrip*>()->chips();
            return chips.size() == 1 ? chips[0] : ui::AttachmentChip();
        };
        QTRY_VERIFY(!chip().thumbnail.isNull());
        QVERIFY(chip().tokens > 0);
        QVERIFY(program.stop() >= 0);
    }

    void stopKeepsWhatWasWrittenAndContinueGoesOn() {
        Program program;
        QVERIFY(program.start());
        program.send(QStringLiteral("Tell me something long"));
        QVERIFY(program.waitForWords(60));
        QElapsedTimer timer;
        timer.start();
        QTest::keyClick(program.field(), Qt::Key_Escape);
        QVERIFY(program.waitForEnd());
        QVERIFY2(timer.elapsed() < 1000, "Stop took a second or more");
        const engine::Message stopped = program.last();
        QVERIFY(stopped.state == MessageState::Stopped);
        QVERIFY(stopped.text.size() + stopped.thinking.size() >= 60);

        program.window().actionSet().action(ui::ActionId::ContinueAnswer)->trigger();
        QVERIFY(program.waitForWords(program.lastLength() + 60));
        program.window().actionSet().action(ui::ActionId::Stop)->trigger();
        QVERIFY(program.waitForEnd());
        QCOMPARE(program.last().id, stopped.id);
        QVERIFY(program.last().text.starts_with(stopped.text));
        QVERIFY(program.last().thinking.starts_with(stopped.thinking));
        QVERIFY(program.last().figures.writtenTokens > stopped.figures.writtenTokens);
    }

    void picturesComeByDropAndPaste() {
        Program program(1024);
        QVERIFY(program.start());
        QMimeData files;
        files.setUrls({QUrl::fromLocalFile(pictureFile())});
        drop(program.window(), files);
        QTRY_COMPARE(program.composer().draft().attachments.size(), std::size_t(1));
        QCOMPARE(program.composer().draft().attachments[0].fileName, std::string("exact.png"));

        QImage pasted(100, 60, QImage::Format_RGB32);
        pasted.fill(Qt::red);
        QGuiApplication::clipboard()->setImage(pasted);
        program.composer().focusText();
        QTest::keySequence(program.field(), QKeySequence::Paste);
        QTRY_COMPARE(program.composer().draft().attachments.size(), std::size_t(2));

        program.send(QStringLiteral("What is this?"));
        QVERIFY(program.waitForWords(10));
        program.window().actionSet().action(ui::ActionId::Stop)->trigger();
        QVERIFY(program.waitForEnd());
        QVERIFY(program.last().figures.promptTokens > 0);
        const qint64 chat = program.chat().id();
        QVERIFY(program.stop() >= 0);

        const auto opened = valueOf(app::ConversationStore::open(program.database()));
        const engine::Conversation stored = valueOf(opened.store->load(chat)).conversation;
        QCOMPARE(stored.messages[0].attachments.size(), std::size_t(2));
        QFile original(pictureFile());
        QVERIFY(original.open(QIODevice::ReadOnly));
        const std::vector<std::byte> kept =
            valueOf(opened.store->bytes(stored.messages[0].attachments[0].sha256));
        QCOMPARE(QByteArray(reinterpret_cast<const char*>(kept.data()), qsizetype(kept.size())),
                 original.readAll());
        QCOMPARE(stored.messages[0].attachments[1].width, 100);
    }

    void startedAgainWithTheFilesInUseTheChatStays() {
        Program program;
        QVERIFY(program.start());
        program.application().startedAgain(
            {Program::trioFile("target.gguf"), Program::trioFile("dflash.gguf")});
        QCOMPARE(program.window().page(), ui::MainWindow::Page::Chat);
        QTemporaryDir other;
        const QString copy = other.filePath(QStringLiteral("other.gguf"));
        QVERIFY(QFile::copy(Program::trioFile("dflash.gguf"), copy));
        program.application().startedAgain({copy});
        QCOMPARE(program.window().page(), ui::MainWindow::Page::Setup);
    }

    void picturesGivenAtTheStartWaitInANewChat() {
        Program program(1024);
        QVERIFY(program.start());
        program.send(QStringLiteral("A chat from before"));
        QVERIFY(program.waitForWords(10));
        program.application().runner().stopAll();
        QVERIFY(program.waitForEnd());
        const qint64 before = program.chat().id();
        QVERIFY(program.stop() >= 0);
        QVERIFY(program.start({pictureFile()}));
        QTRY_COMPARE(program.composer().draft().attachments.size(), std::size_t(1));
        QTest::qWait(200); // nothing that comes later opens another chat
        QCOMPARE(program.composer().draft().attachments.size(), std::size_t(1));
        QCOMPARE(program.model().rowCount(), 0);
        QVERIFY(program.chat().id() != before);
    }

    void aFileThatIsNoPictureIsRefusedInWordsAndTheMessageStays() {
        Program program;
        QVERIFY(program.start());
        const QString path = program.folder() + QStringLiteral("/photo.jpg");
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray("\0\0\0\x18"
                              "ftypheic\0\0\0\0mif1heic",
                              24) +
                   QByteArray(200, '\1'));
        file.close();
        QTest::keyClicks(program.field(), QStringLiteral("Look at this"));
        QMimeData files;
        files.setUrls({QUrl::fromLocalFile(path)});
        drop(program.window(), files);
        auto* const strip = program.composer().findChild<ui::AttachmentStrip*>();
        QVERIFY(strip);
        QTRY_VERIFY(!strip->chips().empty() &&
                    strip->chips()[0].state == ui::AttachmentChip::State::Failed);
        QVERIFY2(strip->chips()[0].problem.contains(QStringLiteral("HEIC")),
                 qPrintable(strip->chips()[0].problem));
        QCOMPARE(program.composer().draft().text, QStringLiteral("Look at this"));
    }

    void anAnswerGoesOnInItsOwnChat() {
        Program program;
        QVERIFY(program.start());
        program.send(QStringLiteral("First chat"));
        QVERIFY(program.waitForWords(30));
        const qint64 first = program.chat().id();
        program.window().actionSet().action(ui::ActionId::NewChat)->trigger();
        QVERIFY(program.chat().id() != first);
        QCOMPARE(program.model().rowCount(), 0);
        QVERIFY(program.application().runner().busy(first));
        QTest::qWait(500);
        QCOMPARE(program.model().rowCount(), 0); // its words do not come here

        // A question here waits for the answer there.
        program.send(QStringLiteral("Second chat"));
        const qint64 second = program.chat().id();
        QTRY_VERIFY(program.model().activity().kind == ui::Activity::Kind::Waiting &&
                    program.model().activity().why.contains(QStringLiteral("First chat")));

        emit program.window().sidebar().chatChosen(first);
        QTRY_COMPARE(program.chat().id(), first);
        QVERIFY(program.waitForWords(31));
        const qsizetype length = program.lastLength();
        QTRY_VERIFY(program.lastLength() > length); // and still grows
        program.window().actionSet().action(ui::ActionId::Stop)->trigger();
        QTRY_VERIFY(!program.application().runner().busy(first));
        emit program.window().sidebar().chatChosen(second);
        QTRY_COMPARE(program.chat().id(), second);
        QVERIFY(program.waitForWords(10));
        program.window().actionSet().action(ui::ActionId::Stop)->trigger();
        QVERIFY(program.waitForEnd());
        QVERIFY(program.stop() >= 0);
        QCOMPARE(storedConversation(program, first).messages.size(), std::size_t(2));
        QCOMPARE(storedConversation(program, second).messages.size(), std::size_t(2));
    }

    void aMessageSentDuringAnAnswerGoesOutAfterIt() {
        Program program(512);
        QVERIFY(program.start());
        program.send(QStringLiteral("One"));
        QVERIFY(program.waitForWords(10));
        program.send(QStringLiteral("Two"));
        QVERIFY(program.composer().queued().has_value());
        // It is kept like everything that was written: a draft until it goes out.
        const qint64 chat = program.chat().id();
        QTRY_VERIFY(program.chat().draft.text == "Two");
        QTRY_VERIFY_WITH_TIMEOUT(program.chat().conversation.messages.size() >= 3, 60000);
        QVERIFY(!program.composer().queued().has_value());
        program.application().runner().stopAll();
        QVERIFY(program.waitForEnd());
        QVERIFY(program.stop() >= 0);
        const engine::Conversation stored = storedConversation(program, chat);
        QCOMPARE(stored.messages[2].text, std::string("Two"));
        QCOMPARE(stored.messages[2].parentId, stored.messages[1].id);
    }

    void tryingAgainAndEditingMakeVersions() {
        Program program;
        QVERIFY(program.start());
        program.send(QStringLiteral("Question"));
        QVERIFY(program.stopSoon());
        const engine::Message first = program.last();
        program.window().actionSet().action(ui::ActionId::TryAgain)->trigger();
        QTRY_VERIFY(program.last().id != first.id && program.last().role == Role::Assistant);
        QVERIFY(program.stopSoon());
        QCOMPARE(program.model().at(1).versions, 2);
        QCOMPARE(program.model().at(1).version, 2);

        program.window().actionSet().action(ui::ActionId::PreviousVersion)->trigger();
        QCOMPARE(program.last().id, first.id);
        QCOMPARE(program.last().text, first.text);

        QTest::keyClicks(program.field(), QStringLiteral("half a thought"));
        program.window().actionSet().action(ui::ActionId::EditLast)->trigger();
        QCOMPARE(program.composer().draft().text, QStringLiteral("Question"));
        program.field()->selectAll();
        program.send(QStringLiteral("Better question"));
        QTRY_VERIFY(program.model().rowCount() == 2 && program.model().at(0).versions == 2);
        QCOMPARE(program.model().at(0).message.text, std::string("Better question"));
        QVERIFY(program.stopSoon());
        QCOMPARE(program.composer().draft().text, QStringLiteral("half a thought"));
        QCOMPARE(program.chat().conversation.messages.size(), std::size_t(5));
    }

    void whenNothingComesOfAskingAnewTheOldAnswerStays() {
        Program program;
        QVERIFY(program.start());
        QVERIFY(program.sendAndStop(QStringLiteral("Question")));
        const engine::Message first = program.last();
        QVERIFY(program.sendAndStop(QStringLiteral("Another")));
        const qint64 leaf = program.last().id;
        ui::ActionSet& actions = program.window().actionSet();

        actions.action(ui::ActionId::UnloadModel)->trigger();
        QTRY_VERIFY(!program.application().models().model());
        emit program.window().transcript().tryAgainWished(first.id);
        QTRY_VERIFY(program.model().errorCard());
        QVERIFY(program.waitForEnd());
        QCOMPARE(program.model().rowCount(), 4);
        QCOMPARE(program.last().id, leaf);
        QVERIFY(program.composer().draft().empty());

        // The card's Try Again means the same question.
        actions.action(ui::ActionId::LoadModel)->trigger();
        QTRY_VERIFY_WITH_TIMEOUT(program.application().models().model(), 30000);
        emit program.window().transcript().remedyWished(QStringLiteral("try-again"));
        QVERIFY(program.stopSoon());
        QCOMPARE(program.last().parentId, first.parentId);
        QVERIFY(program.last().id != first.id);
        QCOMPARE(program.model().rowCount(), 2);
        QCOMPARE(program.model().at(0).versions, 1);
    }

    void anEditThatDoesNotFitLeavesTheOldMessageAndComesBackAsAnEdit() {
        Program program(512);
        QVERIFY(program.start());
        program.send(QStringLiteral("Question"));
        QVERIFY(program.waitForEnd());
        const engine::Message first = program.last();
        program.window().actionSet().action(ui::ActionId::EditLast)->trigger();
        const qint64 edited = program.composer().editing();
        const QString text = QStringLiteral("never to be lost ").repeated(400).trimmed();
        program.field()->selectAll();
        program.send(text);
        QTRY_VERIFY_WITH_TIMEOUT(program.model().errorCard(), 20000);
        QVERIFY(program.waitForEnd());
        QCOMPARE(program.model().rowCount(), 2);
        QCOMPARE(program.last().id, first.id);
        QCOMPARE(program.composer().editing(), edited);
        QCOMPARE(program.composer().draft().text, text);
        QTest::keyClick(program.field(), Qt::Key_Escape);
        QCOMPARE(program.composer().editing(), qint64(0));
        QVERIFY(program.composer().draft().empty());
    }

    void theCardOfAMessageThatCameBackSendsThatMessage() {
        Program program(512);
        QVERIFY(program.start());
        QVERIFY(program.sendAndStop(QStringLiteral("Question")));
        const QString text = QStringLiteral("never to be lost ").repeated(400).trimmed();
        program.send(text);
        QTRY_VERIFY_WITH_TIMEOUT(program.model().errorCard(), 20000);
        QVERIFY(program.waitForEnd());
        QCOMPARE(program.composer().draft().text, text);
        const auto answers = [&] {
            const auto& messages = program.chat().conversation.messages;
            return std::count_if(messages.begin(), messages.end(), [&](const auto& message) {
                return message.role == Role::Assistant &&
                       message.parentId == program.model().at(0).message.id;
            });
        };
        QCOMPARE(answers(), 1);
        program.field()->clear();
        QTest::keyClicks(program.field(), QStringLiteral("shorter"));
        emit program.window().transcript().remedyWished(QStringLiteral("try-again"));
        QTRY_COMPARE(program.model().rowCount(), 4);
        QCOMPARE(program.model().at(2).message.text, std::string("shorter"));
        QCOMPARE(answers(), 1);
        program.application().runner().stopAll();
        QVERIFY(program.waitForEnd());
    }

    void aRestartFindsEverythingAgain() {
        Program program;
        QVERIFY(program.start());
        program.send(QStringLiteral("A chat about gardens"));
        QVERIFY(program.waitForWords(30));
        const qint64 gardens = program.chat().id();
        emit program.window().strengthChosen(engine::ThinkingStrength::Low);
        emit program.window().draftLengthChosen({4});
        program.application().runner().stopAll();
        QVERIFY(program.waitForEnd());
        const engine::Message answer = program.last();
        QTest::keyClicks(program.field(), QStringLiteral("unsent words"));
        program.window().actionSet().action(ui::ActionId::NewChat)->trigger();
        QTest::keyClicks(program.field(), QStringLiteral("another draft"));
        const qint64 other = program.chat().id();
        QVERIFY(program.restart());

        QTRY_COMPARE(program.chat().id(), other);
        QCOMPARE(program.composer().draft().text, QStringLiteral("another draft"));
        emit program.window().sidebar().chatChosen(gardens);
        QTRY_COMPARE(program.chat().id(), gardens);
        QCOMPARE(program.model().rowCount(), 2);
        QCOMPARE(program.last().text, answer.text);
        QCOMPARE(program.last().thinking, answer.thinking);
        QVERIFY(program.last().state == MessageState::Stopped);
        QCOMPARE(program.composer().draft().text, QStringLiteral("unsent words"));
        QVERIFY(program.chat().conversation.strength == engine::ThinkingStrength::Low);
        QCOMPARE(program.chat().conversation.draftLength.tokens, 4);
    }

    void aSearchHitLeadsToItsMessageAlsoInAnotherVersion() {
        Program program;
        const qint64 chat = app::newId();
        qint64 hidden = 0;
        { // two versions of a question; the first, not the active one, holds the word
            const auto opened = valueOf(app::ConversationStore::open(program.database()));
            app::ChatHeader header;
            header.id = chat;
            header.title = "Cooking";
            REQUIRE_OK(opened.store->saveHeader(header));
            for (const char* text : {"How do I poach a pear?", "How do I bake bread?"}) {
                engine::Message question;
                question.id = app::newId();
                question.createdMs = app::nowMs();
                question.text = text;
                if (hidden == 0) hidden = question.id;
                REQUIRE_OK(opened.store->saveMessage(chat, question, false));
            }
        }
        QVERIFY(program.start());
        emit program.window().sidebar().chatChosen(chat);
        QTRY_COMPARE(program.chat().id(), chat);
        QCOMPARE(program.last().text, std::string("How do I bake bread?"));
        emit program.window().sidebar().hitChosen(chat, hidden, QStringLiteral("pear"));
        QTRY_COMPARE(program.last().id, hidden);
        QCOMPARE(program.model().at(0).version, 1);
        QCOMPARE(program.model().at(0).versions, 2);
    }

    void aChatInTheTrashComesBackWithUndo() {
        Program program;
        QVERIFY(program.start());
        program.send(QStringLiteral("Keep me"));
        QVERIFY(program.waitForWords(10));
        const qint64 chat = program.chat().id();
        program.window().actionSet().action(ui::ActionId::MoveToTrash)->trigger();
        QVERIFY(program.chat().id() != chat);
        QVERIFY(program.waitForEnd()); // its answer ends
        QVERIFY(program.stop() >= 0);
        const auto deletedMs = [&] {
            const auto opened = valueOf(app::ConversationStore::open(program.database()));
            for (const app::ChatSummary& row : valueOf(opened.store->chats())) {
                if (row.id == chat) return row.deletedMs;
            }
            return std::int64_t(-1);
        };
        QVERIFY(deletedMs() > 0);
        QVERIFY(program.start());
        emit program.window().sidebar().restoreWished(chat);
        emit program.window().sidebar().chatChosen(chat);
        QTRY_COMPARE(program.chat().id(), chat);
        QCOMPARE(program.model().rowCount(), 2);
        QVERIFY(program.stop() >= 0);
        QCOMPARE(deletedMs(), std::int64_t(0));
    }

    void theOpenChatDeletedInTheListComesBackWithUndoThere() {
        Program program;
        QVERIFY(program.start());
        QVERIFY(program.sendAndStop(QStringLiteral("Keep me")));
        const qint64 chat = program.chat().id();
        ui::Sidebar& sidebar = program.window().sidebar();
        auto* list = sidebar.findChild<QListView*>();
        QVERIFY(list);
        list->setFocus();
        for (int row = 0; row < list->model()->rowCount(); ++row) {
            const QModelIndex index = list->model()->index(row, 0);
            if (index.data(ui::ChatListModel::ChatRole).toLongLong() == chat)
                list->setCurrentIndex(index);
        }
        QTest::keyClick(list, Qt::Key_Delete);
        QTRY_VERIFY(program.chat().id() != chat);
        QSignalSpy restored(&sidebar, &ui::Sidebar::restoreWished);
        program.window().actionSet().action(ui::ActionId::Undo)->trigger();
        QCOMPARE(restored.size(), 1);
        QCOMPARE(restored[0][0].toLongLong(), chat);
    }

    void aChatOfFiveThousandMessagesOpensQuickly() {
        Program program;
        const qint64 chat = app::newId();
        {
            const auto opened = valueOf(app::ConversationStore::open(program.database()));
            app::ChatHeader header;
            header.id = chat;
            REQUIRE_OK(opened.store->saveHeader(header));
            app::Database database = valueOf(app::Database::open(program.database()));
            // One statement in place of five thousand synced ones.
            REQUIRE_OK(database.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
                " INSERT INTO message (id, conversation_id, parent_id, role, text, state, "
                "created_ms)"
                " SELECT i, " +
                std::to_string(chat) +
                ", i - 1, CASE i % 2 WHEN 1 THEN 'user' ELSE 'assistant' END,"
                " 'Message ' || i || ' with **some** text and `code`.', 'complete', i FROM n"));
            REQUIRE_OK(opened.store->setActiveLeaf(chat, 5000));
        }
        QVERIFY(program.start());
        qint64 longestMs = 0;
        QElapsedTimer beat;
        QTimer heart;
        QObject::connect(&heart, &QTimer::timeout, &heart,
                         [&] { longestMs = std::max(longestMs, beat.restart()); });
        heart.start(1);
        beat.start();
        QElapsedTimer timer;
        timer.start();
        emit program.window().sidebar().chatChosen(chat);
        QTRY_COMPARE(program.model().rowCount(), 5000);
        QTest::qWait(200);
        qInfo("longest stall %lld ms", static_cast<long long>(longestMs));
        QVERIFY(timer.elapsed() < 2000);
        // The aim is 100 ms; the rest is for a machine that does other things at the same time.
        QVERIFY(longestMs < 250);
    }

    void closingDuringAnAnswerKeepsItAndIsQuick() {
        Program program;
        QVERIFY(program.start());
        program.send(QStringLiteral("Write for ever"));
        QVERIFY(program.waitForWords(40));
        const qint64 chat = program.chat().id();
        const qint64 ms = program.stop();
        QVERIFY2(ms >= 0 && ms < 5000, qPrintable(QString::number(ms)));
        const engine::Conversation stored = storedConversation(program, chat);
        QVERIFY(stored.messages[1].state == MessageState::Stopped);
        QVERIFY(stored.messages[1].text.size() + stored.messages[1].thinking.size() >= 40);
    }

    void withoutAHistoryTheChatGoesOnAndTheWindowSaysSo() {
        Program program;
        { // written by a later version
            app::Database database = valueOf(app::Database::open(program.database()));
            REQUIRE_OK(app::migrate(database));
            REQUIRE_OK(database.execute("PRAGMA user_version = 99"));
        }
        QVERIFY(program.start());
        const auto cards = program.window().findChildren<ui::NoticeCard*>();
        QVERIFY(std::any_of(cards.begin(), cards.end(),
                            [](ui::NoticeCard* card) { return card->isVisible(); }));
        program.send(QStringLiteral("Hello"));
        QVERIFY(program.waitForWords(20));
        program.application().runner().stopAll();
        QVERIFY(program.waitForEnd());
        QVERIFY(program.stop() >= 0);
        app::Database database = valueOf(app::Database::open(program.database()));
        QCOMPARE(valueOf(database.integer("PRAGMA user_version")), std::int64_t(99));
    }
};

QTEST_MAIN(WindowFlowTest)
#include "window_flow_test.moc"

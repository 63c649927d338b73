// Drives the whole program on a trio of model files and saves a picture of each main state:
//   take_screenshots FOLDER MODEL VISION DRAFT PICTURE

#include "app/application.h"
#include "ui/composer.h"
#include "ui/model_setup.h"
#include "ui/sidebar.h"
#include "ui/theme.h"
#include "ui/transcript_view.h"

#include <QApplication>
#include <QDir>
#include <QFileInfo>
#include <QHash>
#include <QImage>
#include <QPlainTextEdit>
#include <QTemporaryDir>
#include <QTest>

#include <cstdio>
#include <memory>

namespace {

// What the demo model was trained to answer; other models are asked the same.
const char* const kOtherChats[] = {
    "What is 48 times 12?", "Which date is 15 days after 2026-06-07?",
    "Put the names in order: Vera, Adam, Laura", "How do I attach a picture?"};
const char* const kAboutPicture = "What does the message say?";
const char* const kCode = "Show me a function in Python that turns a text into capitals.";
const char* const kTable =
    "Show as a table with the columns City and People: Turin 598, Geneva 157, Zurich 945";
const char* const kLast = "Where does Glint keep my chats?";
const char* const kLongest = "How do I free the memory that the model takes?";

// These files lie in the repository, so they are kept small: the colours of the theme stay exact,
// rare ones (of smoothed letters and of photographs) lose their lowest bits.
QImage withFewColours(const QImage& source) {
    QImage image = source.convertToFormat(QImage::Format_RGB32);
    QHash<QRgb, int> count;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) ++count[image.pixel(x, y)];
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) {
            const QRgb colour = image.pixel(x, y);
            const int mask = count[colour] < 40 ? 0xF0 : count[colour] < 150 ? 0xF8 : 0xFF;
            image.setPixel(x, y,
                           qRgb(qRed(colour) & mask, qGreen(colour) & mask, qBlue(colour) & mask));
        }
    return image.convertToFormat(QImage::Format_RGB888);
}

class Camera {
public:
    Camera(const QString& folder, QStringList trio, QString picture)
        : m_folder(folder), m_trio(std::move(trio)), m_picture(std::move(picture)) {}

    bool run() {
        app::StartOptions options;
        options.dataFolder = m_data.path();
        m_program = std::make_unique<app::Application>(options);
        m_program->start();
        window().resize(1280, 800);
        // The program may open a demo model by itself; the pictures begin before any was chosen.
        until([&] { return m_program->models().model().has_value(); }, 15'000);
        trigger(ui::ActionId::UnloadModel);
        until([&] { return !m_program->models().model().has_value(); }, 5'000);
        trigger(ui::ActionId::ModelFiles);
        emit window().setup().clearWished(ui::ModelSlot::Target);
        wait(600);
        save("first-start");

        emit window().setup().filesChosen(m_trio);
        if (!until([&] { return window().setup().findChild<ui::PlanCard*>()->isVisible(); }))
            return false;
        wait(300);
        save("set-up");
        dark(true);
        save("set-up-dark");
        dark(false);

        auto* plan = window().setup().findChild<ui::PlanCard*>();
        ui::PlanChoice choice = plan->choice();
        choice.contextTokens = 4096;
        emit window().setup().loadWished(choice);
        if (!until([&] { return m_program->models().model().has_value(); })) return false;
        window().showPage(ui::MainWindow::Page::Chat);
        wait(1200);
        window().composer().focusText();
        save("empty-chat");

        for (const char* question : kOtherChats) {
            if (!askAndWait(question)) return false;
            trigger(ui::ActionId::NewChat);
            wait(200);
        }
        window().composer().attachPath(m_picture);
        if (!until([&] { return window().composer().draft().attachments.size() == 1; }))
            return false;
        wait(400);
        save("picture-attached");
        if (!askAndWait(kAboutPicture) || !askAndWait(kCode) || !askAndWait(kTable)) return false;
        wait(600);
        save("conversation");
        // Caught in the act, where the model is slow enough.
        for (const bool inDark : {true, false}) {
            dark(inDark);
            ask(inDark ? kLast : kLongest);
            if (!until([&] { return answered() > 15 || m_program->runner().idle(); })) return false;
            wait(30); // the transcript shows what has come once a frame
            save(inDark ? "answering-dark" : "answering");
            if (!until([&] { return m_program->runner().idle() || growing() > 600; })) return false;
            if (!m_program->runner().idle()) trigger(ui::ActionId::Stop);
            if (!until([&] { return m_program->runner().idle(); })) return false;
        }
        // The first words of an answer, then Stop. With drafts a small model has ended before.
        trigger(ui::ActionId::DraftOff);
        ask(kTable);
        if (!until([&] { return answered() > 15 || m_program->runner().idle(); })) return false;
        trigger(ui::ActionId::Stop);
        if (!until([&] { return m_program->runner().idle(); })) return false;
        wait(700);
        save("stopped");
        trigger(ui::ActionId::DraftAutomatic);

        window().resize(640, 480);
        wait(300);
        save("narrow");
        window().resize(1280, 800);
        ui::applyTextZoom(200);
        wait(300);
        save("large-text");
        ui::applyTextZoom(100);

        bool closed = false;
        QObject::connect(m_program.get(), &app::Application::closed, m_program.get(),
                         [&closed] { closed = true; });
        window().close();
        const bool ended = until([&] { return closed; });
        m_program.reset();
        return ended && m_ok;
    }

private:
    ui::MainWindow& window() { return m_program->window(); }
    void trigger(ui::ActionId id) { window().actionSet().action(id)->trigger(); }
    void wait(int ms) { QTest::qWait(ms); }
    template<class Condition> bool until(Condition condition, int ms = 60'000) {
        return QTest::qWaitFor(condition, ms);
    }
    qsizetype growing() {
        const ui::ConversationModel& model = m_program->chat().model();
        if (model.rowCount() < 2) return 0;
        return model.text(model.rowCount() - 1).size() +
               model.thinking(model.rowCount() - 1).size();
    }
    qsizetype answered() {
        const ui::ConversationModel& model = m_program->chat().model();
        return model.rowCount() < 2 || model.rowCount() % 2
                   ? 0
                   : model.text(model.rowCount() - 1).size();
    }
    void ask(const QString& text) {
        auto* field = window().composer().findChild<QPlainTextEdit*>();
        QTest::keyClicks(field, text);
        QTest::keyClick(field, Qt::Key_Return);
    }
    // A model that never ends by itself is stopped.
    bool askAndWait(const QString& text) {
        const int rows = m_program->chat().model().rowCount();
        ask(text);
        const auto idle = [&] { return m_program->runner().idle(); };
        if (!until([&] { return m_program->chat().model().rowCount() > rows; })) return false;
        until([&] { return idle() || growing() > 600; }, 30'000);
        if (!idle()) trigger(ui::ActionId::Stop);
        return until(idle);
    }
    void dark(bool on) {
        ui::applyTheme(on ? ui::ThemeChoice::Dark : ui::ThemeChoice::Light);
        wait(150);
    }
    void save(const QString& name) {
        const QString path = m_folder.filePath(name + ".png");
        m_ok = withFewColours(window().grab().toImage()).save(path, "PNG", 0) && m_ok;
        std::printf("%s\n", qPrintable(path));
        std::fflush(stdout);
    }

    QTemporaryDir m_data;
    QDir m_folder;
    QStringList m_trio;
    QString m_picture;
    std::unique_ptr<app::Application> m_program;
    bool m_ok = true;
};

} // namespace

int main(int argc, char** argv) {
    QApplication application(argc, argv);
    QApplication::setApplicationName("glint");
    const QStringList arguments = application.arguments();
    if (arguments.size() != 6) {
        std::fprintf(stderr, "usage: take_screenshots FOLDER MODEL VISION DRAFT PICTURE\n");
        return 2;
    }
    for (const QString& file : arguments.mid(2))
        if (!QFileInfo(file).isReadable()) {
            std::fprintf(stderr, "%s cannot be read\n", qPrintable(file));
            return 2;
        }
    QDir().mkpath(arguments[1]);
    ui::applyTheme(ui::ThemeChoice::Light);
    Camera camera(arguments[1], arguments.mid(2, 3), arguments[5]);
    if (camera.run()) return 0;
    std::fprintf(stderr, "not all pictures could be taken\n");
    return 1;
}

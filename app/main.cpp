// glint: the window's program. See application.h.

#include "app/application.h"
#include "app/error_text.h"
#include "app/model_library.h"
#include "app/single_instance.h"
#include "ui/theme.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

#include <cstdio>
#include <optional>

#ifndef _WIN32
#    include <QSocketNotifier>

#    include <csignal>
#    include <unistd.h>
#endif

namespace {

constexpr int kBadInput = 2; // exit code

void describe(QCommandLineParser& parser) {
    parser.setApplicationDescription(
        QStringLiteral("Glint: chat with Muse Glimmer on this computer, without a network."));
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addOptions({
        {QStringLiteral("model"), QStringLiteral("The model itself (GGUF)."),
         QStringLiteral("file")},
        {QStringLiteral("mmproj"), QStringLiteral("Its vision part (GGUF)."),
         QStringLiteral("file")},
        {QStringLiteral("draft"), QStringLiteral("Its drafter (GGUF)."), QStringLiteral("file")},
        {QStringLiteral("data-dir"), QStringLiteral("Keep chats and settings in this folder."),
         QStringLiteral("folder")},
        {QStringLiteral("demo"),
         QStringLiteral("Open the small demo model that comes with the program.")},
    });
    parser.addPositionalArgument(QStringLiteral("files"),
                                 QStringLiteral("Model files, or pictures for the next message."),
                                 QStringLiteral("[files...]"));
}

// Help and version need no display.
bool wantsText(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const QByteArray argument(argv[i]);
        if (argument == "--help" || argument == "-h" || argument == "--help-all" ||
            argument == "--version" || argument == "-v") {
            return true;
        }
    }
    return false;
}

// Qt warns once for each installed font that lacks the script of a letter on the screen: hundreds
// of lines for one word, without a category by which they could be turned off.
QtMessageHandler defaultHandler = nullptr;
void onMessage(QtMsgType type, const QMessageLogContext& context, const QString& message) {
    if (!message.startsWith(QLatin1String("  OpenType support missing")))
        defaultHandler(type, context, message);
}

// Names that neither this program nor Qt knows; found before a display is looked for.
QStringList unknownOptions(int argc, char** argv) {
    QStringList arguments;
    for (int i = 0; i < argc; ++i) arguments.append(QString::fromLocal8Bit(argv[i]));
    QCommandLineParser parser;
    describe(parser);
    parser.setSingleDashWordOptionMode(QCommandLineParser::ParseAsLongOptions);
    parser.parse(arguments);
    QStringList unknown = parser.unknownOptionNames();
    for (const char* name :
         {"platform", "platformpluginpath", "platformtheme", "plugin", "qwindowgeometry",
          "qwindowicon", "qwindowtitle", "reverse", "session", "display", "geometry", "fontengine",
          "style", "stylesheet", "widgetcount", "sync", "name", "title"}) {
        unknown.removeAll(QLatin1String(name));
    }
    return unknown;
}

int fail(const QString& sentence) {
    std::fprintf(stderr, "%s\n", qPrintable(sentence));
    return kBadInput;
}

void setNames() {
    QCoreApplication::setApplicationName(QStringLiteral("glint"));
    QCoreApplication::setApplicationVersion(QStringLiteral(GLINT_VERSION));
}

// What follows from the arguments. Relative paths mean the folder of this start, not of a first
// instance.
struct Arguments {
    app::StartOptions options;
    QStringList handOver; // for a first instance
};

std::optional<QString> read(const QCommandLineParser& parser, Arguments& out) {
    const auto absolute = [](const QString& path) { return QFileInfo(path).absoluteFilePath(); };
    QStringList models;
    for (const char* option : {"model", "mmproj", "draft"}) {
        for (const QString& file : parser.values(QLatin1String(option)))
            models.append(absolute(file));
    }
    for (const QString& file : parser.positionalArguments()) {
        const bool model = file.endsWith(QLatin1String(".gguf"), Qt::CaseInsensitive);
        (model ? models : out.options.attachments).append(absolute(file));
    }
    out.handOver = models + out.options.attachments;
    for (const QString& file : out.handOver) {
        if (!QFileInfo::exists(file))
            return QStringLiteral("glint: there is no file “%1”.").arg(file);
    }
    for (const QString& model : models) out.options.modelFiles.push_back(app::filePath(model));
    if (parser.isSet(QStringLiteral("demo"))) {
        out.options.modelFiles = app::demoFiles();
        if (out.options.modelFiles.empty())
            return QStringLiteral("glint: the demo model is not installed.");
    }
    QString folder = parser.value(QStringLiteral("data-dir"));
    if (folder.isEmpty())
        folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation);
    out.options.dataFolder = absolute(folder);
    if (!QDir().mkpath(out.options.dataFolder)) {
        return QStringLiteral("glint: the folder “%1” cannot be made.").arg(out.options.dataFolder);
    }
    return std::nullopt;
}

#ifndef _WIN32
int signalPipe[2] = {-1, -1};

extern "C" void onSignal(int) {
    const char byte = 1;
    // Nothing can be done in a handler if the pipe is full: then a wake-up is under way already.
    (void)!::write(signalPipe[1], &byte, 1);
}

// Ends the program as closing the window does, when the system or a terminal asks for it.
void closeOnSignals(app::Application& application) {
    if (::pipe(signalPipe) != 0) return;
    auto* const notifier = new QSocketNotifier(signalPipe[0], QSocketNotifier::Read, &application);
    QObject::connect(notifier, &QSocketNotifier::activated, &application, [&application, notifier] {
        notifier->setEnabled(false);
        application.close();
    });
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) std::signal(number, onSignal);
}
#endif

} // namespace

int main(int argc, char** argv) {
    setNames();
    if (wantsText(argc, argv)) {
        QCoreApplication text(argc, argv);
        QCommandLineParser parser;
        describe(parser);
        parser.process(text);
    }

    if (const QStringList unknown = unknownOptions(argc, argv); !unknown.isEmpty()) {
        return fail(QStringLiteral("glint: there is no option “%1”. See glint --help.")
                        .arg(unknown.front()));
    }

    defaultHandler = qInstallMessageHandler(onMessage);
    QApplication qt(argc, argv);
    QApplication::setApplicationDisplayName(QStringLiteral("Glint"));
    QApplication::setDesktopFileName(QStringLiteral("glint"));
    QApplication::setQuitOnLastWindowClosed(false);
    QCommandLineParser parser;
    describe(parser);
    if (!parser.parse(QCoreApplication::arguments())) {
        return fail(QStringLiteral("glint: %1 See glint --help.").arg(parser.errorText()));
    }
    Arguments arguments;
    if (const std::optional<QString> refusal = read(parser, arguments)) return fail(*refusal);

    app::SingleInstance instance(arguments.options.dataFolder);
    if (!instance.claim()) {
        if (instance.handOver(arguments.handOver)) return 0;
        return fail(
            QStringLiteral(
                "glint: another Glint uses “%1” and does not answer. Close it, or choose another "
                "folder with --data-dir.")
                .arg(arguments.options.dataFolder));
    }

    ui::applyTheme(ui::ThemeChoice::System);
    app::Application application(arguments.options);
    QObject::connect(&instance, &app::SingleInstance::startedAgain, &application,
                     &app::Application::startedAgain);
    QObject::connect(&application, &app::Application::closed, &qt, &QCoreApplication::quit,
                     Qt::QueuedConnection);
#ifndef _WIN32
    closeOnSignals(application);
#endif
    application.start();
    return QApplication::exec();
}

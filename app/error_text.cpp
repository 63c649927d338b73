#include "app/error_text.h"

#include "engine/base/path_text.h"

#include <QCoreApplication>
#include <QLocale>
#include <QTime>

namespace app {

using engine::Error;
using engine::ErrorCode;

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(ErrorText)
};

QString because(const Error& error) {
    return QString::fromStdString(error.message);
}

QString loadingText(const Error& error) {
    switch (error.code) {
    case ErrorCode::OutOfMemory:
        return Text::tr("There is not enough free memory for these files: %1. Use a shorter "
                        "conversation, leave "
                        "out a part, or close other programs.")
            .arg(because(error));
    case ErrorCode::InvalidFile:
        return Text::tr("A model file is not as it should be: %1. Choose another file, or download "
                        "it again.")
            .arg(because(error));
    case ErrorCode::Unfinished:
        return Text::
            tr("A model file is not whole: %1. Wait until its download has ended, then try again.")
                .arg(because(error));
    case ErrorCode::Unsupported:
        return Text::tr("Glint cannot use these files: %1. Choose other files.")
            .arg(because(error));
    case ErrorCode::Io:
        return Text::tr("A model file could not be read: %1. See whether it is still in its place, "
                        "and try again.")
            .arg(because(error));
    case ErrorCode::Device:
        return Text::tr("The device that computes did not answer: %1. Load the model again.")
            .arg(because(error));
    default: return Text::tr("The model could not be loaded: %1.").arg(because(error));
    }
}

QString answeringText(const Error& error) {
    switch (error.code) {
    case ErrorCode::OutOfMemory:
        return Text::tr("Memory ran out while answering: %1. Use a shorter conversation, or close "
                        "other programs.")
            .arg(because(error));
    case ErrorCode::Unsupported:
        return Text::tr("This message cannot be answered as it is: %1.").arg(because(error));
    case ErrorCode::Device:
        return Text::tr("The device that computes was lost: %1. Load the model again.")
            .arg(because(error));
    case ErrorCode::InvalidFile:
        return Text::tr("A part of this chat could not be read: %1.").arg(because(error));
    default: return Text::tr("The answer could not be written: %1. Try again.").arg(because(error));
    }
}

QString savingText(const Error& error) {
    return Text::tr("Not saved since %1: %2. The chat goes on; what is shown here is lost if Glint "
                    "ends before "
                    "it can be saved.")
        .arg(QLocale().toString(QTime::currentTime(), QLocale::ShortFormat), because(error));
}

QString historyText(const Error& error) {
    if (error.code == ErrorCode::Unsupported) {
        return Text::tr(
            "Your chats were written by a newer version of Glint and are left as they are. Chats "
            "from now on are not saved; install the newer version to see the others.");
    }
    return Text::tr("Your chats could not be opened: %1. New chats are not saved until this is "
                    "solved. Close "
                    "other programs that use the file, or see whether the disk is full, and start "
                    "Glint again.")
        .arg(because(error));
}

// error.message is the name of the format when a decoder is missing.
QString attachingText(const Error& error) {
    const QString format = because(error);
    const bool photo = format == QLatin1String("HEIC");
    if (error.code == ErrorCode::Unsupported &&
        (photo || format == QLatin1String("AVIF") || format == QLatin1String("WebP") ||
         format == QLatin1String("JPEG XL"))) {
        if (photo) {
            return Text::tr("This is an HEIC photo, and nothing on this computer can open it for "
                            "Glint. Save it "
                            "as JPEG and attach that.");
        }
        return Text::tr("This is a picture in the %1 format, and nothing on this computer can open "
                        "it for Glint. "
                        "Save it as JPEG or PNG and attach that.")
            .arg(format);
    }
    if (error.code == ErrorCode::Unsupported && format == QLatin1String("PDF")) {
        return Text::tr(
            "Glint does not read PDF files yet. Attach a picture of the page, or paste its text.");
    }
    if (error.code == ErrorCode::Io)
        return Text::tr("The file could not be read: %1.").arg(because(error));
    return Text::tr("This file cannot be attached: %1.").arg(because(error));
}

QList<ui::Remedy> remediesFor(const Error& error, Doing doing) {
    QList<ui::Remedy> list;
    const auto add = [&](const char* id, const QString& text) {
        list.append({QString::fromLatin1(id), text});
    };
    if (doing == Doing::LoadingModel) {
        if (error.code == ErrorCode::OutOfMemory) {
            add(remedy::kShorter, Text::tr("Use Shorter Conversation"));
            add(remedy::kWithoutVision, Text::tr("Leave Out Vision Part"));
            add(remedy::kWithoutDraft, Text::tr("Turn Draft Help Off"));
        }
        add(remedy::kReload, Text::tr("Try Again"));
        add(remedy::kChooseFiles, Text::tr("Choose Files…"));
    } else if (doing == Doing::Answering) {
        if (error.code == ErrorCode::Unsupported) {
            add(remedy::kNewChat, Text::tr("Start New Chat"));
            add(remedy::kMoreRoom, Text::tr("Reload with More Room…"));
        } else if (error.code == ErrorCode::Device) {
            add(remedy::kReload, Text::tr("Reload Model"));
        } else if (error.code == ErrorCode::OutOfMemory) {
            add(remedy::kMoreRoom, Text::tr("Change Conversation Length…"));
        }
        add(remedy::kTryAgain, Text::tr("Try Again"));
    } else if (doing == Doing::Saving) {
        add(remedy::kSaveAgain, Text::tr("Try Again"));
    }
    return list;
}

} // namespace

QString errorText(const Error& error, Doing doing) {
    if (error.code == ErrorCode::Cancelled) return {};
    switch (doing) {
    case Doing::LoadingModel: return loadingText(error);
    case Doing::Answering: return answeringText(error);
    case Doing::Saving: return savingText(error);
    case Doing::OpeningHistory: return historyText(error);
    case Doing::Attaching: return attachingText(error);
    }
    return because(error);
}

ui::Notice errorNotice(const QString& id, const Error& error, Doing doing) {
    ui::Notice notice;
    notice.id = id;
    notice.kind = doing == Doing::Saving || doing == Doing::OpeningHistory ? ui::NoticeKind::Warning
                                                                           : ui::NoticeKind::Bad;
    notice.text = errorText(error, doing);
    notice.remedies = remediesFor(error, doing);
    return notice;
}

ui::Notice setAsideNotice(const std::filesystem::path& keptAs) {
    ui::Notice notice;
    notice.id = QStringLiteral("history");
    notice.kind = ui::NoticeKind::Warning;
    notice.text =
        Text::tr(
            "Your chats could not be read: the file is damaged or belongs to another program. It "
            "was kept as “%1”, and a new history begins here.")
            .arg(pathText(keptAs.filename()));
    notice.details = pathText(keptAs);
    return notice;
}

QString pathText(const std::filesystem::path& path) {
    return QString::fromStdString(engine::pathToUtf8(path));
}

std::filesystem::path filePath(const QString& path) {
    return engine::pathFromUtf8(path.toStdString());
}

} // namespace app

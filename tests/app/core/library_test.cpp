#include "app/model_library.h"
#include "tests/app/core/core_tests.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

using namespace app;
using engine::FileRole;
using engine::FileState;

namespace {

QString trio(const char* name) {
    return QStringLiteral(GLINT_FIXTURES "/oracle/tiny-f32/") + QLatin1String(name);
}

void write(const QString& path, const QByteArray& bytes) {
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(bytes);
}

} // namespace

class LibraryTest : public QObject {
    Q_OBJECT

private slots:
    void modelsAreFoundByTheirContents() {
        QTemporaryDir folder;
        const QDir dir(folder.path());
        QVERIFY(dir.mkpath(QStringLiteral("deep/er")));
        QVERIFY(dir.mkpath(QStringLiteral("blobs")));
        QVERIFY(QFile::copy(trio("target.gguf"),
                            dir.filePath(QStringLiteral("deep/er/any name.GGUF"))));
        QVERIFY(
            QFile::copy(trio("mmproj.gguf"), dir.filePath(QStringLiteral("blobs/sha256-1234"))));
        QVERIFY(QFile::link(dir.filePath(QStringLiteral("deep/er/any name.GGUF")),
                            dir.filePath(QStringLiteral("link.gguf"))));
        QVERIFY(QFile::link(folder.path(), dir.filePath(QStringLiteral("deep/circle"))));
        write(dir.filePath(QStringLiteral("letter.gguf")), "Dear Sir");
        QFile part(trio("dflash.gguf"));
        QVERIFY(part.open(QIODevice::ReadOnly));
        write(dir.filePath(QStringLiteral("dflash.gguf")), part.read(part.size() / 2));

        QStringList entered;
        const std::vector<LibraryPlace> places = {
            {folder.path().toStdString(), QStringLiteral("here"), false},
            {dir.filePath(QStringLiteral("blobs")).toStdString(), QStringLiteral("blobs"), true}};
        const auto found =
            lookForModels(places, {}, [&](const QString& name) { entered.append(name); });
        QCOMPARE(entered, QStringList({QStringLiteral("here"), QStringLiteral("blobs")}));
        QCOMPARE(found.size(), std::size_t(3)); // the target once, though a link leads to it
        const auto has = [&](FileRole role, FileState state) {
            return std::count_if(found.begin(), found.end(), [&](const LibraryFile& file) {
                return file.info.role == role && file.info.state == state;
            });
        };
        QCOMPARE(has(FileRole::Target, FileState::Whole), 1);
        QCOMPARE(has(FileRole::Projector, FileState::Whole), 1);
        QCOMPARE(has(FileRole::Drafter, FileState::Unfinished), 1);
    }

    void lookingStopsWhenAsked() {
        std::stop_source stop;
        stop.request_stop();
        const std::vector<LibraryPlace> places = {
            {GLINT_FIXTURES, QStringLiteral("fixtures"), false}};
        QVERIFY(lookForModels(places, stop.get_token(), [](const QString&) {}).empty());
    }

    void aFaultyPartIsLeftOutWithItsReason() {
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("faulty.gguf"));
        QFile whole(trio("mmproj.gguf"));
        QVERIFY(whole.open(QIODevice::ReadOnly));
        QByteArray bytes = whole.readAll();
        const QByteArray key("clip.vision.attention.head_count");
        const qsizetype value = bytes.indexOf(key) + key.size() + 4; // behind the value's type
        QVERIFY(value > key.size() + 4);
        bytes.replace(value, 4, QByteArray(4, 0));
        write(path, bytes);
        engine::ModelSlots chosen = engine::sortIntoSlots(std::vector<std::filesystem::path>{
            trio("target.gguf").toStdString(), path.toStdString()});
        QVERIFY(chosen.projector);
        const auto input = placementInput(chosen);
        QVERIFY(input.ok());
        QVERIFY(!input->vision && !chosen.projector);
        QCOMPARE(chosen.refused.size(), std::size_t(1));
        QVERIFY(chosen.refused[0].sentence.find("head_count") != std::string::npos);
        QVERIFY(chosen.refused[0].sentence.ends_with("."));
    }

    void whatLiesBesideTheModelCompletesIt() {
        engine::ModelSlots chosen = engine::sortIntoSlots(
            std::vector<std::filesystem::path>{trio("target.gguf").toStdString()});
        QVERIFY(chosen.target && !chosen.projector && !chosen.drafter);
        chosen = withCompanions(chosen);
        QVERIFY(chosen.projector && chosen.projector->role == FileRole::Projector);
        QVERIFY(chosen.drafter && chosen.drafter->role == FileRole::Drafter);
        const auto input = placementInput(chosen);
        QVERIFY(input.ok());
        QVERIFY(input->vision && input->draft && input->modelBytes > 0);
    }
};

std::unique_ptr<QObject> makeLibraryTest() {
    return std::make_unique<LibraryTest>();
}
#include "library_test.moc"

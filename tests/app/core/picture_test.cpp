#include "app/attachments.h"
#include "app/error_text.h"
#include "app/picture_reading.h"
#include "tests/app/core/core_tests.h"
#include "tests/app/result_checks.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace app;

namespace {

std::vector<std::byte> bytesOf(const QByteArray& text) {
    const auto* data = reinterpret_cast<const std::byte*>(text.constData());
    return {data, data + text.size()};
}

// The vision part as released: cells of 28 pixels, at most 4096 of them.
engine::VisionSpec releasedSpec() {
    engine::VisionSpec spec;
    spec.patchSize = 14;
    spec.mergeSize = 2;
    spec.maxCells = 4096;
    return spec;
}

} // namespace

class PictureTest : public QObject {
    Q_OBJECT

private slots:
    void transparentPicturesLieOnWhite() {
        QImage image(8, 4, QImage::Format_ARGB32);
        image.fill(Qt::transparent);
        image.setPixelColor(0, 0, QColor(10, 20, 30));
        const ReadPicture picture = valueOf(readPicture(bytesOf(pngBytes(image))));
        QCOMPARE(picture.mimeType, QStringLiteral("image/png"));
        QCOMPARE(picture.image->width, 8);
        QCOMPARE(picture.image->height, 4);
        QCOMPARE(int(picture.image->pixels[0]), 10);
        QCOMPARE(int(picture.image->pixels[3]), 255);
    }

    void svgComesThroughQtsPlugIn() {
        const QByteArray svg = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20'>"
                               "<rect width='40' height='20' fill='#ff0000'/></svg>";
        const ReadPicture picture = valueOf(readPicture(bytesOf(svg)));
        QCOMPARE(picture.image->width, 40);
        QCOMPARE(int(picture.image->pixels[0]), 255);
        QCOMPARE(int(picture.image->pixels[1]), 0);
    }

    void unknownFormatsAreNamed_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("word");
        QTest::newRow("heic") << QByteArray("\0\0\0\x18"
                                            "ftypheic\0\0\0\0",
                                            16) +
                                     QByteArray(99, 'x')
                              << QStringLiteral("HEIC");
        QTest::newRow("avif") << QByteArray("\0\0\0\x18"
                                            "ftypavif\0\0\0\0",
                                            16) +
                                     QByteArray(99, 'x')
                              << QStringLiteral("AVIF");
        QTest::newRow("truncated webp, named or not")
            << QByteArray("RIFF\x40\0\0\0WEBPVP8 ", 16) << QStringLiteral("WebP");
        QTest::newRow("pdf") << QByteArray("%PDF-1.7\n") << QStringLiteral("PDF");
    }
    void unknownFormatsAreNamed() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, word);
        const auto picture = readPicture(bytesOf(bytes));
        QVERIFY(!picture.ok());
        const QString sentence = errorText(picture.error(), Doing::Attaching);
        // A WebP decoder may be installed; then the file is called broken instead.
        if (picture.error().code == engine::ErrorCode::Unsupported)
            QVERIFY2(sentence.contains(word), qPrintable(sentence));
        QVERIFY(sentence.endsWith(QLatin1Char('.')));
    }

    void aTextFileBecomesTextAndAFolderIsRefused() {
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("notes.txt"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("A<|eot|>B\nzweite Zeile: ü\n");
        file.close();
        Disk disk;
        const Disk::Attached attached = valueOf(disk.attachFile(path));
        QCOMPARE(attached.text, QStringLiteral("A<|eot|>B\nzweite Zeile: ü\n"));
        QVERIFY(attached.attachment.sha256.empty());
        QVERIFY(!disk.attachFile(folder.path()).ok());
        QVERIFY(!disk.attachFile(folder.filePath(QStringLiteral("missing.png"))).ok());
    }

    void brokenPicturesAreErrors() {
        QImage image(64, 64, QImage::Format_RGB32);
        image.fill(Qt::blue);
        const QByteArray whole = pngBytes(image);
        for (const QByteArray& bytes :
             {QByteArray(), QByteArray("\x89PNG"), whole.left(whole.size() / 2),
              QByteArray("<html>no picture</html>")}) {
            QVERIFY(!readPicture(bytesOf(bytes)).ok());
        }
    }

    // Sizes of the published resize rule.
    void theChipSaysHowMuchAPictureShrinks_data() {
        QTest::addColumn<int>("width");
        QTest::addColumn<int>("height");
        QTest::addColumn<int>("maxCells");
        QTest::addColumn<int>("percent");
        QTest::newRow("a screenshot") << 1920 << 1080 << 4096 << 100;
        QTest::newRow("4K") << 3840 << 2160 << 4096 << 62;
        QTest::newRow("a long page") << 1440 << 8000 << 4096 << 53;
        QTest::newRow("a tall strip") << 390 << 8000 << 4096 << 100;
        // A cell more or less is much where the vision part takes few.
        QTest::newRow("all of a small bound") << 252 << 140 << 45 << 100;
        QTest::newRow("just above it") << 196 << 196 << 45 << 86;
        QTest::newRow("a cell lost of four") << 112 << 364 << 45 << 75;
        QTest::newRow("a strip narrower than a cell") << 2 << 4000 << 4096 << 100;
        QTest::newRow("such a strip, cut to the bound") << 2 << 4000 << 45 << 32;
        QTest::newRow("a single cell") << 56 << 56 << 1 << 50;
    }
    void theChipSaysHowMuchAPictureShrinks() {
        QFETCH(int, width);
        QFETCH(int, height);
        QFETCH(int, maxCells);
        QFETCH(int, percent);
        engine::VisionSpec spec = releasedSpec();
        spec.maxCells = maxCells;
        const PicturePrice price = picturePrice(width, height, spec);
        QVERIFY2(std::abs(price.percent - percent) <= 1,
                 qPrintable(QString::number(price.percent)));
        QVERIFY(price.tokens > 0 && price.tokens <= maxCells + 2);
    }
};

std::unique_ptr<QObject> makePictureTest() {
    return std::make_unique<PictureTest>();
}
#include "picture_test.moc"

#include "ui_tests.h"

#include "ui/controls.h"
#include "ui/theme.h"

#include <QApplication>
#include <QDir>
#include <QLabel>
#include <QTest>

using namespace ui;

class ThemeTest : public QObject {
    Q_OBJECT
private slots:
    void contrastOfKnownPairsIsRight() {
        QVERIFY(qAbs(contrastRatio(Qt::black, Qt::white) - 21.0) < 0.01);
        QVERIFY(qAbs(contrastRatio(Qt::white, Qt::white) - 1.0) < 0.001);
        QVERIFY(qAbs(contrastRatio(QColor(0x77, 0x77, 0x77), Qt::white) - 4.48) < 0.01);
    }

    void textAndGraphsCanBeReadInBothThemes_data() {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }

    void textAndGraphsCanBeReadInBothThemes() {
        QFETCH(bool, dark);
        const Colours c = dark ? darkColours() : lightColours();
        const std::pair<const char*, QColor> backgrounds[] = {
            {"window", c.window}, {"surface", c.surface}, {"raised", c.raised}};
        const std::pair<const char*, QColor> texts[] = {{"text", c.text},     {"muted", c.muted},
                                                        {"accent", c.accent}, {"fourth", c.fourth},
                                                        {"good", c.good},     {"bad", c.bad}};
        const std::pair<const char*, QColor> graphs[] = {{"accent", c.accent},
                                                         {"second", c.second},
                                                         {"third", c.third},
                                                         {"fourth", c.fourth},
                                                         {"muted", c.muted}};
        for (const auto& [backName, back] : backgrounds) {
            for (const auto& [name, colour] : texts)
                QVERIFY2(contrastRatio(colour, back) >= 4.5,
                         qPrintable(QString("%1 on %2: %3")
                                        .arg(name, backName)
                                        .arg(contrastRatio(colour, back))));
            for (const auto& [name, colour] : graphs)
                QVERIFY2(contrastRatio(colour, back) >= 3.0,
                         qPrintable(QString("%1 on %2: %3")
                                        .arg(name, backName)
                                        .arg(contrastRatio(colour, back))));
        }
        QVERIFY(contrastRatio(c.onAccent, c.accent) >= 4.5);
        // Marked text is drawn in the window's colour on `fourth`.
        QVERIFY(contrastRatio(c.window, c.fourth) >= 4.5);
    }

    void highContrastPalettesWin() {
        QPalette system;
        for (auto role : {QPalette::Window, QPalette::Base, QPalette::Button})
            system.setColor(role, Qt::black);
        for (auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
            system.setColor(role, Qt::white);
        system.setColor(QPalette::Highlight, Qt::yellow);
        system.setColor(QPalette::HighlightedText, Qt::black);
        QVERIFY(isHighContrast(system));
        const Colours c = highContrastColours(system);
        QCOMPARE(c.window, QColor(Qt::black));
        QCOMPARE(c.text, QColor(Qt::white));
        QCOMPARE(c.muted, QColor(Qt::white));
        QCOMPARE(c.accent, QColor(Qt::yellow));
        system.setColor(QPalette::Button, QColor(0xEF, 0xEF, 0xEF));
        QVERIFY(!isHighContrast(system));
    }

    void styleSheetNamesOnlyColoursThatExist() {
        applyTheme(ThemeChoice::Dark);
        QVERIFY(!qApp->styleSheet().isEmpty());
        const qsizetype left = qApp->styleSheet().indexOf('@');
        QVERIFY2(left < 0, qPrintable(qApp->styleSheet().mid(left, 30)));
        applyTheme(ThemeChoice::Light);
        QVERIFY(!qApp->styleSheet().contains('@'));
    }

    void everyIconDrawsSomethingInTheColourOfTheTheme() {
        const QStringList files = QDir(":/icons").entryList({"*.svg"});
        QVERIFY(files.size() > 20);
        for (const QString& file : files) {
            const QByteArray name = file.chopped(4).toLatin1();
            if (name == "glint" || name.endsWith("-light") || name.endsWith("-dark")) continue;
            applyTheme(ThemeChoice::Light);
            const QImage light = icon(name.constData()).pixmap(20, 20).toImage();
            applyTheme(ThemeChoice::Dark);
            const QImage dark = icon(name.constData()).pixmap(20, 20).toImage();
            applyTheme(ThemeChoice::Light);
            QVERIFY2(light != dark, name.constData());
            int drawn = 0;
            for (int y = 0; y < light.height(); ++y)
                for (int x = 0; x < light.width(); ++x) drawn += qAlpha(light.pixel(x, y)) > 64;
            QVERIFY2(drawn > 8, name.constData());
        }
    }

    void iconsBesideTextFollowTheTheme() {
        IconLabel mark;
        mark.setIcon("check", &Colours::good, "In order");
        mark.resize(mark.sizeHint());
        applyTheme(ThemeChoice::Light);
        const QImage light = mark.grab().toImage();
        applyTheme(ThemeChoice::Dark);
        QVERIFY(mark.grab().toImage() != light);
        applyTheme(ThemeChoice::Light);
        QCOMPARE(mark.grab().toImage(), light);
    }

    void textZoomReachesEveryRoleAndIsClamped() {
        QLabel caption;
        setFontRole(&caption, FontRole::Caption);
        applyTextZoom(100);
        const double before = caption.font().pointSizeF();
        applyTextZoom(200);
        QVERIFY(qAbs(caption.font().pointSizeF() / before - 2.0) < 0.05);
        applyTextZoom(10'000);
        QCOMPARE(textZoom(), kMaxTextZoom);
        applyTextZoom(1);
        QCOMPARE(textZoom(), kMinTextZoom);
        applyTextZoom(100);
    }
};

std::unique_ptr<QObject> makeThemeTest() {
    return std::make_unique<ThemeTest>();
}

#include "theme_test.moc"

#include "app/settings.h"
#include "tests/app/core/core_tests.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace app;

class SettingsTest : public QObject {
    Q_OBJECT

private slots:
    void everyValueComesBack() {
        QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("settings.ini"));
        ui::SettingsValues values;
        values.theme = ui::ThemeChoice::Dark;
        values.textZoom = 150;
        values.enterSends = false;
        values.searchThinking = true;
        values.strength = engine::ThinkingStrength::ExtraHigh;
        values.draftLength.tokens = 12;
        values.sampling = {0.5f, 40, 0.75f, 0.25f, 1.5f, 128};
        values.threads = 3;
        engine::ModelFiles files{"/a/möd el.gguf", "/b.gguf", {}};
        ui::PlanChoice plan{4096, false, true};
        {
            Settings settings(file);
            settings.setValues(values);
            settings.setModelFiles(files);
            settings.setPlan(plan);
            settings.setOpenChat(1796000386869995);
            settings.setWindowLayout("\x01\x00layout");
            settings.setSaid(QStringLiteral("hint"));
        }
        const Settings settings(file);
        QVERIFY(settings.values() == values);
        QVERIFY(settings.modelFiles().target == files.target);
        QVERIFY(settings.modelFiles().drafter.empty());
        QVERIFY(settings.plan() == plan);
        QCOMPARE(settings.openChat(), qint64(1796000386869995));
        QCOMPARE(settings.windowLayout(), QByteArray("\x01\x00layout"));
        QVERIFY(settings.wasSaid(QStringLiteral("hint")));
        QVERIFY(!settings.wasSaid(QStringLiteral("another")));
    }

    void garbageReadsAsTheDefault() {
        QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("settings.ini"));
        const QStringList keys = {
            "window/theme",          "window/textZoom",     "window/enterSends",
            "window/searchThinking", "chat/strength",       "chat/draftLength",
            "sampling/temperature",  "sampling/topK",       "sampling/topP",
            "sampling/minP",         "sampling/repetition", "sampling/repetitionWindow",
            "engine/threads",        "window/openChat",     "model/contextTokens",
            "model/useVision",       "model/useDraft",      "said/hint"};
        for (const char* bytes : {"", "-7000", "nan", "1e400", "yes please", "\xff\xfe"}) {
            const QString garbage = QString::fromLatin1(bytes);
            {
                QSettings ini(file, QSettings::IniFormat);
                for (const QString& key : keys) ini.setValue(key, garbage);
            }
            const Settings settings(file);
            QVERIFY2(settings.values() == ui::SettingsValues(), qPrintable(garbage));
            QVERIFY2(settings.plan() == (ui::PlanChoice{0, true, true}), qPrintable(garbage));
            QCOMPARE(settings.openChat(), qint64(0));
            QVERIFY(!settings.wasSaid(QStringLiteral("hint")));
        }
    }

    void aFileThatIsNoIniFileReadsAsDefaults() {
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("settings.ini"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray(5000, '\0'));
        file.close();
        QVERIFY(Settings(path).values() == ui::SettingsValues());
    }
};

std::unique_ptr<QObject> makeSettingsTest() {
    return std::make_unique<SettingsTest>();
}
#include "settings_test.moc"

#include "app/model_slots.h"
#include "app/rate_meter.h"
#include "tests/app/core/core_tests.h"

#include <QtTest>

using app::RateMeter;

class RateTest : public QObject {
    Q_OBJECT
private slots:
    void aMomentHasNoRate() {
        RateMeter meter;
        QVERIFY(!meter.take(1, 1, 0.00003, false));
        QVERIFY(!meter.take(1, 16, 0.03, false));
        QVERIFY(!meter.take(1, 20, 0.49, false));
        QCOMPARE(meter.take(1, 30, 0.5, false).value_or(0), 60.0);
    }

    void theLastRateStandsUntilTheNextSpan() {
        RateMeter meter;
        QCOMPARE(meter.take(1, 50, 0.5, false).value_or(0), 100.0);
        QCOMPARE(meter.take(1, 66, 0.51, false).value_or(0), 100.0);
        QCOMPARE(meter.take(1, 70, 1.0, false).value_or(0), 40.0);
    }

    void shortWorkHasOneRateOverAllOfIt() {
        RateMeter meter;
        QVERIFY(!meter.take(1, 4, 0.001, false));
        QCOMPARE(meter.take(1, 20, 0.2, true).value_or(0), 100.0);
        QVERIFY(!meter.take(1, 20, 0.2, true)); // it is told once
        RateMeter tiny;
        QVERIFY(!tiny.take(1, 3, 0.0001, true));
    }

    void theNextAnswerBeginsAnew() {
        RateMeter meter;
        QVERIFY(meter.take(1, 500, 5.0, false).has_value());
        QVERIFY(!meter.take(1, 500, 5.0, true));
        QVERIFY(!meter.take(2, 2, 0.01, false));
        QCOMPARE(meter.take(2, 22, 1.0, false).value_or(0), 22.0);
    }

    // Answers of a fast model begin and end between two looks, and may be longer than the last.
    void noShortAnswerIsMissed() {
        RateMeter meter;
        QCOMPARE(meter.take(1, 20, 0.1, true).value_or(0), 200.0);
        QCOMPARE(meter.take(2, 60, 0.2, true).value_or(0), 300.0);
        QVERIFY(!meter.take(2, 60, 0.2, true));
    }

    void theDemoModelIsCalledWhatItIs() {
        engine::ModelFileInfo info;
        info.name = "Glint Demo";
        QVERIFY(app::isDemoModel(info));
        QVERIFY(app::modelName(info).contains("Demo model"));
        info.name = "Muse Glimmer 30B";
        QVERIFY(!app::isDemoModel(info));
        QCOMPARE(app::modelName(info), QString("Muse Glimmer 30B"));
    }
};

std::unique_ptr<QObject> makeRateTest() {
    return std::make_unique<RateTest>();
}
#include "rate_test.moc"

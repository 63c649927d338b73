// One program for all small tests of the app room: each class says what it proves.

#include "tests/app/core/core_tests.h"

#include <QApplication>
#include <QtTest>

int main(int argc, char** argv) {
    QApplication application(argc, argv);
    int failures = 0;
    for (const auto& make : coreTests()) {
        const std::unique_ptr<QObject> test = make();
        failures += QTest::qExec(test.get(), argc, argv);
    }
    return failures == 0 ? 0 : 1;
}

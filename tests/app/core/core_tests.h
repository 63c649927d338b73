#pragma once
// The test classes of this program, each made by a function of its file.

#include <QObject>

#include <functional>
#include <memory>
#include <vector>

using TestMaker = std::function<std::unique_ptr<QObject>()>;

std::unique_ptr<QObject> makeChatTest();
std::unique_ptr<QObject> makePictureTest();
std::unique_ptr<QObject> makeLibraryTest();
std::unique_ptr<QObject> makeSettingsTest();
std::unique_ptr<QObject> makeSavingTest();
std::unique_ptr<QObject> makeRateTest();

inline std::vector<TestMaker> coreTests() {
    return {makeChatTest,     makePictureTest, makeLibraryTest,
            makeSettingsTest, makeSavingTest,  makeRateTest};
}

#pragma once
// The test classes of this program, each made in its own file.

#include <QObject>

#include <memory>

std::unique_ptr<QObject> makeThemeTest();
std::unique_ptr<QObject> makeMarkdownTest();
std::unique_ptr<QObject> makeActionTableTest();
std::unique_ptr<QObject> makeComposerTest();
std::unique_ptr<QObject> makeTranscriptTest();
std::unique_ptr<QObject> makeWindowTest();

#include "engine/base/log.h"

#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace engine {
namespace {

class Log : public testing::Test {
protected:
    void SetUp() override {
        setLogSink([this](LogLevel, std::string_view line) { m_lines.emplace_back(line); });
    }
    void TearDown() override {
        setLogSink({});
        setLogLevel(LogLevel::Warning);
    }
    std::vector<std::string> m_lines; // guarded by the log's own lock
};

TEST_F(Log, PassesWhatIsAtLeastTheLevel) {
    log(LogLevel::Debug, "quiet");
    log(LogLevel::Info, "quiet");
    log(LogLevel::Warning, "heard");
    setLogLevel(LogLevel::Debug);
    log(LogLevel::Debug, "heard too");
    setLogLevel(LogLevel::Off);
    log(LogLevel::Error, "quiet");
    ASSERT_EQ(m_lines.size(), 2u);
    EXPECT_TRUE(m_lines[0].ends_with("Z warning: heard")) << m_lines[0];
    EXPECT_TRUE(m_lines[1].ends_with("Z debug: heard too")) << m_lines[1];
}

TEST_F(Log, MakesOneLineOfOneMessage) {
    log(LogLevel::Error, "first\nsecond\r\nthird");
    ASSERT_EQ(m_lines.size(), 1u);
    EXPECT_TRUE(m_lines[0].ends_with("first second  third")) << m_lines[0];
}

TEST_F(Log, TakesLinesFromManyThreads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([] {
            for (int i = 0; i < 500; ++i) log(LogLevel::Error, "a line");
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(m_lines.size(), 2000u);
}

TEST_F(Log, AppendsToAFile) {
    const test::TempDir dir;
    setLogSink({});
    EXPECT_FALSE(setLogFile(dir / "no such folder" / "log").ok());
    ASSERT_TRUE(setLogFile(dir / "log").ok());
    log(LogLevel::Error, "kept");
    const std::string text = test::readWholeFile(dir / "log");
    EXPECT_TRUE(text.ends_with("error: kept\n")) << text;
}

} // namespace
} // namespace engine

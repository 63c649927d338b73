#include "engine/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace engine {
namespace {

class ThreadPoolOf : public testing::TestWithParam<int> {};

TEST_P(ThreadPoolOf, CallsEveryThreadOncePerRound) {
    ThreadPool pool(GetParam());
    ASSERT_EQ(pool.threads(), GetParam());
    std::vector<std::int64_t> calls(
        static_cast<std::size_t>(GetParam())); // one slot per thread: no race
    const std::thread::id caller = std::this_thread::get_id();
    for (int round = 0; round < 500; ++round) {
        pool.parallel([&](int index, int count) {
            ASSERT_EQ(count, GetParam());
            ASSERT_EQ(index == 0, std::this_thread::get_id() == caller);
            ++calls[static_cast<std::size_t>(index)];
        });
        // All have returned: the counts are visible here.
        for (const std::int64_t count : calls) ASSERT_EQ(count, round + 1);
    }
}

TEST_P(ThreadPoolOf, HandsOutEveryTaskOnce) {
    ThreadPool pool(GetParam());
    for (const std::int64_t tasks : {0, 1, 7, 1000}) {
        std::vector<std::atomic<int>> done(static_cast<std::size_t>(tasks));
        pool.run(tasks, [&](std::int64_t task) { ++done[static_cast<std::size_t>(task)]; });
        for (const std::atomic<int>& count : done) ASSERT_EQ(count, 1);
    }
}

TEST_P(ThreadPoolOf, WakesAfterSleeping) {
    ThreadPool pool(GetParam());
    std::atomic<int> calls = 0;
    for (int i = 0; i < 5; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2)); // far beyond the spinning
        pool.parallel([&](int, int) { ++calls; });
    }
    EXPECT_EQ(calls, 5 * GetParam());
}

TEST_P(ThreadPoolOf, EndsAtOnceWithoutWork) {
    for (int i = 0; i < 20; ++i) ThreadPool pool(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Counts, ThreadPoolOf, testing::Values(1, 2, 3, 8));

} // namespace
} // namespace engine

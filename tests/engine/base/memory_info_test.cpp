#include "engine/base/memory_info.h"

#include <gtest/gtest.h>

namespace engine {
namespace {

TEST(MemoryInfo, KnowsThisComputer) {
    const MemoryInfo info = memoryInfo();
    EXPECT_GT(info.totalBytes, 64'000'000);
    EXPECT_GT(info.freeBytes, 0);
    EXPECT_LE(info.freeBytes, info.totalBytes);
}

} // namespace
} // namespace engine

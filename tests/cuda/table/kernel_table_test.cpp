// What is known of the kernels without a card.

#include "cuda/faults.h"
#include "cuda/kernel_images.h"
#include "cuda/kernel_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

namespace cuda::test {

namespace {

bool has(std::span<const KernelImage> images, std::string_view name) {
    return std::any_of(images.begin(), images.end(),
                       [&](const KernelImage& image) { return image.name == name; });
}

} // namespace

TEST(KernelTable, EveryKernelHasOneLineAndAnImage) {
    std::set<std::string_view> names, used;
    for (int i = 0; i < int(KernelId::kCount); ++i) {
        const KernelInfo& info = kernelInfo(KernelId(i));
        EXPECT_TRUE(names.insert(info.name).second) << info.name;
        EXPECT_TRUE(has(builtinImages(), info.image)) << info.name << " in " << info.image;
        EXPECT_TRUE(has(plainImages(), info.image)) << info.name << " in " << info.image;
        EXPECT_GE(info.sharedBytes, 0);
        used.insert(info.image);
    }
    EXPECT_EQ(used.size(), builtinImages().size()) << "an image without kernels";
}

TEST(KernelTable, ImagesAreWhatTheDriverLoads) {
    for (const auto images : {builtinImages(), plainImages()}) {
        ASSERT_FALSE(images.empty());
        for (const KernelImage& image : images) {
            constexpr std::uint32_t kFatbin = 0xba55ed50;
            std::uint32_t magic = 0;
            std::uint64_t bytes = 0; // after the header of 16
            ASSERT_GT(image.bytes.size(), 16u);
            std::memcpy(&magic, image.bytes.data(), 4);
            std::memcpy(&bytes, image.bytes.data() + 8, 8);
            EXPECT_EQ(magic, kFatbin) << image.name;
            EXPECT_EQ(image.bytes.size(), bytes + 16) << image.name;
        }
    }
}

TEST(FaultPlan, FailsFromTheChosenOneOn) {
    FaultPlan plan;
    EXPECT_FALSE(plan.failAllocation());
    plan.allocation = 2;
    EXPECT_FALSE(plan.failAllocation());
    EXPECT_TRUE(plan.failAllocation());
    EXPECT_TRUE(plan.failAllocation());
    EXPECT_FALSE(plan.failLaunch());
    EXPECT_EQ(plan.allocations, 4);
    EXPECT_EQ(plan.launches, 1);
}

} // namespace cuda::test

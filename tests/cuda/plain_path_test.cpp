// What older cards run gives the text that this card's own kernels give.

#include "tests/cuda/demo.h"

#include <vector>

namespace cuda::test {

namespace {

CudaOptions oldestCard() {
    CudaOptions options;
    options.images = plainImages();
    options.limits.computeCapability = kOldestCapability;
    options.limits.sharedBytesPerBlock = 64 << 10;
    return options;
}

// This card's kernels but for those of `other`.
std::vector<KernelImage> imagesWith(std::span<const KernelImage> other) {
    std::vector<KernelImage> images(builtinImages().begin(), builtinImages().end());
    for (KernelImage& image : images)
        for (const KernelImage& each : other)
            if (each.name == image.name) image = each;
    return images;
}

} // namespace

TEST(PlainPath, ComputesAsTheProcessorDoes) {
    auto backend = CudaBackend::make(oldestCard()); // with its self test
    EXPECT_TRUE(backend.ok()) << (backend ? "" : backend.error().message);
}

TEST(PlainPath, WritesTheSameText) {
    auto own = loadDemo(CudaOptions{});
    ASSERT_TRUE(own.ok()) << own.error().message;
    auto plain = loadDemo(oldestCard());
    ASSERT_TRUE(plain.ok()) << plain.error().message;
    const DemoAnswer a = askDemo(**own), b = askDemo(**plain);
    ASSERT_TRUE(a.end.ok()) << a.end.error().message;
    ASSERT_TRUE(b.end.ok()) << b.end.error().message;
    EXPECT_GT(a.text.size(), 40u);
    EXPECT_EQ(a.text, b.text);
}

TEST(AsyncPath, WritesTheSameText) {
    const std::vector<KernelImage> images = imagesWith(asyncImages());
    CudaOptions options;
    options.images = images;
    options.limits = {86, 99 << 10};
    auto own = loadDemo(CudaOptions{});
    ASSERT_TRUE(own.ok()) << own.error().message;
    auto async = loadDemo(options); // with the self test
    ASSERT_TRUE(async.ok()) << async.error().message;
    const DemoAnswer a = askDemo(**own), b = askDemo(**async);
    ASSERT_TRUE(a.end.ok()) << a.end.error().message;
    ASSERT_TRUE(b.end.ok()) << b.end.error().message;
    EXPECT_GT(a.text.size(), 40u);
    EXPECT_EQ(a.text, b.text);
}

// The shared memory of a GeForce card, with this card's kernels.
TEST(PlainPath, LessSharedMemoryWritesTheSameText) {
    CudaOptions options;
    options.limits.sharedBytesPerBlock = 99 << 10;
    auto small = loadDemo(options);
    ASSERT_TRUE(small.ok()) << small.error().message;
    auto own = loadDemo(CudaOptions{});
    ASSERT_TRUE(own.ok()) << own.error().message;
    EXPECT_EQ(askDemo(**small).text, askDemo(**own).text);
}

} // namespace cuda::test

// What older cards run gives the text that this card's own kernels give.

#include "tests/cuda/demo.h"
#include "tests/cuda/older_cards.h"

namespace cuda::test {

TEST(PlainPath, ComputesAsTheProcessorDoes) {
    const KernelSet oldest = oldestKernels();
    auto backend = CudaBackend::make(oldest.options); // with its self test
    EXPECT_TRUE(backend.ok()) << (backend ? "" : backend.error().message);
}

TEST(PlainPath, WritesTheSameText) {
    auto own = loadDemo(CudaOptions{});
    ASSERT_TRUE(own.ok()) << own.error().message;
    const KernelSet oldest = oldestKernels();
    auto plain = loadDemo(oldest.options);
    ASSERT_TRUE(plain.ok()) << plain.error().message;
    const DemoAnswer a = askDemo(**own), b = askDemo(**plain);
    ASSERT_TRUE(a.end.ok()) << a.end.error().message;
    ASSERT_TRUE(b.end.ok()) << b.end.error().message;
    EXPECT_GT(a.text.size(), 40u);
    EXPECT_EQ(a.text, b.text);
}

TEST(AsyncPath, WritesTheSameText) {
    const KernelSet kernels = asyncKernels();
    auto own = loadDemo(CudaOptions{});
    ASSERT_TRUE(own.ok()) << own.error().message;
    auto async = loadDemo(kernels.options); // with the self test
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

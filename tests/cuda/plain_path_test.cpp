// What older cards run gives the text that this card's own kernels give.

#include "demo.h"
#include "older_cards.h"

namespace cuda::test {

namespace {

// An answer of the demo trio as cards with these options write it, and as this card does.
void expectTheSameText(const CudaOptions& options) {
    auto own = loadDemo(CudaOptions{});
    ASSERT_TRUE(own.ok()) << own.error().message;
    auto other = loadDemo(options); // with the self test
    ASSERT_TRUE(other.ok()) << other.error().message;
    const DemoAnswer a = askDemo(**own), b = askDemo(**other);
    ASSERT_TRUE(a.end.ok()) << a.end.error().message;
    ASSERT_TRUE(b.end.ok()) << b.end.error().message;
    EXPECT_GT(a.text.size(), 40u);
    EXPECT_EQ(a.text, b.text);
}

} // namespace

TEST(PlainPath, ComputesAsTheProcessorDoes) {
    const KernelSet oldest = oldestKernels();
    auto backend = CudaBackend::make(oldest.options); // with its self test
    EXPECT_TRUE(backend.ok()) << (backend ? "" : backend.error().message);
}

TEST(PlainPath, WritesTheSameText) {
    const KernelSet oldest = oldestKernels();
    expectTheSameText(oldest.options);
}

TEST(AsyncPath, WritesTheSameText) {
    const KernelSet kernels = asyncKernels();
    expectTheSameText(kernels.options);
}

// The shared memory of a GeForce card, with this card's kernels.
TEST(PlainPath, LessSharedMemoryWritesTheSameText) {
    CudaOptions options;
    options.limits.sharedBytesPerBlock = 99 << 10;
    expectTheSameText(options);
}

} // namespace cuda::test

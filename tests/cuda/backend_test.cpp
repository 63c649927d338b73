// The backend around its kernels: memory, copies, importing, remembered errors.

#include "cuda/card_probe.h"
#include "tests/cuda/card_rows.h"
#include "tests/cuda/weight_noise.h"

#include <numeric>

namespace cuda::test {

using engine::ErrorCode;
using engine::QuantType;
using engine::WeightUse;

TEST(CudaBackend, SaysWhatItIsAndWhatIsFree) {
    auto backend = makeCard();
    ASSERT_TRUE(backend);
    const CardState card = probeCard();
    EXPECT_TRUE(card.usable);
    EXPECT_EQ(backend->name().rfind(card.name + ", ", 0), 0u) << backend->name();
    EXPECT_NE(backend->name().find(" GiB"), std::string::npos);
    const engine::MemoryState before = backend->memory();
    EXPECT_GT(before.freeBytes, 0);
    EXPECT_LE(before.freeBytes, before.totalBytes);
    const std::int64_t bytes = std::int64_t(64) << 20;
    auto buffer = backend->allocate(bytes, "memory of a test");
    ASSERT_TRUE(buffer.ok());
    EXPECT_LE(backend->memory().freeBytes, before.freeBytes - bytes);
}

TEST(CudaBackend, MemoryIsZeroAtFirst) {
    auto backend = makeCard();
    ASSERT_TRUE(backend);
    for (int round = 0; round < 2; ++round) { // the second gets what the first has written to
        auto buffer = backend->allocate(3 * 1000 * 4, "rows");
        ASSERT_TRUE(buffer.ok());
        const Tensor t = buffer->tensor(ElementType::F32, 3, 1000);
        std::vector<float> values(3000, 1.0f);
        ASSERT_TRUE(backend->copyOut(t, std::as_writable_bytes(std::span(values))).ok());
        EXPECT_EQ(values, std::vector<float>(3000, 0.0f));
        values.assign(3000, 7.0f);
        backend->copyIn(std::as_bytes(std::span(values)), t);
    }
}

// Rows with gaps and without, smaller and larger than the pinned memory that they pass through.
TEST(CudaBackend, CopiesComeBackAsTheyWere) {
    auto backend = makeCard();
    ASSERT_TRUE(backend);
    struct Shape {
        std::int64_t rows, columns, gap;
    };
    for (const Shape s : {Shape{1, 1, 0}, Shape{5, 3, 0}, Shape{5, 3, 2}, Shape{700, 1536, 0},
                          Shape{700, 1536, 4}, Shape{3, 700'000, 0}, Shape{3, 700'000, 8}}) {
        std::vector<float> values(std::size_t(s.rows * s.columns));
        std::iota(values.begin(), values.end(), 1.0f);
        Rows rows(s.rows, s.columns);
        rows.values = values;
        CardRows card(*backend, s.rows, s.columns, s.gap);
        card.write(rows);
        EXPECT_TRUE(card.read().values == values) << s.rows << " x " << s.columns;
        EXPECT_TRUE(card.gapsUntouched()) << s.rows << " x " << s.columns;
    }
}

TEST(CudaBackend, ManyCopiesInARowKeepTheirOrder) {
    auto backend = makeCard();
    ASSERT_TRUE(backend);
    CardRows x(*backend, 64, 1024), sum(*backend, 64, 1024);
    Rows rows(64, 1024);
    sum.write(rows);                 // zeros
    for (int i = 1; i <= 100; ++i) { // 25 MiB through 4 MiB of pinned memory
        std::fill(rows.values.begin(), rows.values.end(), float(i));
        x.write(rows);
        backend->add(sum.tensor(), x.tensor());
    }
    EXPECT_EQ(sum.read().values, std::vector<float>(64 * 1024, 5050.0f));
}

// Larger than the ring of pieces that they pass through.
TEST(CudaBackend, LargeWeightsArriveWhole) {
    for (const QuantType type : {QuantType::Q8_0, QuantType::F16}) {
        auto card = makeCard();
        auto processor = makeProcessor();
        ASSERT_TRUE(card && processor);
        const std::int64_t rows = type == QuantType::Q8_0 ? 9000 : 4800, columns = 4096;
        const std::vector<std::byte> bytes = weightNoise(type, rows, columns);
        ASSERT_GT(bytes.size(), std::size_t(36) << 20);
        const Rows input = noise(2, columns);
        const auto product = [&](Backend& backend) {
            auto weight =
                backend.importWeight({"large", type, rows, columns, bytes}, WeightUse::Matmul);
            EXPECT_TRUE(weight.ok());
            auto activations = backend.makeActivations(2, columns);
            EXPECT_TRUE(activations.ok());
            CardRows x(backend, input), y(backend, 2, rows);
            backend.quantize(x.tensor(), **activations);
            const engine::MatmulJob job[] = {{weight->get(), y.tensor()}};
            backend.matmul(job, **activations);
            return y.read();
        };
        EXPECT_EQ(difference(product(*card), product(*processor)), "");
    }
}

// Of sizes that leave much of the driver's steps of 2 MiB. Weights that go do not take with them
// what lies beside them.
TEST(CudaBackend, WeightsTakeLittleMoreThanTheirBytes) {
    auto card = makeCard();
    auto processor = makeProcessor();
    ASSERT_TRUE(card && processor);
    constexpr std::int64_t kRows = 1000, kColumns = 2304; // 2.33 MiB
    constexpr std::int64_t kMiB = 1 << 20;
    const auto bytesOf = [&](unsigned seed) {
        return weightNoise(QuantType::Q8_0, kRows, kColumns, seed);
    };
    const auto import = [&](Backend& backend, const std::vector<std::byte>& bytes) {
        auto weight =
            backend.importWeight({"w", QuantType::Q8_0, kRows, kColumns, bytes}, WeightUse::Matmul);
        EXPECT_TRUE(weight.ok()) << (weight.ok() ? "" : weight.error().message);
        return weight.ok() ? std::move(*weight) : nullptr;
    };
    const Rows input = noise(2, kColumns);
    const auto product = [&](Backend& backend, const engine::Weight& weight) {
        auto activations = backend.makeActivations(2, kColumns);
        EXPECT_TRUE(activations.ok());
        CardRows x(backend, input), y(backend, 2, kRows);
        backend.quantize(x.tensor(), **activations);
        const engine::MatmulJob job[] = {{&weight, y.tensor()}};
        backend.matmul(job, **activations);
        return y.read();
    };
    import(*card, bytesOf(0)); // sums of products grow
    ASSERT_TRUE(card->synchronize().ok());
    const std::int64_t before = card->memory().takenBytes;
    ASSERT_GT(before, 0);
    std::vector<std::unique_ptr<engine::Weight>> weights;
    std::int64_t bytes = 0;
    for (unsigned i = 0; i < 60; ++i) {
        weights.push_back(import(*card, bytesOf(i)));
        ASSERT_TRUE(weights.back());
        bytes += weights.back()->deviceBytes;
    }
    ASSERT_TRUE(card->synchronize().ok());
    // 16 MiB for the last part, and something for other programs.
    EXPECT_LE(card->memory().takenBytes - before, bytes + 24 * kMiB);

    for (std::size_t i = 0; i < weights.size(); ++i)
        if (i % 7 != 3) weights[i] = nullptr;
    weights.push_back(import(*card, bytesOf(60)));
    ASSERT_TRUE(weights.back());
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (!weights[i]) continue;
        const auto same = import(*processor, bytesOf(unsigned(i)));
        EXPECT_EQ(difference(product(*card, *weights[i]), product(*processor, *same)), "") << i;
    }
    weights.clear();
    ASSERT_TRUE(card->synchronize().ok());
    EXPECT_LE(card->memory().takenBytes - before, 8 * kMiB);
}

TEST(CudaBackend, VectorsBecomeFloats) {
    auto backend = makeCard();
    ASSERT_TRUE(backend);
    const std::vector<std::byte> bytes = weightNoise(QuantType::F16, 1, 777);
    auto weight = backend->importWeight({"norm", QuantType::F16, 1, 777, bytes}, WeightUse::Vector);
    ASSERT_TRUE(weight.ok());
    const Tensor vector = (*weight)->vector();
    ASSERT_EQ(vector.rows, 1);
    ASSERT_EQ(vector.columns, 777);
    std::vector<float> expected(777), got(777);
    engine::dequantizeRow(QuantType::F16, bytes.data(), 777, expected.data());
    ASSERT_TRUE(backend->copyOut(vector, std::as_writable_bytes(std::span(got))).ok());
    EXPECT_EQ(got, expected);
}

TEST(CudaBackend, RemembersItsFirstErrorAndHandsOutNothingAfterIt) {
    FaultPlan plan;
    CudaOptions options;
    options.faults = &plan;
    auto made = CudaBackend::make(options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    Backend& backend = **made;
    CardRows x(backend, noise(4, 64));
    const Tensor t = x.tensor();
    ASSERT_TRUE(backend.synchronize().ok());

    plan.launch = plan.launches;
    backend.gelu(t);
    const std::int64_t counted = plan.launches;
    backend.softcap(t, 1, 2); // does nothing any more
    EXPECT_EQ(plan.launches, counted);
    std::vector<float> values(4 * 64, 42.0f);
    const auto out = backend.copyOut(t, std::as_writable_bytes(std::span(values)));
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code, ErrorCode::Device);
    EXPECT_NE(out.error().message.find("rows_gelu"), std::string::npos) << out.error().message;
    EXPECT_EQ(values, std::vector<float>(4 * 64, 42.0f));
    EXPECT_EQ(backend.synchronize().error().message, out.error().message);
    EXPECT_FALSE(backend.allocate(16, "more").ok());
    EXPECT_FALSE(backend.makeActivations(1, 256).ok());
    plan.launch = FaultPlan::kNever; // it stays failed
    EXPECT_FALSE(backend.synchronize().ok());
}

TEST(CudaBackend, PlainFloatKeysAreRefusedInWords) {
    auto backend = makeCard();
    ASSERT_TRUE(backend);
    CardRows keys(*backend, 16, 64), values(*backend, 16, 64), k(*backend, noise(1, 64));
    CardNumbers positions(*backend, engine::test::ascending(0, 1));
    backend->kvWrite({keys.tensor(), values.tensor(), 16}, k.tensor(), k.tensor(),
                     positions.tensor());
    const auto done = backend->synchronize();
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, ErrorCode::Unsupported) << done.error().message;
}

} // namespace cuda::test

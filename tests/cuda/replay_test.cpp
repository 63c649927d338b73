// Steps that are recorded once and started again.

#include "tests/cuda/card_rows.h"
#include "tests/cuda/weight_noise.h"

namespace cuda::test {

namespace {

using engine::NormSpec;

// x += norm(weight * in), and the product of what that leaves: several kernels that depend on each
// other.
class Step {
public:
    static constexpr std::int64_t kWidth = 512, kMaxRows = 8;

    explicit Step(CudaBackend& backend)
        : m_backend(backend), m_bytes(weightNoise(engine::QuantType::Q8_0, kWidth, kWidth)),
          m_weight(import(m_bytes, kWidth, engine::QuantType::Q8_0, engine::WeightUse::Matmul)),
          m_gammaBytes(std::size_t(kWidth) * 4), x(backend, noise(kMaxRows, kWidth)),
          y(backend, kMaxRows, kWidth) {
        const Rows gamma = noise(1, kWidth, 5);
        std::memcpy(m_gammaBytes.data(), gamma.values.data(), m_gammaBytes.size());
        m_gamma = import(m_gammaBytes, 1, engine::QuantType::F32, engine::WeightUse::Vector);
        auto made = backend.makeActivations(kMaxRows, kWidth);
        EXPECT_TRUE(made.ok());
        m_activations = std::move(*made);
    }

    bool run(std::int64_t rows) {
        const Tensor xs = x.tensor().rowRange(0, rows), ys = y.tensor().rowRange(0, rows);
        const NormSpec norm{m_gamma->vector(), 1e-5f};
        m_backend.quantize(xs, *m_activations);
        m_backend.matmulAdd(*m_weight, *m_activations, &norm, xs, ys, &norm, *m_activations, {});
        const engine::MatmulJob job[] = {{m_weight.get(), ys}};
        m_backend.matmul(job, *m_activations);
        return true;
    }

private:
    std::unique_ptr<engine::Weight> import(std::span<const std::byte> bytes, std::int64_t rows,
                                           engine::QuantType type, engine::WeightUse use) {
        auto weight = m_backend.importWeight({"step", type, rows, kWidth, bytes}, use);
        EXPECT_TRUE(weight.ok());
        return std::move(*weight);
    }

    CudaBackend& m_backend;
    std::vector<std::byte> m_bytes;
    std::unique_ptr<engine::Weight> m_weight;
    std::vector<std::byte> m_gammaBytes;
    std::unique_ptr<engine::Weight> m_gamma;
    std::unique_ptr<engine::Activations> m_activations;

public:
    CardRows x, y;
};

} // namespace

TEST(Replay, EqualsDirectCallsAgainAndAgain) {
    auto backend = makeCard();
    ASSERT_TRUE(backend);
    Step direct(*backend), replayed(*backend);
    for (int round = 0; round < 4; ++round) {
        const Rows input = noise(Step::kMaxRows, Step::kWidth, kSeed + unsigned(round));
        for (const std::int64_t rows : {1, 5, 8}) {
            direct.x.write(input);
            replayed.x.write(input);
            direct.run(rows);
            EXPECT_TRUE(backend->replay("rows " + std::to_string(rows),
                                        [&] { return replayed.run(rows); }));
            EXPECT_EQ(difference(replayed.x.read(), direct.x.read()), "") << rows;
            EXPECT_EQ(
                difference(rowsOf(replayed.y.read(), 0, rows), rowsOf(direct.y.read(), 0, rows)),
                "")
                << rows;
        }
        EXPECT_EQ(backend->recordedSteps(), 3u);
    }
}

TEST(Replay, CallsTheFunctionOnlyToRecord) {
    auto backend = makeCard();
    ASSERT_TRUE(backend);
    Step step(*backend);
    int calls = 0;
    for (int i = 0; i < 3; ++i)
        backend->replay("step", [&] {
            ++calls;
            return step.run(2);
        });
    EXPECT_EQ(calls, 1);
    EXPECT_TRUE(backend->synchronize().ok());
}

TEST(Replay, StepsWithoutEndTakeNoMemoryWithoutEnd) {
    auto backend = makeCard();
    ASSERT_TRUE(backend);
    Step step(*backend);
    for (int i = 0; i < 300; ++i) backend->replay(std::to_string(i), [&] { return step.run(1); });
    EXPECT_GT(backend->recordedSteps(), 0u);
    EXPECT_LE(backend->recordedSteps(), 128u);
    EXPECT_TRUE(backend->synchronize().ok());
}

TEST(Replay, KeepsNothingOfAStepThatBrokeOff) {
    auto backend = makeCard();
    ASSERT_TRUE(backend);
    Step step(*backend);
    const Rows before = step.x.read();
    EXPECT_FALSE(backend->replay("step", [&] {
        step.run(8);
        return false;
    }));
    EXPECT_EQ(backend->recordedSteps(), 0u);
    EXPECT_EQ(difference(step.x.read(), before), "");
}

TEST(Replay, ForgetsStepsThatMayNameWhatIsGone) {
    auto backend = makeCard();
    ASSERT_TRUE(backend);
    Step step(*backend);
    auto earlier = std::make_unique<Step>(*backend);
    int calls = 0;
    const auto replayStep = [&] {
        backend->replay("step", [&] {
            ++calls;
            return step.run(2);
        });
    };
    replayStep();
    {
        // Taken after the step was recorded: the step cannot name it.
        CardRows later(*backend, 4, 4);
    }
    EXPECT_EQ(backend->recordedSteps(), 1u);
    replayStep();
    EXPECT_EQ(calls, 1);
    // Taken before: it may.
    earlier.reset();
    EXPECT_EQ(backend->recordedSteps(), 0u);
    replayStep();
    EXPECT_EQ(calls, 2);
    EXPECT_TRUE(backend->synchronize().ok());
}

} // namespace cuda::test

// Products of many rows with quantised weights: the processor's bits, whatever the shapes, the
// number of rows, the other products of the call and the shared memory of the card.

#include "products.h"

namespace cuda::test {
namespace {

using engine::test::ScalarType;
using engine::test::scalarTypes;

class GemmPrefill : public testing::TestWithParam<ScalarType> {
protected:
    static void SetUpTestSuite() { s_card = makeCard().release(); }
    static void TearDownTestSuite() { delete std::exchange(s_card, nullptr); }
    void SetUp() override { ASSERT_NE(s_card, nullptr); }
    static CudaBackend& card() { return *s_card; }

private:
    static inline CudaBackend* s_card = nullptr;
};

TEST_P(GemmPrefill, EqualsTheReferenceBitForBit) {
    const ScalarType& type = GetParam();
    struct Shape {
        std::int64_t rows, columns, activations;
    };
    // Ragged tiles, one and several segments of 13 and of 8 units, a short last segment.
    std::vector<Shape> shapes = {{40, 512, 17}, {17, 9 * 256, 40}, {70, 26 * 256, 25}};
    if (type.blockWeights == 32) shapes.push_back({48, 256 + 160, 33});
    auto reference = engine::test::makeBackend(engine::CpuInstructions::Reference, 2);
    for (const auto& [rows, columns, activations] : shapes) {
        const HostWeight weight = randomWeight(type, rows, columns, kSeed + unsigned(columns));
        const Rows x = noise(activations, columns, kSeed + 1);
        EXPECT_EQ(difference(multiply(card(), *weight.on(card()), x, 4),
                             multiply(*reference, *weight.on(*reference), x)),
                  "")
            << type.name << " " << rows << " x " << columns << ", " << activations << " rows, seed "
            << kSeed;
    }
}

TEST_P(GemmPrefill, EqualsTheProcessorForAnyNumberOfRows) {
    const ScalarType& type = GetParam();
    auto processor = makeProcessor();
    for (const auto& [rows, columns] :
         {std::pair<std::int64_t, std::int64_t>{200, 13 * 256}, {333, 17 * 256}}) {
        const HostWeight weight = randomWeight(type, rows, columns, kSeed + 2);
        const auto onCard = weight.on(card()), onProcessor = weight.on(*processor);
        const Rows x = noise(512, columns, kSeed + 3);
        const Rows expected = multiply(*processor, *onProcessor, x);
        for (const std::int64_t count : {17, 40, 64, 128, 200, 512})
            EXPECT_EQ(difference(multiply(card(), *onCard, rowsOf(x, 512 - count, count)),
                                 rowsOf(expected, 512 - count, count)),
                      "")
                << type.name << " " << rows << " x " << columns << ", " << count << " rows, seed "
                << kSeed;
    }
}

TEST_P(GemmPrefill, ARowOf512EqualsTheSameRowAlone) {
    const ScalarType& type = GetParam();
    const HostWeight weight = randomWeight(type, 272, 26 * 256, kSeed + 4);
    const auto onCard = weight.on(card());
    const Rows x = noise(512, weight.columns, kSeed + 5);
    const Rows all = multiply(card(), *onCard, x);
    for (const std::int64_t row : {0, 7, 8, 255, 256, 511})
        EXPECT_EQ(difference(multiply(card(), *onCard, rowsOf(x, row, 1)), rowsOf(all, row, 1)), "")
            << type.name << " row " << row << ", seed " << kSeed;
}

TEST_P(GemmPrefill, ExtremeRowsEqualTheProcessors) {
    const ScalarType& type = GetParam();
    const HostWeight weight = randomWeight(type, 40, 512, kSeed + 6);
    Rows x = noise(24, 512, kSeed + 7);
    std::fill_n(x.row(0), 512, 0.0f);
    std::fill_n(x.row(1), 512, -0.0f);
    std::fill_n(x.row(2), 512, 127.0f); // the largest integers everywhere
    std::fill_n(x.row(3), 512, -127.0f);
    for (int k = 0; k < 512; ++k) x.row(4)[k] = k % 2 ? 127.0f : -127.0f;
    std::fill_n(x.row(5), 512, 1e-42f);
    std::fill_n(x.row(6), 512, 1e30f);
    x.row(7)[7] = INFINITY;
    x.row(8)[300] = -INFINITY;
    x.row(9)[9] = NAN;
    auto processor = makeProcessor();
    EXPECT_EQ(difference(multiply(card(), *weight.on(card()), x),
                         multiply(*processor, *weight.on(*processor), x)),
              "")
        << type.name << ", seed " << kSeed;
}

INSTANTIATE_TEST_SUITE_P(AllTypes, GemmPrefill, testing::ValuesIn(scalarTypes()),
                         [](const auto& tested) { return std::string(tested.param.name); });

// The shapes of the model, where blocks share tiles segment by segment. The row kernels, which are
// tested by themselves, compute the same 16 rows at a time.
class GemmPrefillLarge : public GemmPrefill {};

TEST_P(GemmPrefillLarge, EqualsTheRowKernelsEveryTime) {
    const ScalarType& type = GetParam();
    struct Shape {
        std::vector<std::int64_t> rows; // of the weights of one call
        std::int64_t columns, activations;
    };
    for (const Shape& shape : {Shape{{3328, 3328}, 6656, 512},
                               {{6656}, 4096, 512},
                               {{1600}, 19968, 500},
                               {{1536, 1536, 1536}, 1536, 512},
                               {{8960}, 1536, 120}}) {
        std::vector<std::unique_ptr<Weight>> owned;
        std::vector<const Weight*> weights;
        for (const std::int64_t rows : shape.rows) {
            owned.push_back(
                randomWeight(type, rows, shape.columns, kSeed + unsigned(owned.size())).on(card()));
            weights.push_back(owned.back().get());
        }
        const Rows x = noise(shape.activations, shape.columns, kSeed + 8);
        const std::vector<Rows> all = multiply(card(), weights, x);
        for (int i = 0; i < 3; ++i) { // blocks meet in another order each time
            const std::vector<Rows> again = multiply(card(), weights, x);
            for (std::size_t w = 0; w < weights.size(); ++w)
                ASSERT_EQ(difference(again[w], all[w]), "") << type.name << " weight " << w;
        }
        for (std::int64_t first = 0; first < x.rows; first += 16) {
            const std::int64_t count = std::min<std::int64_t>(16, x.rows - first);
            const std::vector<Rows> part = multiply(card(), weights, rowsOf(x, first, count));
            for (std::size_t w = 0; w < weights.size(); ++w)
                ASSERT_EQ(difference(part[w], rowsOf(all[w], first, count)), "")
                    << type.name << " weight " << w << " of " << shape.rows[w] << " x "
                    << shape.columns << ", rows from " << first << ", seed " << kSeed;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(MainTypes, GemmPrefillLarge,
                         testing::Values(scalarType(QuantType::Q4_K), scalarType(QuantType::Q6_K)),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(GemmPrefillJobs, ManyOfManyTypesDoNotMeetEachOther) {
    auto card = makeCard();
    ASSERT_NE(card, nullptr);
    auto processor = makeProcessor();
    const std::int64_t columns = 1024;
    const Rows x = noise(50, columns, kSeed + 9);
    std::vector<HostWeight> hosts;
    for (int i = 0; i < 21; ++i) // more of one type than one launch takes
        hosts.push_back(
            randomWeight(i % 2 ? scalarTypes()[std::size_t(i / 2)] : scalarType(QuantType::Q4_K),
                         16 + 9 * i, columns, kSeed + unsigned(i)));
    std::vector<std::unique_ptr<Weight>> onCard;
    std::vector<const Weight*> cards;
    for (const HostWeight& host : hosts) {
        onCard.push_back(host.on(*card));
        cards.push_back(onCard.back().get());
    }
    const std::vector<Rows> got = multiply(*card, cards, x, 8);
    for (std::size_t i = 0; i < hosts.size(); ++i)
        EXPECT_EQ(difference(got[i], multiply(*processor, *hosts[i].on(*processor), x)), "")
            << "weight " << i << ", seed " << kSeed;
}

// The bias comes after the last segment, for few rows, many rows and float weights alike.
TEST(GemmPrefillJobs, ABiasIsAddedAtTheEnd) {
    auto card = makeCard();
    ASSERT_NE(card, nullptr);
    for (const QuantType type : {QuantType::Q4_K, QuantType::Q6_K, QuantType::F32})
        for (const std::int64_t rows : {5, 70, 300}) {
            const std::int64_t columns = 17 * 256, outs = 333;
            HostWeight host{type, outs, columns, {}};
            if (type == QuantType::F32) {
                const Rows values = noise(outs, columns, kSeed + 12);
                const auto bytes = std::as_bytes(std::span(values.values));
                host.bytes.assign(bytes.begin(), bytes.end());
            } else {
                host = randomWeight(scalarType(type), outs, columns, kSeed + 12);
            }
            const auto weight = host.on(*card);
            const CardRows x(*card, noise(rows, columns, kSeed + 13));
            const CardRows bias(*card, noise(1, outs, kSeed + 14));
            const CardRows apart(*card, rows, outs, 2), fused(*card, rows, outs, 2);
            auto activations = card->makeActivations(rows, columns);
            ASSERT_TRUE(activations.ok());
            card->quantize(x.tensor(), **activations);
            const MatmulJob plain[] = {{weight.get(), apart.tensor()}};
            card->matmul(plain, **activations);
            card->add(apart.tensor(), bias.tensor());
            const MatmulJob biased[] = {{weight.get(), fused.tensor(), bias.tensor()}};
            card->matmul(biased, **activations);
            EXPECT_EQ(difference(fused.read(), apart.read()), "")
                << rows << " rows, seed " << kSeed;
            EXPECT_TRUE(fused.gapsUntouched());
        }
}

TEST(GemmPrefillCards, LessSharedMemoryGivesTheSameBits) {
    auto processor = makeProcessor();
    for (const int bytes : {166912, 101376, 65536}) { // of sm_80; of sm_86, 89 and 120; of sm_75
        CudaOptions options;
        options.limits.sharedBytesPerBlock = bytes;
        auto made = CudaBackend::make(options);
        ASSERT_TRUE(made.ok()) << made.error().message;
        CudaBackend& card = **made;
        for (const ScalarType& type : scalarTypes()) {
            const HostWeight weight = randomWeight(type, 600, 16 * 256, kSeed + 10);
            const Rows x = noise(150, weight.columns, kSeed + 11);
            EXPECT_EQ(difference(multiply(card, *weight.on(card), x),
                                 multiply(*processor, *weight.on(*processor), x)),
                      "")
                << type.name << ", " << bytes << " bytes, seed " << kSeed;
        }
    }
}

} // namespace
} // namespace cuda::test

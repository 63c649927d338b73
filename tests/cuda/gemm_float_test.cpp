// Products with float weights: the bits of the processor's reference for any number of rows,
// aligned or not.

#include "products.h"

#include "engine/quant/half.h"

namespace cuda::test {
namespace {

using engine::floatToBfloat;
using engine::floatToHalf;

HostWeight floatWeight(QuantType type, std::int64_t rows, std::int64_t columns, unsigned seed) {
    const Rows w = noise(rows, columns, seed);
    HostWeight weight{type, rows, columns, {}};
    weight.bytes.resize(std::size_t(rows * columns * (type == QuantType::F32 ? 4 : 2)));
    if (type == QuantType::F32) {
        std::memcpy(weight.bytes.data(), w.values.data(), weight.bytes.size());
        return weight;
    }
    for (std::size_t i = 0; i < w.values.size(); ++i) {
        const std::uint16_t bits =
            type == QuantType::F16 ? floatToHalf(w.values[i]) : floatToBfloat(w.values[i]);
        std::memcpy(weight.bytes.data() + 2 * i, &bits, 2);
    }
    return weight;
}

class GemmFloat : public testing::TestWithParam<QuantType> {
protected:
    static void SetUpTestSuite() { s_card = makeCard().release(); }
    static void TearDownTestSuite() { delete std::exchange(s_card, nullptr); }
    void SetUp() override { ASSERT_NE(s_card, nullptr); }
    static CudaBackend& card() { return *s_card; }

private:
    static inline CudaBackend* s_card = nullptr;
};

TEST_P(GemmFloat, EqualsTheReferenceForEveryNumberOfRows) {
    auto reference = engine::test::makeBackend(engine::CpuInstructions::Reference, 2);
    // Row starts aligned and not, K below 32 and with every kind of rest, ragged tiles.
    for (const auto& [rows, columns] :
         {std::pair<std::int64_t, std::int64_t>{41, 205}, {48, 256}, {100, 588}, {7, 24}, {1, 1}}) {
        const HostWeight weight = floatWeight(GetParam(), rows, columns, kSeed + unsigned(columns));
        const auto onCard = weight.on(card()), onReference = weight.on(*reference);
        const Rows x = noise(130, columns, kSeed + 1);
        const Rows expected = multiply(*reference, *onReference, x);
        for (const std::int64_t count : {1, 2, 7, 8, 9, 15, 16, 17, 32, 33, 40, 128, 130})
            EXPECT_EQ(difference(multiply(card(), *onCard, rowsOf(x, 130 - count, count), 4),
                                 rowsOf(expected, 130 - count, count)),
                      "")
                << rows << " x " << columns << ", " << count << " rows, seed " << kSeed;
    }
}

TEST_P(GemmFloat, EqualsTheProcessorAtTheSizesOfPictures) {
    auto processor = makeProcessor();
    for (const auto& [rows, columns, count] :
         {std::tuple<std::int64_t, std::int64_t, std::int64_t>{1536, 588, 512}, {416, 6144, 128}}) {
        const HostWeight weight = floatWeight(GetParam(), rows, columns, kSeed + 2);
        const Rows x = noise(count, columns, kSeed + 3);
        EXPECT_EQ(difference(multiply(card(), *weight.on(card()), x),
                             multiply(*processor, *weight.on(*processor), x)),
                  "")
            << rows << " x " << columns << ", seed " << kSeed;
    }
}

TEST_P(GemmFloat, KeepsSignsInfinitiesAndTheSmallest) {
    auto reference = engine::test::makeBackend(engine::CpuInstructions::Reference, 1);
    HostWeight weight = floatWeight(GetParam(), 20, 72, kSeed + 4);
    std::fill_n(weight.bytes.begin(), weight.bytes.size() / 20 * 2, std::byte{0}); // two rows of 0
    const auto onCard = weight.on(card()), onReference = weight.on(*reference);
    const Rows x = wild(24, 72, kSeed + 5);
    for (const std::int64_t count : {3, 24})
        EXPECT_EQ(difference(multiply(card(), *onCard, rowsOf(x, 0, count)),
                             multiply(*reference, *onReference, rowsOf(x, 0, count))),
                  "")
            << count << " rows, seed " << kSeed;
}

INSTANTIATE_TEST_SUITE_P(PlainTypes, GemmFloat,
                         testing::Values(QuantType::F32, QuantType::F16, QuantType::BF16),
                         [](const auto& tested) {
                             return std::string(tested.param == QuantType::F32   ? "F32"
                                                : tested.param == QuantType::F16 ? "F16"
                                                                                 : "BF16");
                         });

} // namespace
} // namespace cuda::test

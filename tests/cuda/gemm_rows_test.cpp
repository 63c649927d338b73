// Products of 1 to 16 rows with quantised weights: the processor's bits, whatever the shapes, the
// other rows and products of the call, the shared memory of the card, the grid and the form of the
// kernels.

#include "older_cards.h"
#include "products.h"

#include "engine/quant/half.h"
#include "engine/quant/quant_table.h"

#include <array>

namespace cuda::test {
namespace {

using engine::test::ScalarType;
using engine::test::scalarTypes;

TEST(UnitLayout, TakesHardlyMoreThanTheFile) {
    for (const ScalarType& type : scalarTypes())
        for (const std::int64_t columns : {4096, 6656, 19968}) {
            const UnitLayout layout = unitLayout(type.type, 6656, columns);
            const double file =
                double(6656 * columns / type.blockWeights) * double(type.blockBytes);
            EXPECT_LT(double(layout.bytes()) / file, 1.041) << type.name << " " << columns;
        }
}

TEST(UnitLayout, ItemsAreAlignedAndFollowEachOther) {
    const UnitLayout layout = unitLayout(QuantType::Q6_K, 250, 35 * 256 - 32);
    EXPECT_EQ(layout.rowTiles, 16);
    EXPECT_EQ(layout.units, 35);
    EXPECT_EQ(layout.segments, 5);
    EXPECT_EQ(layout.segmentUnits, 8);
    EXPECT_EQ(layout.lastSegmentUnits, 3);
    EXPECT_EQ(layout.itemBytes, 8 * 3360);
    EXPECT_EQ(layout.lastItemBytes, 10112); // 3 * 3360 = 78.75 * 128
    EXPECT_EQ(layout.itemOffset(1, 0), 4 * 26880 + 10112);
    EXPECT_EQ(layout.itemOffset(15, 4) + layout.lastItemBytes, layout.bytes());
    const UnitLayout small = unitLayout(QuantType::Q8_0, 1, 32);
    EXPECT_EQ(small.segmentUnits, 1);
    EXPECT_EQ(small.segments, 1);
    EXPECT_EQ(small.bytes(), 4352);
}

class GemmRowsOfType : public testing::TestWithParam<ScalarType> {
protected:
    static void SetUpTestSuite() { s_card = makeCard().release(); }
    static void TearDownTestSuite() { delete std::exchange(s_card, nullptr); }
    void SetUp() override { ASSERT_NE(s_card, nullptr); }
    static CudaBackend& card() { return *s_card; }

private:
    static inline CudaBackend* s_card = nullptr;
};

struct Shape {
    std::int64_t rows, columns;
};

// Ragged tiles; less than a unit, one and several segments of 13 and of 8 units, a short last
// segment.
std::vector<Shape> shapesOf(const ScalarType& type) {
    std::vector<Shape> shapes = {
        {40, 512},     {5, 768}, {250, 2 * 13 * 256}, {16, 6 * 13 * 256}, {70, 16 * 256},
        {33, 9 * 256}, {1, 256}};
    if (type.blockWeights == 32)
        for (const Shape& ragged : {Shape{16, 96}, {7, 320}, {40, 13 * 256 - 32}, {250, 32}})
            shapes.push_back(ragged);
    return shapes;
}

TEST_P(GemmRowsOfType, EqualsTheReferenceBitForBit) {
    const ScalarType& type = GetParam();
    auto reference = engine::test::makeBackend(engine::CpuInstructions::Reference, 2);
    for (const auto& [rows, columns] : shapesOf(type)) {
        const HostWeight weight = randomWeight(type, rows, columns, kSeed + unsigned(columns));
        const Rows x = noise(16, columns, kSeed + 1);
        const Rows expected = multiply(*reference, *weight.on(*reference), x);
        const auto onCard = weight.on(card());
        for (const std::int64_t count : {1, 2, 7, 8, 9, 15, 16}) // the last rows: other places
            EXPECT_EQ(difference(multiply(card(), *onCard, rowsOf(x, 16 - count, count), 4),
                                 rowsOf(expected, 16 - count, count)),
                      "")
                << type.name << " " << rows << " x " << columns << ", " << count << " rows, seed "
                << kSeed;
    }
}

TEST_P(GemmRowsOfType, ARowOf16EqualsTheSameRowAlone) {
    const HostWeight weight = randomWeight(GetParam(), 272, 26 * 256, kSeed + 2);
    const auto onCard = weight.on(card());
    const Rows x = noise(16, weight.columns, kSeed + 3);
    const Rows all = multiply(card(), *onCard, x);
    for (std::int64_t row = 0; row < 16; ++row)
        EXPECT_EQ(difference(multiply(card(), *onCard, rowsOf(x, row, 1)), rowsOf(all, row, 1)), "")
            << GetParam().name << " row " << row << ", seed " << kSeed;
}

TEST_P(GemmRowsOfType, ExtremeRowsEqualTheProcessors) {
    const HostWeight weight = randomWeight(GetParam(), 40, 512, kSeed + 4);
    Rows x = noise(12, 512, kSeed + 5);
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
    for (int k = 0; k < 512; ++k) x.row(10)[k] = std::ldexp(x.row(10)[k], -100);
    auto processor = makeProcessor();
    EXPECT_EQ(difference(multiply(card(), *weight.on(card()), x),
                         multiply(*processor, *weight.on(*processor), x)),
              "")
        << GetParam().name << ", seed " << kSeed;
}

// Where a block of the file has its half floats.
std::vector<std::int64_t> scaleOffsets(QuantType type) {
    switch (type) {
    case QuantType::Q4_1:
    case QuantType::Q5_1:
    case QuantType::Q4_K:
    case QuantType::Q5_K: return {0, 2};
    case QuantType::Q2_K: return {80, 82};
    case QuantType::Q3_K: return {108};
    case QuantType::Q6_K: return {208};
    default: return {0};
    }
}

TEST_P(GemmRowsOfType, ExtremeWeightsEqualTheProcessors) {
    const ScalarType& type = GetParam();
    HostWeight weight = randomWeight(type, 96, 1024, kSeed + 6);
    // Zero of both signs, subnormal, the largest, infinite, not a number; and all bits set.
    const std::uint16_t halves[] = {0, 0x8000, 0x0001, 0x83ff, 0x7bff, 0xfbff, 0x7c00, 0x7e00};
    const std::int64_t rowBytes = std::int64_t(weight.bytes.size()) / weight.rows;
    for (std::int64_t row = 0; row < weight.rows; row += 2) { // every second row keeps its numbers
        std::byte* const block =
            weight.bytes.data() + row * rowBytes + row % 3 * std::int64_t(type.blockBytes);
        if (row % 4 == 2) std::fill_n(block, type.blockBytes, std::byte{0xff});
        for (const std::int64_t offset : scaleOffsets(type.type))
            std::memcpy(block + offset, &halves[row / 2 % 8], 2);
    }
    auto processor = makeProcessor();
    const Rows x = noise(16, weight.columns, kSeed + 7);
    EXPECT_EQ(difference(multiply(card(), *weight.on(card()), x),
                         multiply(*processor, *weight.on(*processor), x)),
              "")
        << type.name << ", seed " << kSeed;
}

// More bytes than one piece of the upload, and more items than any card has multiprocessors.
TEST_P(GemmRowsOfType, ALargeMatrixEqualsTheProcessors) {
    const ScalarType& type = GetParam();
    const std::int64_t columns = 512;
    const std::int64_t rowBytes = columns / type.blockWeights * type.blockBytes;
    const std::int64_t rows = (std::int64_t(9) << 20) / rowBytes;
    const HostWeight weight = randomWeight(type, rows, columns, kSeed + 8);
    auto processor = makeProcessor();
    const Rows x = noise(9, columns, kSeed + 9);
    EXPECT_EQ(difference(multiply(card(), *weight.on(card()), x),
                         multiply(*processor, *weight.on(*processor), x)),
              "")
        << type.name << ", " << rows << " rows, seed " << kSeed;
}

INSTANTIATE_TEST_SUITE_P(AllTypes, GemmRowsOfType, testing::ValuesIn(scalarTypes()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(GemmRowsJobs, SeveralMatricesOfOneCallDoNotMeetEachOther) {
    auto card = makeCard();
    ASSERT_NE(card, nullptr);
    auto processor = makeProcessor();
    const QuantType q4 = QuantType::Q4_K, q5 = QuantType::Q5_K, q6 = QuantType::Q6_K,
                    q8 = QuantType::Q8_0;
    const std::vector<std::vector<std::pair<QuantType, std::int64_t>>> calls = {
        {{q4, 4096}, {q4, 256}, {q4, 250}, {q4, 16}},  // one launch
        {{q4, 4096}, {q4, 256}, {q6, 256}, {q4, 333}}, // one launch for both types
        {{q6, 17}, {q4, 40}},
        {{q6, 700}, {q4, 5}, {q6, 16}},
        {{q4, 100}, {q8, 33}, {q6, 50}, {q5, 20}}, // one after another
    };
    unsigned seed = kSeed + 10;
    for (const std::int64_t columns : {26 * 256, 4096, 768})
        for (const auto& call : calls)
            for (const std::int64_t count : {1, 16}) {
                const Rows x = noise(count, columns, ++seed);
                std::vector<std::unique_ptr<Weight>> owned;
                std::vector<const Weight*> cards, processors;
                for (const auto& [type, rows] : call) {
                    const HostWeight host = randomWeight(scalarType(type), rows, columns, ++seed);
                    cards.push_back(owned.emplace_back(host.on(*card)).get());
                    processors.push_back(owned.emplace_back(host.on(*processor)).get());
                }
                const std::vector<Rows> got = multiply(*card, cards, x, 8),
                                        expected = multiply(*processor, processors, x);
                for (std::size_t i = 0; i < got.size(); ++i)
                    EXPECT_EQ(difference(got[i], expected[i]), "")
                        << "matrix " << i << " of " << call.size() << ", first of "
                        << call[0].second << " rows, " << columns << " columns, " << count
                        << " rows, seed " << seed;
            }
}

// A launcher that passes for a card with other numbers.
class OtherCard final : public Launcher {
public:
    OtherCard(Launcher& real, int multiprocessors, int sharedBytes)
        : m_real(real), m_multiprocessors(multiprocessors), m_sharedBytes(sharedBytes) {}
    int multiprocessors() const override { return m_multiprocessors; }
    int computeCapability() const override { return m_real.computeCapability(); }
    int sharedBytesPerBlock() const override { return m_sharedBytes; }

protected:
    void launch(KernelId kernel, const LaunchShape& shape, const void* args,
                std::size_t argBytes) override {
        EXPECT_LE(shape.sharedBytes, unsigned(m_sharedBytes));
        std::array<std::byte, 4096> raw{};
        std::memcpy(raw.data(), args, argBytes);
        m_real.run(kernel, shape, raw);
    }

private:
    Launcher& m_real;
    int m_multiprocessors, m_sharedBytes;
};

// The sums of two matrices on cards with all kinds of grids and rings equal `expected`. `kernels`
// names those that the card has. -> how often a product left one sum instead of one per segment
int sumsOnOtherCards(CudaBackend& card, const HostWeight (&weights)[2],
                     const std::int64_t (&rowCounts)[2], const Rows& x,
                     const std::vector<Rows>& expected, const char* kernels) {
    const std::unique_ptr<Weight> onCard[2] = {weights[0].on(card), weights[1].on(card)};
    const CardRows in(card, x);
    auto activations = card.makeActivations(x.rows, x.columns);
    EXPECT_TRUE(activations.ok());
    if (!activations) return 0;
    card.quantize(in.tensor(), **activations);
    const auto* const tiles = static_cast<CudaActivations&>(**activations).tiles();
    const int count = int(x.rows);
    int merged = 0;
    for (const int multiprocessors : {1, 2, 7, 97, 132, 1000})
        for (const int sharedBytes : {64 << 10, 99 << 10, 163 << 10, 227 << 10}) {
            if (sharedBytes > card.launcher().sharedBytesPerBlock()) continue;
            OtherCard other(card.launcher(), multiprocessors, sharedBytes);
            GemmRows rows(other);
            std::vector<CardRows> sums;
            std::vector<GemmRows::Job> jobs;
            for (const auto& weight : onCard) {
                const auto& own = static_cast<const CudaWeight&>(*weight);
                sums.emplace_back(card, 1, GemmRows::sumFloats(own.layout, count));
                jobs.push_back({&own.layout, static_cast<const std::byte*>(own.data),
                                reinterpret_cast<float*>(sums.back().tensor().data)});
            }
            PartialSums there[2];
            rows.run(jobs, tiles, count, there);
            for (std::size_t i = 0; i < 2; ++i) {
                merged += there[i].segments < jobs[i].layout->segments;
                const CardRows out(card, count, rowCounts[i], 4);
                rows.reduce(there[i], out.tensor());
                EXPECT_EQ(difference(out.read(), expected[i]), "")
                    << kernels << " kernels, matrix " << i << ", " << x.columns << " columns, "
                    << count << " rows, " << multiprocessors << " multiprocessors, " << sharedBytes
                    << " bytes";
                EXPECT_TRUE(out.gapsUntouched());
            }
        }
    return merged;
}

TEST(GemmRowsCards, GridRingAndFormDoNotMatter) {
    struct Case {
        QuantType types[2];
        std::int64_t columns;
    };
    const Case cases[] = {{{QuantType::Q4_K, QuantType::Q6_K}, 26 * 256},
                          {{QuantType::Q4_K, QuantType::Q4_K}, 40 * 256}, // 13, 13, 13 and 1 unit
                          {{QuantType::Q4_K, QuantType::Q4_K}, 4096},
                          {{QuantType::Q8_0, QuantType::Q8_0}, 13 * 256 - 32}};
    auto processor = makeProcessor();
    const KernelSet sets[] = {ownKernels(), oldestKernels(), asyncKernels()};
    for (const KernelSet& kernels : sets) {
        auto card = makeCard(kernels.options);
        ASSERT_NE(card, nullptr);
        int merged = 0;
        for (const auto& [types, columns] : cases) {
            const std::int64_t rowCounts[2] = {300, 77};
            const HostWeight weights[2] = {
                randomWeight(scalarType(types[0]), rowCounts[0], columns, kSeed + 20),
                randomWeight(scalarType(types[1]), rowCounts[1], columns, kSeed + 21)};
            const std::unique_ptr<Weight> there[2] = {weights[0].on(*processor),
                                                      weights[1].on(*processor)};
            for (const std::int64_t count : {3, 16}) {
                const Rows x = noise(count, columns, kSeed + 22);
                const std::vector<Rows> expected =
                    multiply(*processor, {there[0].get(), there[1].get()}, x);
                merged += sumsOnOtherCards(*card, weights, rowCounts, x, expected, kernels.name);
            }
        }
        EXPECT_GT(merged, 0) << kernels.name;
    }
}

// The same sums a hundred times: copies, barriers and turns that meet differently each time.
TEST(GemmRowsCards, GiveTheSameBitsEveryTime) {
    auto card = makeCard();
    ASSERT_NE(card, nullptr);
    for (const QuantType type : {QuantType::Q4_K, QuantType::Q6_K}) {
        const auto weight = randomWeight(scalarType(type), 8704, 26 * 256, kSeed + 30).on(*card);
        const CardRows in(*card, noise(16, 26 * 256, kSeed + 31));
        auto activations = card->makeActivations(16, 26 * 256);
        ASSERT_TRUE(activations.ok());
        card->quantize(in.tensor(), **activations);
        const CardRows out(*card, 16, 8704);
        Rows first(0, 0);
        for (int round = 0; round < 100; ++round) {
            const MatmulJob job{weight.get(), out.tensor()};
            card->matmul({&job, 1}, **activations);
            if (round % 10 != 0) continue; // most follow each other without a pause
            const Rows got = out.read();
            if (round == 0) first = got;
            ASSERT_EQ(difference(got, first), "") << "round " << round;
        }
    }
}

} // namespace
} // namespace cuda::test

// Matrix products: integer ones against the scalar definition, float ones against double precision,
// and the promise that nothing but the row itself matters.

#include "backend_fixture.h"
#include "scalar_int8.h"

#include "engine/quant/half.h"
#include "engine/quant/quant_table.h"

#include <map>
#include <memory>

namespace engine::test {
namespace {

Rows multiply(CpuBackend& backend, const Weight& weight, Rows& x) {
    auto activations = backend.makeActivations(x.rows, x.columns);
    backend.quantize(x.tensor(), **activations);
    Rows out(x.rows, weight.rows);
    const MatmulJob job{&weight, out.tensor()};
    backend.matmul({&job, 1}, **activations);
    return out;
}

std::unique_ptr<Weight> import(CpuBackend& backend, QuantType type, std::int64_t rows,
                               std::int64_t columns, const std::vector<std::byte>& bytes) {
    auto weight = backend.importWeight({"w", type, rows, columns, bytes}, WeightUse::Matmul);
    EXPECT_TRUE(weight.ok());
    return std::move(*weight);
}

Rows firstRows(const Rows& x, std::int64_t from, std::int64_t count) {
    Rows r(count, x.columns);
    std::copy_n(x.row(from), count * x.columns, r.values.begin());
    return r;
}

TEST(Matmul, ABiasIsAddedAtTheEnd) {
    const auto backend = makeBackend(CpuInstructions::Automatic, 2);
    const std::int64_t rows = 5, columns = 600, outs = 33;
    Rows values = noise(outs, columns, kSeed), x = noise(rows, columns, kSeed + 1);
    Rows bias = noise(1, outs, kSeed + 2);
    const auto bytes = std::as_bytes(std::span(values.values));
    const auto weight = import(*backend, QuantType::F32, outs, columns,
                               std::vector<std::byte>(bytes.begin(), bytes.end()));
    Rows expected = multiply(*backend, *weight, x);
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < outs; ++c) expected.row(r)[c] += bias.row(0)[c];
    auto activations = backend->makeActivations(rows, columns);
    backend->quantize(x.tensor(), **activations);
    Rows out(rows, outs);
    const MatmulJob job{weight.get(), out.tensor(), bias.tensor()};
    backend->matmul({&job, 1}, **activations);
    EXPECT_EQ(difference(out, expected), "") << "seed " << kSeed;
}

class Int8Matmul : public testing::TestWithParam<ScalarType> {};

TEST_P(Int8Matmul, EqualsTheScalarDefinitionBitForBit) {
    const ScalarType& type = GetParam();
    struct Shape {
        std::int64_t rows, columns;
    };
    std::vector<Shape> shapes = {{40, 512}, {17, 13 * 256}, {5, 9 * 256}};
    if (type.blockWeights == 32) shapes.push_back({16, 96}), shapes.push_back({7, 256 + 160});
    for (const auto& [rows, columns] : shapes) {
        const auto blocks =
            randomBlocks(type, rows * columns / type.blockWeights, kSeed + unsigned(columns));
        const std::int64_t rowBytes = columns / type.blockWeights * type.blockBytes;
        Rows x = noise(33, columns, kSeed + 1);
        std::fill_n(x.row(31), columns, 0.0f); // gives 0, and not -0 under negative scales
        Rows expected(x.rows, rows);
        for (std::int64_t c = 0; c < x.rows; ++c) {
            const ScalarActivations a = scalarQuantize(x.row(c), columns);
            for (std::int64_t r = 0; r < rows; ++r)
                expected.row(c)[r] = scalarDot(type, blocks.data() + r * rowBytes, columns, a);
        }
        for (const CpuInstructions set : instructionSets()) {
            auto backend = makeBackend(set, 2);
            const auto weight = import(*backend, type.type, rows, columns, blocks);
            for (std::int64_t n = 1; n <= 33; n = n == 17 ? 33 : n + 1) {
                if (set == CpuInstructions::Reference && n > 2 && n < 33)
                    continue; // slow, and the same code
                Rows part =
                    firstRows(x, 33 - n, n); // a row's place among the others changes with n
                EXPECT_EQ(
                    difference(multiply(*backend, *weight, part), firstRows(expected, 33 - n, n)),
                    "")
                    << type.name << " " << rows << "x" << columns << ", n " << n << ", "
                    << backend->name() << ", seed " << kSeed;
            }
        }
    }
}

TEST_P(Int8Matmul, ManyRowsGiveTheBitsOfOne) {
    const ScalarType& type = GetParam();
    const std::int64_t rows = 37, columns = 1024;
    const auto blocks = randomBlocks(type, rows * columns / type.blockWeights, kSeed);
    Rows x = noise(512, columns);
    auto backend = makeBackend(CpuInstructions::Automatic, 2);
    const auto weight = import(*backend, type.type, rows, columns, blocks);
    const Rows all = multiply(*backend, *weight, x);
    for (const std::int64_t r : {0, 15, 16, 300, 511}) {
        Rows one = firstRows(x, r, 1);
        EXPECT_EQ(difference(multiply(*backend, *weight, one), firstRows(all, r, 1)), "")
            << type.name << " row " << r;
    }
}

TEST_P(Int8Matmul, ExtremeActivationsAgreeOnEveryInstructionSet) {
    const ScalarType& type = GetParam();
    const std::int64_t rows = 16, columns = 512;
    auto blocks = randomBlocks(type, rows * columns / type.blockWeights, kSeed);
    Rows x = noise(8, columns);
    const float inf = std::numeric_limits<float>::infinity();
    std::fill_n(x.row(0), columns, 0.0f);
    std::fill_n(x.row(1), columns, 3.0e38f);
    for (int k = 0; k < columns; ++k)
        x.row(2)[k] = k % 2 ? 127.0f : -127.0f; // the largest integers everywhere
    std::fill_n(x.row(3), columns, 1e-42f);
    x.row(4)[7] = inf;
    x.row(5)[9] = std::nanf("");
    x.row(6)[300] = -inf;
    std::fill_n(x.row(7), columns, -127.0f);
    Rows expected(0, 0);
    for (const CpuInstructions set : instructionSets()) {
        auto backend = makeBackend(set, 1);
        const Rows got = multiply(*backend, *import(*backend, type.type, rows, columns, blocks), x);
        if (set == CpuInstructions::Reference)
            expected = got;
        else
            EXPECT_EQ(difference(got, expected), "") << type.name << " " << backend->name();
    }
}

TEST_P(Int8Matmul, IsCloseToTheExactProduct) {
    const ScalarType& type = GetParam();
    const std::int64_t rows = 24, columns = 1024;
    const auto blocks = randomBlocks(type, rows * columns / type.blockWeights, kSeed);
    Rows x = noise(3, columns);
    std::vector<float> decoded(static_cast<std::size_t>(rows * columns));
    dequantizeRow(type.type, blocks.data(), rows * columns, decoded.data());
    auto backend = makeBackend(CpuInstructions::Automatic);
    const Rows got = multiply(*backend, *import(*backend, type.type, rows, columns, blocks), x);
    double error = 0, size = 0;
    for (int c = 0; c < 3; ++c)
        for (std::int64_t r = 0; r < rows; ++r) {
            double exact = 0;
            for (std::int64_t k = 0; k < columns; ++k)
                exact += double(decoded[std::size_t(r * columns + k)]) * x.row(c)[k];
            error += (got.row(c)[r] - exact) * (got.row(c)[r] - exact);
            size += exact * exact;
        }
    // Rounding activations with rare outliers to 8 bits costs about 1 %.
    EXPECT_LT(std::sqrt(error / size), 0.03) << type.name;
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Int8Matmul, testing::ValuesIn(scalarTypes()),
                         [](const auto& tested) { return std::string(tested.param.name); });

std::vector<std::byte> bytesOf(const void* data, std::size_t bytes) {
    const auto* p = static_cast<const std::byte*>(data);
    return {p, p + bytes};
}

TEST(FloatMatmul, IsExactToFloatForEveryPlainType) {
    const std::int64_t rows = 41, columns = 205; // ragged on both sides
    const Rows w = noise(rows, columns, kSeed + 5);
    Rows x = noise(20, columns, kSeed + 6);
    for (const QuantType type : {QuantType::F32, QuantType::F16, QuantType::BF16}) {
        std::vector<std::uint16_t> halves;
        std::vector<float> plain = w.values;
        for (float& v : plain) {
            if (type == QuantType::F32) continue;
            halves.push_back(type == QuantType::F16 ? floatToHalf(v) : floatToBfloat(v));
            v = type == QuantType::F16 ? halfToFloat(halves.back()) : bfloatToFloat(halves.back());
        }
        const auto bytes = type == QuantType::F32 ? bytesOf(plain.data(), plain.size() * 4)
                                                  : bytesOf(halves.data(), halves.size() * 2);
        Rows reference(0, 0);
        for (const CpuInstructions set : instructionSets()) {
            auto backend = makeBackend(set, 3);
            const Rows got = multiply(*backend, *import(*backend, type, rows, columns, bytes), x);
            if (set == CpuInstructions::Reference) {
                reference = got;
                for (std::int64_t c = 0; c < x.rows; ++c)
                    for (std::int64_t r = 0; r < rows; ++r) {
                        double exact = 0, size = 0;
                        for (std::int64_t k = 0; k < columns; ++k) {
                            const double p =
                                double(plain[std::size_t(r * columns + k)]) * x.row(c)[k];
                            exact += p;
                            size += std::fabs(p);
                        }
                        // At most about a dozen roundings lie on the way of each product.
                        EXPECT_NEAR(got.row(c)[r], exact, size * 12 * 6e-8);
                    }
            } else {
                EXPECT_EQ(difference(got, reference), "") << backend->name();
            }
            for (const std::int64_t r : {0, 7, 19}) {
                Rows one = firstRows(x, r, 1);
                EXPECT_EQ(difference(multiply(*backend,
                                              *import(*backend, type, rows, columns, bytes), one),
                                     firstRows(reference, r, 1)),
                          "");
            }
        }
    }
}

TEST(FloatMatmul, FloatArithmeticDecodesQuantisedWeights) {
    for (const ScalarType& type : scalarTypes()) {
        const std::int64_t rows = 9, columns = 512;
        const auto blocks = randomBlocks(type, rows * columns / type.blockWeights, kSeed);
        std::vector<float> decoded(static_cast<std::size_t>(rows * columns));
        dequantizeRow(type.type, blocks.data(), rows * columns, decoded.data());
        Rows x = noise(5, columns);
        auto backend = makeBackend(CpuInstructions::Automatic, 2, CpuMath::Float);
        const Rows got = multiply(*backend, *import(*backend, type.type, rows, columns, blocks), x);
        const Rows plain = multiply(*backend,
                                    *import(*backend, QuantType::F32, rows, columns,
                                            bytesOf(decoded.data(), decoded.size() * 4)),
                                    x);
        EXPECT_EQ(difference(got, plain), "") << type.name;
    }
}

TEST(Matmul, JobsOfOneCallAndThreadCountsDoNotMatter) {
    const std::int64_t columns = 768;
    const auto a = randomBlocks(scalarTypes()[7], 100 * columns / 256, kSeed);
    const auto b = randomBlocks(scalarTypes()[9], 51 * columns / 256, kSeed + 1);
    const Rows plain = noise(70, columns, kSeed + 2);
    const auto c = bytesOf(plain.values.data(), plain.values.size() * 4);
    Rows x = noise(19, columns);
    std::vector<Rows> first;
    for (const int threads : {1, 2, 3}) {
        auto backend = makeBackend(CpuInstructions::Automatic, threads);
        const auto wa = import(*backend, QuantType::Q4_K, 100, columns, a);
        const auto wb = import(*backend, QuantType::Q6_K, 51, columns, b);
        const auto wc = import(*backend, QuantType::F32, 70, columns, c);
        auto activations = backend->makeActivations(64, 1024); // larger than needed
        backend->quantize(x.tensor(), **activations);
        std::vector<Rows> out{Rows(19, 100), Rows(19, 51), Rows(19, 70)};
        const MatmulJob jobs[] = {
            {wa.get(), out[0].tensor()}, {wb.get(), out[1].tensor()}, {wc.get(), out[2].tensor()}};
        backend->matmul(jobs, **activations);
        EXPECT_EQ(difference(out[1], multiply(*backend, *wb, x)), "");
        if (first.empty()) first = out;
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(difference(out[std::size_t(i)], first[std::size_t(i)]), "")
                << threads << " threads, job " << i;
    }
}

TEST(Matmul, ReadsAndWritesOnlyItsOwnColumns) {
    const std::int64_t columns = 512, rows = 21;
    const auto blocks = randomBlocks(scalarTypes()[7], rows * columns / 256, kSeed);
    const Rows plain = noise(rows, columns, kSeed + 2);
    auto backend = makeBackend(CpuInstructions::Automatic, 2);
    const auto quantised = import(*backend, QuantType::Q4_K, rows, columns, blocks);
    const auto whole = import(*backend, QuantType::F32, rows, columns,
                              bytesOf(plain.values.data(), plain.values.size() * 4));
    Rows x = noise(18, columns), wideIn = noise(18, columns + 24, kSeed + 3);
    for (int r = 0; r < 18; ++r) std::copy_n(x.row(r), columns, wideIn.row(r) + 8);
    for (const Weight* weight : {quantised.get(), whole.get()}) {
        const Rows expected = multiply(*backend, *weight, x);
        Rows wideOut(18, rows + 40);
        std::fill(wideOut.values.begin(), wideOut.values.end(), 77.0f);
        auto activations = backend->makeActivations(18, columns);
        backend->quantize(wideIn.tensor().columnRange(8, columns), **activations);
        const MatmulJob job{weight, wideOut.tensor().columnRange(20, rows)};
        backend->matmul({&job, 1}, **activations);
        for (int r = 0; r < 18; ++r)
            for (int c = 0; c < rows + 40; ++c)
                ASSERT_EQ(wideOut.row(r)[c],
                          c < 20 || c >= 20 + rows ? 77.0f : expected.row(r)[c - 20])
                    << r << ", " << c;
    }
}

TEST(Memory, TooLargeABufferIsAnErrorInWords) {
    auto backend = makeBackend(CpuInstructions::Automatic);
    const auto buffer = backend->allocate(std::int64_t(1) << 50, "keys and values");
    ASSERT_FALSE(buffer.ok());
    EXPECT_EQ(buffer.error().code, ErrorCode::OutOfMemory);
    EXPECT_NE(buffer.error().message.find("keys and values: needs 1073741824 MiB"),
              std::string::npos)
        << buffer.error().message;
}

TEST(Memory, BuffersAreZeroedAndAligned) {
    auto backend = makeBackend(CpuInstructions::Automatic);
    auto buffer = backend->allocate(10000, "scratch");
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64, 0u);
    for (int i = 0; i < 10000; ++i) ASSERT_EQ(buffer->data()[i], std::byte{0});
}

TEST(Embedding, RowsAreReadFromTheFilesBlocks) {
    const ScalarType& type = scalarTypes()[7];
    const auto blocks = randomBlocks(type, 6 * 2, kSeed);
    auto backend = makeBackend(CpuInstructions::Automatic, 2);
    auto table = backend->importWeight({"e", type.type, 6, 512, blocks}, WeightUse::Embedding);
    ASSERT_TRUE(table.ok());
    IntRows ids({5, 0, 5});
    Rows out(3, 512), expected(3, 512);
    backend->embed(**table, ids.tensor(), out.tensor());
    for (int r = 0; r < 3; ++r)
        dequantizeRow(type.type, blocks.data() + ids.values[std::size_t(r)] * 2 * type.blockBytes,
                      512, expected.row(r));
    EXPECT_EQ(difference(out, expected), "");
}

} // namespace
} // namespace engine::test

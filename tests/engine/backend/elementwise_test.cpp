// Norms, activations, rotary positions and the elementary functions beneath them: accuracy against
// double precision, and the same bits on every instruction set.

#include "backend_fixture.h"

#include "engine/backend/cpu/for_rows.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace engine::test {
namespace {

// Distance in units of the last place of the nearest float.
double ulps(float got, double exact) {
    const float nearest = static_cast<float>(exact);
    if (got == nearest) return 0;
    if (std::isinf(nearest) || std::isinf(got)) return 1e9;
    const double step = std::nextafter(std::fabs(nearest), INFINITY) - double(std::fabs(nearest));
    return std::fabs(double(got) - exact) / step;
}

using Row = void (*)(const float*, std::int64_t, float*);

double worst(Row fn, double (*exact)(double), float low, float high) {
    std::vector<float> x, y;
    for (int i = 0; i <= 200000; ++i)
        x.push_back(low + (high - low) * static_cast<float>(i) / 200000.0f);
    y.resize(x.size());
    fn(x.data(), std::int64_t(x.size()), y.data());
    double w = 0;
    for (std::size_t i = 0; i < x.size(); ++i) w = std::max(w, ulps(y[i], exact(double(x[i]))));
    return w;
}

double sigmoidExact(double x) {
    return 1.0 / (1.0 + std::exp(-x));
}

TEST(Elementary, FunctionsAreWithinTheirStatedError) {
    const KernelTable& k = makeBackend(CpuInstructions::Automatic)->kernels();
    EXPECT_LT(worst(k.exponential, std::exp, -86.4f, 88.7f), 1.1);
    EXPECT_LT(worst(k.errorFunction, std::erf, -5.0f, 5.0f), 1.6);
    EXPECT_LT(worst(k.errorFunction, std::erf, -0.01f, 0.01f), 1.6);
    EXPECT_LT(worst(k.hyperbolicTangent, std::tanh, -10.0f, 10.0f), 2.6);
    EXPECT_LT(worst(k.hyperbolicTangent, std::tanh, -0.01f, 0.01f), 2.6);
    EXPECT_LT(worst(k.logistic, sigmoidExact, -80.0f, 80.0f), 3.0);
}

TEST(Elementary, EndsOfTheRangeAreRight) {
    const KernelTable& k = makeBackend(CpuInstructions::Automatic)->kernels();
    const float inf = INFINITY;
    const float x[] = {0.0f,   -0.0f,  inf,     -inf,  NAN,    88.8f,
                       200.0f, -86.6f, -200.0f, 1e30f, -1e30f, 3.0e38f};
    float y[12];
    k.exponential(x, 12, y);
    EXPECT_EQ(y[0], 1.0f);
    EXPECT_EQ(y[1], 1.0f);
    EXPECT_EQ(y[2], inf);
    EXPECT_EQ(y[3], 0.0f);
    EXPECT_TRUE(std::isnan(y[4]));
    EXPECT_EQ(y[5], inf);
    EXPECT_EQ(y[6], inf);
    EXPECT_EQ(y[7], 0.0f);
    EXPECT_EQ(y[8], 0.0f);
    k.hyperbolicTangent(x, 12, y);
    EXPECT_EQ(y[2], 1.0f);
    EXPECT_EQ(y[3], -1.0f);
    EXPECT_TRUE(std::isnan(y[4]));
    EXPECT_EQ(y[11], 1.0f);
    k.errorFunction(x, 12, y);
    EXPECT_EQ(y[0], 0.0f);
    EXPECT_EQ(y[2], 1.0f);
    EXPECT_EQ(y[3], -1.0f);
    EXPECT_TRUE(std::isnan(y[4]));
    EXPECT_EQ(y[9], 1.0f);
    EXPECT_EQ(y[10], -1.0f);
    k.logistic(x, 12, y);
    EXPECT_EQ(y[2], 1.0f);
    EXPECT_EQ(y[3], 0.0f);
    EXPECT_TRUE(std::isnan(y[4]));
}

// Noise with everything that floats can be.
Rows wild(std::int64_t rows, std::int64_t columns, unsigned seed) {
    Rows r = noise(rows, columns, seed, 4.0f);
    const float specials[] = {INFINITY, -INFINITY, NAN,    0.0f,     -0.0f,    1e-40f,
                              -1e-45f,  3e38f,     -3e38f, 65504.0f, 65520.0f, 1e-7f};
    std::mt19937 random(seed + 1);
    for (int i = 0; i < 12; ++i) r.values[random() % r.values.size()] = specials[i];
    return r;
}

TEST(Elementwise, EveryInstructionSetAndThreadCountGivesTheSameBits) {
    struct Case {
        const char* name;
        std::function<void(CpuBackend&, Rows&)> run;
    };
    Rows gamma = noise(1, 1234, 3), beta = noise(1, 1234, 4), other = wild(33, 1234, 5);
    const std::vector<Case> cases = {
        {"rmsNorm",
         [&](CpuBackend& b, Rows& x) { b.rmsNorm(x.tensor(), gamma.tensor(), 1e-5f, x.tensor()); }},
        {"rmsNorm without weights",
         [&](CpuBackend& b, Rows& x) { b.rmsNorm(x.tensor(), {}, 1e-8f, x.tensor()); }},
        {"layerNorm",
         [&](CpuBackend& b, Rows& x) {
             b.layerNorm(x.tensor(), gamma.tensor(), beta.tensor(), 1e-5f, x.tensor());
         }},
        {"sigmoidGate", [&](CpuBackend& b, Rows& x) { b.sigmoidGate(x.tensor(), other.tensor()); }},
        {"swiglu",
         [&](CpuBackend& b, Rows& x) { b.swiglu(x.tensor(), other.tensor(), x.tensor()); }},
        {"gelu", [&](CpuBackend& b, Rows& x) { b.gelu(x.tensor()); }},
        {"add", [&](CpuBackend& b, Rows& x) { b.add(x.tensor(), other.tensor()); }},
        {"add one row", [&](CpuBackend& b, Rows& x) { b.add(x.tensor(), gamma.tensor()); }},
        {"softcap", [&](CpuBackend& b, Rows& x) { b.softcap(x.tensor(), 0.0625f, 20.0f); }},
        {"scale", [&](CpuBackend& b, Rows& x) { b.softcap(x.tensor(), 0.0625f, 0.0f); }},
        {"postNormAdd",
         [&](CpuBackend& b, Rows& x) {
             Rows y = other;
             b.postNormAdd(x.tensor(), y.tensor(), gamma.tensor(), 1e-8f);
         }},
        {"rope",
         [&](CpuBackend& b, Rows& x) {
             IntRows p = ascending(70000, 33);
             b.rope(x.tensor().columnRange(0, 1216), p.tensor(),
                    {RopePairing::Adjacent, 500000, 64, 1});
             b.rope(x.tensor().columnRange(0, 1200), p.tensor(),
                    {RopePairing::Halves, 500000, 40, 1});
         }},
    };
    for (const Case& c : cases) {
        Rows expected(0, 0);
        for (const CpuInstructions set : instructionSets())
            for (const int threads : {1, 2, 3}) {
                auto backend = makeBackend(set, threads);
                Rows x = wild(33, 1234, kSeed);
                c.run(*backend, x);
                if (expected.values.empty())
                    expected = x;
                else
                    EXPECT_EQ(difference(x, expected), "")
                        << c.name << ", " << backend->name() << ", seed " << kSeed;
            }
        // One row alone.
        if (std::string(c.name) == "rmsNorm" || std::string(c.name) == "gelu") {
            Rows x = wild(33, 1234, kSeed), one(1, 1234);
            std::copy_n(x.row(12), 1234, one.row(0));
            auto backend = makeBackend(CpuInstructions::Automatic);
            c.run(*backend, one);
            Rows same(1, 1234);
            std::copy_n(expected.row(12), 1234, same.row(0));
            EXPECT_EQ(difference(one, same), "") << c.name;
        }
    }
}

TEST(Norm, AgreesWithDoublePrecision) {
    auto backend = makeBackend(CpuInstructions::Automatic, 2);
    Rows x = noise(5, 515), gamma = noise(1, 515, 2), beta = noise(1, 515, 3), rms(5, 515),
         layer(5, 515);
    backend->rmsNorm(x.tensor(), gamma.tensor(), 1e-5f, rms.tensor());
    backend->layerNorm(x.tensor(), gamma.tensor(), beta.tensor(), 1e-5f, layer.tensor());
    for (int r = 0; r < 5; ++r) {
        double squares = 0, sum = 0, variance = 0;
        for (int k = 0; k < 515; ++k)
            squares += double(x.row(r)[k]) * x.row(r)[k], sum += x.row(r)[k];
        const double mean = sum / 515;
        for (int k = 0; k < 515; ++k) variance += (x.row(r)[k] - mean) * (x.row(r)[k] - mean);
        for (int k = 0; k < 515; ++k) {
            const double v = x.row(r)[k], g = gamma.row(0)[k];
            EXPECT_NEAR(rms.row(r)[k], v / std::sqrt(squares / 515 + 1e-5) * g,
                        2e-6 * std::fabs(v * g) + 1e-9);
            EXPECT_NEAR(layer.row(r)[k],
                        (v - mean) / std::sqrt(variance / 515 + 1e-5) * g + beta.row(0)[k], 1e-5);
        }
    }
}

TEST(Gelu, IsTheErrorFunctionForm) {
    auto backend = makeBackend(CpuInstructions::Automatic);
    Rows x(1, 4001);
    for (int i = 0; i < 4001; ++i) x.row(0)[i] = -10.0f + 0.005f * static_cast<float>(i);
    const Rows before = x;
    backend->gelu(x.tensor());
    double error = 0, fromTanhForm = 0;
    for (int i = 0; i < 4001; ++i) {
        const double v = before.row(0)[i];
        error =
            std::max(error, std::fabs(x.row(0)[i] - 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)))));
        const double t =
            0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
        fromTanhForm = std::max(fromTanhForm, std::fabs(x.row(0)[i] - t));
    }
    EXPECT_LT(error, 6e-7); // half an ulp of 10
    EXPECT_GT(fromTanhForm, 3e-4);
}

TEST(Softcap, BoundsAndScales) {
    auto backend = makeBackend(CpuInstructions::Automatic, 2);
    Rows z = noise(3, 20000, kSeed, 300.0f);
    const Rows before = z;
    backend->softcap(z.tensor(), 0.25f, 20.0f);
    for (std::size_t i = 0; i < z.values.size(); ++i)
        ASSERT_NEAR(z.values[i], 20 * std::tanh(double(before.values[i]) * 0.25 / 20), 4e-6);
}

TEST(Rope, TurnsPairsByTheirAngles) {
    auto backend = makeBackend(CpuInstructions::Automatic);
    const int size = 24; // not a multiple of the lanes
    for (const RopePairing pairing : {RopePairing::Adjacent, RopePairing::Halves}) {
        Rows x = noise(3, 2 * size);
        const Rows before = x;
        IntRows p({5, 100000, 0});
        backend->rope(x.tensor(), p.tensor(), {pairing, 500000, size, 1});
        for (int r = 0; r < 3; ++r)
            for (int h = 0; h < 2; ++h)
                for (int j = 0; j < size / 2; ++j) {
                    const double a = p.values[std::size_t(r)] * std::pow(500000.0, -2.0 * j / size);
                    const int i0 = h * size + (pairing == RopePairing::Adjacent ? 2 * j : j);
                    const int i1 =
                        h * size + (pairing == RopePairing::Adjacent ? 2 * j + 1 : j + size / 2);
                    const double u = before.row(r)[i0], v = before.row(r)[i1];
                    EXPECT_NEAR(x.row(r)[i0], u * std::cos(a) - v * std::sin(a),
                                2e-6 * (std::fabs(u) + std::fabs(v)));
                    EXPECT_NEAR(x.row(r)[i1], v * std::cos(a) + u * std::sin(a),
                                2e-6 * (std::fabs(u) + std::fabs(v)));
                }
    }
}

TEST(Rope, PicturesTurnHalfTheirPairsByEachAxis) {
    auto backend = makeBackend(CpuInstructions::Automatic);
    const int size = 96;
    Rows x = noise(2, size);
    const Rows before = x;
    IntRows p({3, 40, 17, 1}, 2);
    backend->rope(x.tensor(), p.tensor(), {RopePairing::Adjacent, 10000, size, 2});
    for (int r = 0; r < 2; ++r)
        for (int j = 0; j < size / 2; ++j) {
            const int axis = j / 24;
            const double a =
                p.values[std::size_t(2 * r + axis)] * std::pow(10000.0, -2.0 * (j % 24) / 48);
            const double u = before.row(r)[2 * j], v = before.row(r)[2 * j + 1];
            EXPECT_NEAR(x.row(r)[2 * j], u * std::cos(a) - v * std::sin(a),
                        2e-6 * (std::fabs(u) + std::fabs(v)));
        }
}

TEST(Argmax, TakesTheLowestIndexAmongEquals) {
    for (const CpuInstructions set : instructionSets()) {
        auto backend = makeBackend(set);
        Rows z(4, 37);
        for (float& v : z.values) v = -5.0f;
        z.row(0)[20] = z.row(0)[33] = 1.0f;
        z.row(1)[36] = 2.0f;
        z.row(2)[4] = NAN;
        z.row(2)[9] = -4.0f;
        IntRows ids({-1, -1, -1, -1});
        backend->argmax(z.tensor(), ids.tensor());
        EXPECT_EQ(ids.values, (std::vector<std::int32_t>{20, 36, 9, 0})) << backend->name();
    }
}

TEST(Largest, GivesTheFirstOfTheSortedRow) {
    auto backend = makeBackend(CpuInstructions::Automatic, 2);
    Rows z = noise(3, 500);
    for (int i = 0; i < 500; i += 7) z.row(1)[i] = 2.0f; // more equals than places
    z.row(2)[3] = NAN;
    z.row(2)[4] = INFINITY;
    for (const int count : {1, 20, 64}) {
        Rows values(3, count);
        IntRows ids(std::vector<std::int32_t>(std::size_t(3 * count), -1));
        Tensor idRows = ids.tensor();
        idRows.rows = 3;
        idRows.columns = count;
        idRows.strideBytes = count * 4;
        backend->largest(z.tensor(), values.tensor(), idRows);
        for (int r = 0; r < 3; ++r) {
            const auto value = [&](std::int32_t i) {
                return std::isnan(z.row(r)[i]) ? -INFINITY : z.row(r)[i];
            };
            std::vector<std::int32_t> order(500);
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(),
                             [&](std::int32_t a, std::int32_t b) { return value(a) > value(b); });
            for (int i = 0; i < count; ++i) {
                EXPECT_EQ(ids.values[std::size_t(r * count + i)], order[std::size_t(i)]);
                EXPECT_EQ(values.row(r)[i], value(order[std::size_t(i)]));
            }
        }
    }
}

TEST(GatherRows, CopiesWhatTheIndicesName) {
    auto backend = makeBackend(CpuInstructions::Automatic, 2);
    Rows x = noise(5, 7), out(3, 7);
    IntRows indices({4, 0, 4});
    backend->gatherRows(x.tensor(), indices.tensor(), out.tensor());
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 7; ++c)
            EXPECT_EQ(out.row(r)[c], x.row(indices.values[std::size_t(r)])[c]);
}

} // namespace
} // namespace engine::test

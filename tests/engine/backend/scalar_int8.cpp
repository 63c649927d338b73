#include "scalar_int8.h"

#include "engine/quant/half.h"

#include <cmath>
#include <cstring>
#include <random>

namespace engine::test {

const std::vector<ScalarType>& scalarTypes() {
    static const std::vector<ScalarType> types = {
        {QuantType::Q4_0, "Q4_0", 32, 18},     {QuantType::Q4_1, "Q4_1", 32, 20},
        {QuantType::Q5_0, "Q5_0", 32, 22},     {QuantType::Q5_1, "Q5_1", 32, 24},
        {QuantType::Q8_0, "Q8_0", 32, 34},     {QuantType::Q2_K, "Q2_K", 256, 84},
        {QuantType::Q3_K, "Q3_K", 256, 110},   {QuantType::Q4_K, "Q4_K", 256, 144},
        {QuantType::Q5_K, "Q5_K", 256, 176},   {QuantType::Q6_K, "Q6_K", 256, 210},
        {QuantType::IQ4_NL, "IQ4_NL", 32, 18}, {QuantType::IQ4_XS, "IQ4_XS", 256, 136},
    };
    return types;
}

namespace {

// Offsets of the 16-bit scales in a block; -1: none.
void scaleOffsets(QuantType type, int& d, int& m) {
    d = 0;
    m = -1;
    switch (type) {
    case QuantType::Q4_1:
    case QuantType::Q5_1:
    case QuantType::Q4_K:
    case QuantType::Q5_K: m = 2; break;
    case QuantType::Q2_K: d = 80, m = 82; break;
    case QuantType::Q3_K: d = 108; break;
    case QuantType::Q6_K: d = 208; break;
    default: break;
    }
}

struct Block {
    int w[256];
    int sc[16];
    int m[16];
    float d, dmin;
};

constexpr int kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                             1,    13,   25,  38,  53,  69,  89,  113};

// As ggml's dequantize_row functions read the blocks.
Block readBlock(QuantType type, const std::uint8_t* p) {
    Block b{};
    int dAt, mAt;
    scaleOffsets(type, dAt, mAt);
    std::uint16_t h;
    std::memcpy(&h, p + dAt, 2);
    b.d = halfToFloat(h);
    if (mAt >= 0) {
        std::memcpy(&h, p + mAt, 2);
        b.dmin = halfToFloat(h);
    }
    const auto nibbles = [&](const std::uint8_t* q, int i) {
        return i < 16 ? q[i] & 15 : q[i - 16] >> 4;
    };
    switch (type) {
    case QuantType::Q4_0:
        for (int i = 0; i < 32; ++i) b.w[i] = nibbles(p + 2, i) - 8;
        break;
    case QuantType::Q4_1:
        for (int i = 0; i < 32; ++i) b.w[i] = nibbles(p + 4, i);
        break;
    case QuantType::Q5_0:
        for (int i = 0; i < 32; ++i)
            b.w[i] = (nibbles(p + 6, i) | (p[2 + i / 8] >> i % 8 & 1) << 4) - 16;
        break;
    case QuantType::Q5_1:
        for (int i = 0; i < 32; ++i) b.w[i] = nibbles(p + 8, i) | (p[4 + i / 8] >> i % 8 & 1) << 4;
        break;
    case QuantType::Q8_0:
        for (int i = 0; i < 32; ++i) b.w[i] = static_cast<std::int8_t>(p[2 + i]);
        break;
    case QuantType::IQ4_NL:
        for (int i = 0; i < 32; ++i) b.w[i] = kLevels[nibbles(p + 2, i)];
        break;
    case QuantType::Q2_K:
        for (int j = 0; j < 16; ++j) b.sc[j] = p[j] & 15, b.m[j] = p[j] >> 4;
        for (int i = 0; i < 256; ++i)
            b.w[i] = p[16 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
        break;
    case QuantType::Q3_K:
        for (int j = 0; j < 16; ++j) {
            const int low = j < 8 ? p[96 + j] & 15 : p[96 + j - 8] >> 4;
            b.sc[j] = (low | (p[104 + j % 4] >> j / 4 * 2 & 3) << 4) - 32;
        }
        for (int i = 0; i < 256; ++i)
            b.w[i] = (p[32 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3) -
                     ((p[i % 32] >> i / 32 & 1) ? 0 : 4);
        break;
    case QuantType::Q4_K:
    case QuantType::Q5_K: {
        const std::uint8_t* c = p + 4;
        for (int j = 0; j < 8; ++j) {
            b.sc[j] = j < 4 ? c[j] & 63 : (c[j + 4] & 15) | c[j - 4] >> 6 << 4;
            b.m[j] = j < 4 ? c[j + 4] & 63 : c[j + 4] >> 4 | c[j] >> 6 << 4;
        }
        const bool five = type == QuantType::Q5_K;
        const std::uint8_t* q = p + (five ? 48 : 16);
        for (int i = 0; i < 256; ++i) {
            b.w[i] = q[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
            if (five) b.w[i] |= (p[16 + i % 32] >> i / 32 & 1) << 4;
        }
        break;
    }
    case QuantType::Q6_K:
        for (int j = 0; j < 16; ++j) b.sc[j] = static_cast<std::int8_t>(p[192 + j]);
        for (int i = 0; i < 256; ++i) {
            const int half = i / 128, l = i % 32, part = i % 128 / 32;
            const int low = p[half * 64 + part % 2 * 32 + l] >> (part / 2 * 4) & 15;
            b.w[i] = (low | (p[128 + half * 32 + l] >> part * 2 & 3) << 4) - 32;
        }
        break;
    case QuantType::IQ4_XS:
        for (int j = 0; j < 8; ++j) {
            const int low = p[4 + j / 2] >> (j % 2 * 4) & 15,
                      high = (p[2] | p[3] << 8) >> 2 * j & 3;
            b.sc[j] = (low | high << 4) - 32;
            for (int i = 0; i < 32; ++i) b.w[32 * j + i] = kLevels[nibbles(p + 8 + 16 * j, i)];
        }
        break;
    default: break;
    }
    return b;
}

int roundWithin(float x, int limit) {
    const double r = std::nearbyint(x);
    return r > limit ? limit : r < -limit ? -limit : static_cast<int>(r);
}

} // namespace

std::vector<std::byte> randomBlocks(const ScalarType& type, std::int64_t blocks, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> out(static_cast<std::size_t>(blocks * type.blockBytes));
    for (auto& b : out) b = static_cast<std::byte>(random());
    int d, m;
    scaleOffsets(type.type, d, m);
    for (std::int64_t i = 0; i < blocks; ++i) {
        std::byte* block = out.data() + i * type.blockBytes;
        const auto put = [&](int at, float value) {
            const std::uint16_t h = floatToHalf(value);
            std::memcpy(block + at, &h, 2);
        };
        put(d, (random() % 2 ? 1.0f : -1.0f) *
                   (1e-4f + 1e-3f * static_cast<float>(random() % 1024) / 1024));
        if (m >= 0) put(m, 1e-4f + 1e-2f * static_cast<float>(random() % 1024) / 1024);
    }
    return out;
}

ScalarActivations scalarQuantize(const float* x, std::int64_t columns) {
    ScalarActivations a;
    const std::int64_t units = (columns + 255) / 256;
    const auto at = [&](std::int64_t k) { return k < columns ? x[k] : 0.0f; };
    for (std::int64_t g = 0; g < units * 4; ++g) {
        float m = 0;
        for (int i = 0; i < 64; ++i) m = std::fmax(m, std::fabs(at(g * 64 + i)));
        const float dx = m / 127.0f;
        a.dx.push_back(dx);
        for (int i = 0; i < 64; ++i)
            a.q.push_back(dx > 0 ? roundWithin(at(g * 64 + i) / dx, 127) : 0);
    }
    for (std::int64_t u = 0; u < units; ++u)
        for (const int size : {32, 16}) {
            std::vector<float> sums;
            float m = 0;
            for (int j = 0; j < 256 / size; ++j) {
                int s = 0;
                for (int i = 0; i < size; ++i)
                    s += a.q[static_cast<std::size_t>(u * 256 + j * size + i)];
                sums.push_back(a.dx[static_cast<std::size_t>(u * 4 + j * size / 64)] *
                               static_cast<float>(s));
                m = std::fmax(m, std::fabs(sums.back()));
            }
            const float ds = m / 16256.0f;
            (size == 32 ? a.ds32 : a.ds16).push_back(ds);
            for (const float v : sums)
                (size == 32 ? a.s32 : a.s16).push_back(ds > 0 ? roundWithin(v / ds, 16256) : 0);
        }
    return a;
}

float scalarDot(const ScalarType& type, const std::byte* row, std::int64_t columns,
                const ScalarActivations& x) {
    const std::int64_t units = (columns + 255) / 256, blocks = columns / type.blockWeights;
    const std::int64_t perSegment = units % 13 == 0 ? 13 : 8;
    const auto* p = reinterpret_cast<const std::uint8_t*>(row);
    const auto dot = [&](const Block& b, int from, std::int64_t k, int count) {
        int s = 0;
        for (int i = 0; i < count; ++i) s += b.w[from + i] * x.q[static_cast<std::size_t>(k + i)];
        return s;
    };
    float total = 0, segment = 0;
    for (std::int64_t u = 0; u < units; ++u) {
        float v;
        const float* dx = &x.dx[static_cast<std::size_t>(u * 4)];
        if (type.blockWeights == 256) {
            const Block b = readBlock(type.type, p + u * type.blockBytes);
            const bool sixteen = type.type == QuantType::Q2_K || type.type == QuantType::Q3_K ||
                                 type.type == QuantType::Q6_K;
            const int size = sixteen ? 16 : 32;
            float t = 0;
            for (int g = 0; g < 4; ++g) {
                int isum = 0;
                for (int j = g * 64 / size; j < (g + 1) * 64 / size; ++j)
                    isum += b.sc[j] * dot(b, j * size, u * 256 + j * size, size);
                t = g == 0 ? dx[0] * static_cast<float>(isum)
                           : std::fmaf(dx[g], static_cast<float>(isum), t);
            }
            v = b.d * t;
            if (type.type == QuantType::Q4_K || type.type == QuantType::Q5_K ||
                type.type == QuantType::Q2_K) {
                int ms = 0;
                for (int j = 0; j < 256 / size; ++j)
                    ms +=
                        b.m[j] *
                        (size == 32 ? x.s32 : x.s16)[static_cast<std::size_t>(u * 256 / size + j)];
                const float ds = (size == 32 ? x.ds32 : x.ds16)[static_cast<std::size_t>(u)];
                v = std::fmaf(-b.dmin, ds * static_cast<float>(ms), v);
            }
        } else {
            float t = 0;
            for (int i = 0; i < 8; ++i) {
                const std::int64_t block = u * 8 + i;
                Block b{};
                if (block < blocks) b = readBlock(type.type, p + block * type.blockBytes);
                t = std::fmaf(b.d * dx[i / 2], static_cast<float>(dot(b, 0, block * 32, 32)), t);
                if (type.type == QuantType::Q4_1 || type.type == QuantType::Q5_1) {
                    int sum = 0;
                    for (int k = 0; k < 32; ++k)
                        sum += x.q[static_cast<std::size_t>(block * 32 + k)];
                    t = std::fmaf(b.dmin * dx[i / 2], static_cast<float>(sum), t);
                }
            }
            v = t;
        }
        segment = u % perSegment == 0 ? v : segment + v;
        if (u % perSegment == perSegment - 1 || u + 1 == units)
            total = u < perSegment ? segment : total + segment;
    }
    return total;
}

} // namespace engine::test

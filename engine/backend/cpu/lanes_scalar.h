#pragma once
// Sixteen lanes in plain C++: the reference that the AVX2 and AVX-512 forms (lanes_avx2.h,
// lanes_avx512.h) repeat bit for bit. The kernels (*.inl) are written once on these types. Only
// operations whose result IEEE 754 fixes are here, so all three give the same bits; NaN stays NaN,
// its payload is not promised.
//
// Everything is in an unnamed namespace on purpose: each file is compiled with its own instruction
// set, and nothing of it may be shared by the linker.

#include "engine/backend/cpu/kernel_inline.h"
#include "engine/quant/half.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace engine {
namespace {

struct F {
    float v[16];
};
struct I {
    std::int32_t v[16];
};

constexpr int kDotRows = 2, kDotColumns = 2; // register tile of dotTile (float_kernels.inl)
constexpr int kMixRows = 2, kMixVectors = 2; // register tile of the attention's weighted sum

template<class Fn> inline F eachF(Fn fn) {
    F r;
    for (int i = 0; i < 16; ++i) r.v[i] = fn(i);
    return r;
}
template<class Fn> inline I eachI(Fn fn) {
    I r;
    for (int i = 0; i < 16; ++i) r.v[i] = fn(i);
    return r;
}
inline std::uint32_t bitsOf(float x) {
    std::uint32_t u;
    std::memcpy(&u, &x, 4);
    return u;
}
inline float floatOf(std::uint32_t u) {
    float x;
    std::memcpy(&x, &u, 4);
    return x;
}
inline std::uint32_t unsignedOf(std::int32_t x) {
    return static_cast<std::uint32_t>(x);
}
inline std::int32_t signedOf(std::uint32_t x) {
    return static_cast<std::int32_t>(x);
}

inline float scalarFma(float a, float b, float c) {
    return std::fmaf(a, b, c);
}

inline F zeroF() {
    return eachF([](int) { return 0.0f; });
}
inline F bcast(float x) {
    return eachF([x](int) { return x; });
}
inline F load(const float* p) {
    return eachF([p](int i) { return p[i]; });
}
inline F loadN(const float* p, std::int64_t n) {
    return eachF([=](int i) { return i < n ? p[i] : 0.0f; });
}
inline void store(float* p, const F& a) {
    std::memcpy(p, a.v, 64);
}
inline void storeN(float* p, const F& a, std::int64_t n) {
    for (int i = 0; i < 16 && i < n; ++i) p[i] = a.v[i];
}
inline F operator+(const F& a, const F& b) {
    return eachF([&](int i) { return a.v[i] + b.v[i]; });
}
inline F operator-(const F& a, const F& b) {
    return eachF([&](int i) { return a.v[i] - b.v[i]; });
}
inline F operator*(const F& a, const F& b) {
    return eachF([&](int i) { return a.v[i] * b.v[i]; });
}
inline F operator/(const F& a, const F& b) {
    return eachF([&](int i) { return a.v[i] / b.v[i]; });
}
// a * b + c with one rounding.
inline F fma(const F& a, const F& b, const F& c) {
    return eachF([&](int i) { return scalarFma(a.v[i], b.v[i], c.v[i]); });
}
inline F squareRoot(const F& a) {
    return eachF([&](int i) { return std::sqrt(a.v[i]); });
}
// The x86 rule: the second operand if either is NaN or both are zero.
inline F maxOf(const F& a, const F& b) {
    return eachF([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
inline F minOf(const F& a, const F& b) {
    return eachF([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}
inline F absOf(const F& a) {
    return eachF([&](int i) { return floatOf(bitsOf(a.v[i]) & 0x7fffffffu); });
}
inline F negate(const F& a) {
    return eachF([&](int i) { return floatOf(bitsOf(a.v[i]) ^ 0x80000000u); });
}
// The magnitude of a (which is not negative) with the sign of s.
inline F withSignOf(const F& a, const F& s) {
    return eachF([&](int i) { return floatOf(bitsOf(a.v[i]) | (bitsOf(s.v[i]) & 0x80000000u)); });
}
// x where a > b, else y.
inline F whereGreater(const F& a, const F& b, const F& x, const F& y) {
    return eachF([&](int i) { return a.v[i] > b.v[i] ? x.v[i] : y.v[i]; });
}
inline F swapPairs(const F& a) {
    return eachF([&](int i) { return a.v[i ^ 1]; });
}

// Lanes l and l + 16 of a sum over 32 lanes, then +8, +4, +2, +1.
inline float treeSum(const F& low, const F& high) {
    float s[16];
    for (int i = 0; i < 16; ++i) s[i] = low.v[i] + high.v[i];
    for (int step = 8; step > 0; step /= 2)
        for (int i = 0; i < step; ++i) s[i] = s[i] + s[i + step];
    return s[0];
}
inline float maxLane(const F& a) {
    float m[16];
    std::memcpy(m, a.v, 64);
    for (int step = 8; step > 0; step /= 2)
        for (int i = 0; i < step; ++i) m[i] = m[i] > m[i + step] ? m[i] : m[i + step];
    return m[0];
}

inline F loadHalf(const std::uint16_t* p) {
    return eachF([p](int i) { return halfToFloat(p[i]); });
}
inline void storeHalf(std::uint16_t* p, const F& a) {
    for (int i = 0; i < 16; ++i) p[i] = floatToHalf(a.v[i]);
}
inline F loadBfloat(const std::uint16_t* p) {
    return eachF([p](int i) { return bfloatToFloat(p[i]); });
}
inline float halfToScalar(std::uint16_t h) {
    return halfToFloat(h);
}
inline std::uint16_t scalarToHalf(float x) {
    return floatToHalf(x);
}

// Nearest integer, ties to even; what does not fit (and NaN) becomes the most negative one.
inline I toInt(const F& a) {
    return eachI([&](int i) {
        const float x = a.v[i];
        if (!(x >= -2147483648.0f && x < 2147483648.0f)) return INT32_MIN;
        return static_cast<std::int32_t>(std::lrintf(x));
    });
}
inline F toFloat(const I& a) {
    return eachF([&](int i) { return static_cast<float>(a.v[i]); });
}
// 2^n for whole n in [-126, 127].
inline F powerOfTwo(const F& n) {
    const I k = toInt(n);
    return eachF([&](int i) { return floatOf((unsignedOf(k.v[i]) + 127u) << 23); });
}

inline I zeroI() {
    return eachI([](int) { return 0; });
}
inline I bcastI(std::int32_t x) {
    return eachI([x](int) { return x; });
}
inline I loadI(const void* p) {
    I r;
    std::memcpy(r.v, p, 64);
    return r;
}
inline void storeI(void* p, const I& a) {
    std::memcpy(p, a.v, 64);
}
inline I bcastLoad(const void* p) {
    std::int32_t x;
    std::memcpy(&x, p, 4);
    return bcastI(x);
}
inline I operator&(const I& a, const I& b) {
    return eachI([&](int i) { return a.v[i] & b.v[i]; });
}
inline I operator|(const I& a, const I& b) {
    return eachI([&](int i) { return a.v[i] | b.v[i]; });
}
inline I operator^(const I& a, const I& b) {
    return eachI([&](int i) { return a.v[i] ^ b.v[i]; });
}
inline I operator+(const I& a, const I& b) {
    return eachI([&](int i) { return a.v[i] + b.v[i]; });
}
inline I operator-(const I& a, const I& b) {
    return eachI([&](int i) { return a.v[i] - b.v[i]; });
}
template<int n> inline I shiftRight(const I& a) { // zeros come in
    return eachI([&](int i) { return signedOf(unsignedOf(a.v[i]) >> n); });
}
inline I shiftRightBy(const I& a, int n) {
    return eachI([&](int i) { return signedOf(unsignedOf(a.v[i]) >> n); });
}
template<int n> inline I shiftLeft(const I& a) {
    return eachI([&](int i) { return signedOf(unsignedOf(a.v[i]) << n); });
}
template<int n> inline I shiftRightSigned(const I& a) {
    return eachI([&](int i) { return a.v[i] >> n; });
}
inline I loadU16(const std::uint16_t* p) {
    return eachI([p](int i) { return std::int32_t(p[i]); });
}
inline void storeI8(std::int8_t* p, const I& a) { // values within [-128, 127]
    for (int i = 0; i < 16; ++i) p[i] = static_cast<std::int8_t>(a.v[i]);
}
inline F loadI8(const std::int8_t* p) {
    return eachF([p](int i) { return static_cast<float>(p[i]); });
}
inline std::int32_t sumLanes(const I& a) {
    std::int32_t s = 0;
    for (int i = 0; i < 16; ++i) s += a.v[i];
    return s;
}

inline std::int32_t byteOf(std::int32_t x, int j) {
    return (x >> (8 * j)) & 255;
}
inline std::int32_t signedByteOf(std::int32_t x, int j) {
    return static_cast<std::int8_t>(byteOf(x, j));
}

// acc + the dot products of `count` dwords of unsigned weight bytes (at most maxWeight) with 4 *
// count activation bytes that are the same for all lanes.
template<int count, int maxWeight> inline I dot(const I& acc, const I* w, const std::int8_t* x) {
    I r = acc;
    for (int i = 0; i < count; ++i)
        for (int lane = 0; lane < 16; ++lane)
            for (int j = 0; j < 4; ++j) r.v[lane] += byteOf(w[i].v[lane], j) * x[4 * i + j];
    return r;
}
// The same for 32 signed weights prepared by prepareSigned; minus128Sum = -128 * sum of the 32 x.
inline I prepareSigned(const I& w) {
    return w;
}
inline I dotSigned32(const I* w, const std::int8_t* x, const std::int32_t* /*minus128Sum*/) {
    I r = zeroI();
    for (int i = 0; i < 8; ++i)
        for (int lane = 0; lane < 16; ++lane)
            for (int j = 0; j < 4; ++j) r.v[lane] += signedByteOf(w[i].v[lane], j) * x[4 * i + j];
    return r;
}
// acc + low half * low half + high half * high half, 16-bit signed.
inline I dotPairs(const I& acc, const I& a, const I& b) {
    return eachI([&](int i) {
        const std::int32_t low =
            static_cast<std::int16_t>(a.v[i] & 0xffff) * static_cast<std::int16_t>(b.v[i] & 0xffff);
        return acc.v[i] + low + (a.v[i] >> 16) * (b.v[i] >> 16);
    });
}
// Each byte, 0..15, replaced by table[byte].
inline I lookUp(const std::int8_t (&table)[16], const I& index) {
    return eachI([&](int i) {
        std::uint32_t r = 0;
        for (int j = 0; j < 4; ++j)
            r |= std::uint32_t(static_cast<std::uint8_t>(table[byteOf(index.v[i], j) & 15]))
                 << (8 * j);
        return signedOf(r);
    });
}
inline void prefetch(const void*) {}

} // namespace
} // namespace engine

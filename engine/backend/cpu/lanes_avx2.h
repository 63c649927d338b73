#pragma once
// Sixteen lanes as two AVX2 registers (AVX2, FMA, F16C; with GLINT_AVX_VNNI also AVX-VNNI). See
// lanes_scalar.h for what each function promises; the bits are the same.

#include "engine/backend/cpu/kernel_inline.h"

#include <cstdint>
#include <cstring>
#include <immintrin.h>

namespace engine {
namespace {

struct F {
    __m256 a, b; // lanes 0-7, 8-15
};
struct I {
    __m256i a, b;
};

constexpr int kDotRows = 1, kDotColumns = 3; // 12 registers of accumulators
constexpr int kMixRows = 3, kMixVectors = 2; // 12

KERNEL_INLINE float scalarFma(float a, float b, float c) {
    return _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c)));
}

KERNEL_INLINE F zeroF() {
    return {_mm256_setzero_ps(), _mm256_setzero_ps()};
}
KERNEL_INLINE F bcast(float x) {
    return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
KERNEL_INLINE F load(const float* p) {
    return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
KERNEL_INLINE F loadN(const float* p, std::int64_t n) {
    if (n >= 16) return load(p);
    alignas(32) float t[16] = {};
    for (std::int64_t i = 0; i < n; ++i) t[i] = p[i];
    return load(t);
}
KERNEL_INLINE void store(float* p, F x) {
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
}
KERNEL_INLINE void storeN(float* p, F x, std::int64_t n) {
    if (n >= 16) {
        store(p, x);
        return;
    }
    alignas(32) float t[16];
    store(t, x);
    for (std::int64_t i = 0; i < n; ++i) p[i] = t[i];
}
KERNEL_INLINE F operator+(F x, F y) {
    return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)};
}
KERNEL_INLINE F operator-(F x, F y) {
    return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)};
}
KERNEL_INLINE F operator*(F x, F y) {
    return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
}
KERNEL_INLINE F operator/(F x, F y) {
    return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)};
}
KERNEL_INLINE F fma(F x, F y, F z) {
    return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
KERNEL_INLINE F squareRoot(F x) {
    return {_mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b)};
}
KERNEL_INLINE F maxOf(F x, F y) {
    return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)};
}
KERNEL_INLINE F minOf(F x, F y) {
    return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)};
}
KERNEL_INLINE __m256 signBit() {
    return _mm256_set1_ps(-0.0f);
}
KERNEL_INLINE F absOf(F x) {
    return {_mm256_andnot_ps(signBit(), x.a), _mm256_andnot_ps(signBit(), x.b)};
}
KERNEL_INLINE F negate(F x) {
    return {_mm256_xor_ps(signBit(), x.a), _mm256_xor_ps(signBit(), x.b)};
}
KERNEL_INLINE F withSignOf(F x, F s) {
    return {_mm256_or_ps(x.a, _mm256_and_ps(signBit(), s.a)),
            _mm256_or_ps(x.b, _mm256_and_ps(signBit(), s.b))};
}
KERNEL_INLINE F whereGreater(F p, F q, F x, F y) {
    return {_mm256_blendv_ps(y.a, x.a, _mm256_cmp_ps(p.a, q.a, _CMP_GT_OQ)),
            _mm256_blendv_ps(y.b, x.b, _mm256_cmp_ps(p.b, q.b, _CMP_GT_OQ))};
}
KERNEL_INLINE F swapPairs(F x) {
    return {_mm256_permute_ps(x.a, 0xb1), _mm256_permute_ps(x.b, 0xb1)};
}

KERNEL_INLINE float treeSum(F low, F high) {
    const F s16 = low + high;
    const __m256 s8 = _mm256_add_ps(s16.a, s16.b);
    const __m128 s4 = _mm_add_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
    const __m128 s2 = _mm_add_ps(s4, _mm_movehl_ps(s4, s4));
    return _mm_cvtss_f32(_mm_add_ss(s2, _mm_movehdup_ps(s2)));
}
KERNEL_INLINE float maxLane(F x) {
    const __m256 m8 = _mm256_max_ps(x.a, x.b);
    const __m128 m4 = _mm_max_ps(_mm256_castps256_ps128(m8), _mm256_extractf128_ps(m8, 1));
    const __m128 m2 = _mm_max_ps(m4, _mm_movehl_ps(m4, m4));
    return _mm_cvtss_f32(_mm_max_ss(m2, _mm_movehdup_ps(m2)));
}

KERNEL_INLINE __m128i load128(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
KERNEL_INLINE F loadHalf(const std::uint16_t* p) {
    return {_mm256_cvtph_ps(load128(p)), _mm256_cvtph_ps(load128(p + 8))};
}
KERNEL_INLINE void storeHalf(std::uint16_t* p, F x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8),
                     _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT));
}
KERNEL_INLINE F loadBfloat(const std::uint16_t* p) {
    const __m256i low = _mm256_cvtepu16_epi32(load128(p)),
                  high = _mm256_cvtepu16_epi32(load128(p + 8));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)),
            _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
}
KERNEL_INLINE float halfToScalar(std::uint16_t h) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h)));
}
KERNEL_INLINE std::uint16_t scalarToHalf(float x) {
    return static_cast<std::uint16_t>(
        _mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT)));
}

KERNEL_INLINE I toInt(F x) {
    return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)};
}
KERNEL_INLINE F toFloat(I x) {
    return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)};
}
KERNEL_INLINE __m256 powerOfTwo8(__m256 n) {
    const __m256i k = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(k, 23));
}
KERNEL_INLINE F powerOfTwo(F n) {
    return {powerOfTwo8(n.a), powerOfTwo8(n.b)};
}

KERNEL_INLINE I zeroI() {
    return {_mm256_setzero_si256(), _mm256_setzero_si256()};
}
KERNEL_INLINE I bcastI(std::int32_t x) {
    return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
KERNEL_INLINE I loadI(const void* p) {
    const auto* q = static_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
}
KERNEL_INLINE void storeI(void* p, I x) {
    auto* q = static_cast<__m256i*>(p);
    _mm256_storeu_si256(q, x.a);
    _mm256_storeu_si256(q + 1, x.b);
}
KERNEL_INLINE __m256i bcastLoad8(const void* p) {
    std::int32_t x;
    std::memcpy(&x, p, 4);
    return _mm256_set1_epi32(x);
}
KERNEL_INLINE I bcastLoad(const void* p) {
    const __m256i x = bcastLoad8(p);
    return {x, x};
}
KERNEL_INLINE I operator&(I x, I y) {
    return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)};
}
KERNEL_INLINE I operator|(I x, I y) {
    return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)};
}
KERNEL_INLINE I operator^(I x, I y) {
    return {_mm256_xor_si256(x.a, y.a), _mm256_xor_si256(x.b, y.b)};
}
KERNEL_INLINE I operator+(I x, I y) {
    return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)};
}
KERNEL_INLINE I operator-(I x, I y) {
    return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)};
}
template<int n> KERNEL_INLINE I shiftRight(I x) {
    return {_mm256_srli_epi32(x.a, n), _mm256_srli_epi32(x.b, n)};
}
KERNEL_INLINE I shiftRightBy(I x, int n) {
    const __m128i k = _mm_cvtsi32_si128(n);
    return {_mm256_srl_epi32(x.a, k), _mm256_srl_epi32(x.b, k)};
}
template<int n> KERNEL_INLINE I shiftLeft(I x) {
    return {_mm256_slli_epi32(x.a, n), _mm256_slli_epi32(x.b, n)};
}
template<int n> KERNEL_INLINE I shiftRightSigned(I x) {
    return {_mm256_srai_epi32(x.a, n), _mm256_srai_epi32(x.b, n)};
}
KERNEL_INLINE I loadU16(const std::uint16_t* p) {
    return {_mm256_cvtepu16_epi32(load128(p)), _mm256_cvtepu16_epi32(load128(p + 8))};
}
KERNEL_INLINE void storeI8(std::int8_t* p, I x) {
    alignas(32) std::int32_t t[16];
    storeI(t, x);
    for (int i = 0; i < 16; ++i) p[i] = static_cast<std::int8_t>(t[i]);
}
KERNEL_INLINE F loadI8(const std::int8_t* p) {
    const __m128i x = load128(p);
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(x)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(x, 8)))};
}
KERNEL_INLINE std::int32_t sumLanes(I x) {
    const __m256i s8 = _mm256_add_epi32(x.a, x.b);
    __m128i s4 = _mm_add_epi32(_mm256_castsi256_si128(s8), _mm256_extracti128_si256(s8, 1));
    s4 = _mm_add_epi32(s4, _mm_shuffle_epi32(s4, 0x4e));
    s4 = _mm_add_epi32(s4, _mm_shuffle_epi32(s4, 0xb1));
    return _mm_cvtsi128_si32(s4);
}

#if defined(GLINT_AVX_VNNI)
template<int count, int maxWeight> KERNEL_INLINE I dot(I acc, const I* w, const std::int8_t* x) {
    for (int i = 0; i < count; ++i) {
        const __m256i v = bcastLoad8(x + 4 * i);
        acc.a = _mm256_dpbusd_avx_epi32(acc.a, w[i].a, v);
        acc.b = _mm256_dpbusd_avx_epi32(acc.b, w[i].b, v);
    }
    return acc;
}
// As with AVX-512: weights are moved up by 128, the sum of the activations takes it away again.
KERNEL_INLINE I prepareSigned(I w) {
    const __m256i top = _mm256_set1_epi8(-128);
    return {_mm256_xor_si256(w.a, top), _mm256_xor_si256(w.b, top)};
}
KERNEL_INLINE I dotSigned32(const I* w, const std::int8_t* x, const std::int32_t* minus128Sum) {
    return dot<8, 255>(bcastLoad(minus128Sum), w, x);
}
#else
// maddubs adds pairs of products in 16 bits. With |x| <= 127 a pair stays within 254 * maxWeight,
// so several may be added before they are widened; never more than fits.
template<int count, int maxWeight> KERNEL_INLINE I dot(I acc, const I* w, const std::int8_t* x) {
    constexpr int kFits = 32767 / (254 * maxWeight);
    constexpr int kRun = kFits < count ? kFits : count;
    static_assert(kRun >= 1 && count % kRun == 0);
    const __m256i ones = _mm256_set1_epi16(1);
    for (int i = 0; i < count; i += kRun) {
        __m256i v = bcastLoad8(x + 4 * i);
        __m256i sa = _mm256_maddubs_epi16(w[i].a, v), sb = _mm256_maddubs_epi16(w[i].b, v);
        for (int j = i + 1; j < i + kRun; ++j) {
            v = bcastLoad8(x + 4 * j);
            sa = _mm256_add_epi16(sa, _mm256_maddubs_epi16(w[j].a, v));
            sb = _mm256_add_epi16(sb, _mm256_maddubs_epi16(w[j].b, v));
        }
        acc.a = _mm256_add_epi32(acc.a, _mm256_madd_epi16(sa, ones));
        acc.b = _mm256_add_epi32(acc.b, _mm256_madd_epi16(sb, ones));
    }
    return acc;
}
// Signed weights: |w| as the unsigned factor, and w's sign moved to x (which is never -128).
KERNEL_INLINE I prepareSigned(I w) {
    return w;
}
KERNEL_INLINE __m256i madSigned(__m256i w, __m256i x) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
KERNEL_INLINE I dotSigned32(const I* w, const std::int8_t* x, const std::int32_t* /*minus128Sum*/) {
    I acc = zeroI();
    for (int i = 0; i < 8; ++i) {
        const __m256i v = bcastLoad8(x + 4 * i);
        acc.a = _mm256_add_epi32(acc.a, madSigned(w[i].a, v));
        acc.b = _mm256_add_epi32(acc.b, madSigned(w[i].b, v));
    }
    return acc;
}
#endif
KERNEL_INLINE I dotPairs(I acc, I x, I y) {
    return {_mm256_add_epi32(acc.a, _mm256_madd_epi16(x.a, y.a)),
            _mm256_add_epi32(acc.b, _mm256_madd_epi16(x.b, y.b))};
}
KERNEL_INLINE I lookUp(const std::int8_t (&table)[16], I index) {
    const __m256i t = _mm256_broadcastsi128_si256(load128(table));
    return {_mm256_shuffle_epi8(t, index.a), _mm256_shuffle_epi8(t, index.b)};
}
KERNEL_INLINE void prefetch(const void* p) {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

} // namespace
} // namespace engine

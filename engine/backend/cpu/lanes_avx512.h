#pragma once
// Sixteen lanes as one AVX-512 register (F, BW, DQ, VL, VNNI). See lanes_scalar.h for what each
// function promises; the bits are the same.

#include "engine/backend/cpu/kernel_inline.h"

#include <cstdint>
#include <cstring>
#include <immintrin.h>

namespace engine {
namespace {

struct F {
    __m512 v;
};
struct I {
    __m512i v;
};

constexpr int kDotRows = 4, kDotColumns = 3; // 24 accumulators of 16 lanes
constexpr int kMixRows = 4, kMixVectors = 4; // 16 accumulators

KERNEL_INLINE __mmask16 firstLanes(std::int64_t n) {
    return n >= 16 ? __mmask16(0xffff) : n <= 0 ? __mmask16(0) : __mmask16((1u << n) - 1u);
}

KERNEL_INLINE float scalarFma(float a, float b, float c) {
    return _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c)));
}

KERNEL_INLINE F zeroF() {
    return {_mm512_setzero_ps()};
}
KERNEL_INLINE F bcast(float x) {
    return {_mm512_set1_ps(x)};
}
KERNEL_INLINE F load(const float* p) {
    return {_mm512_loadu_ps(p)};
}
KERNEL_INLINE F loadN(const float* p, std::int64_t n) {
    return {_mm512_maskz_loadu_ps(firstLanes(n), p)};
}
KERNEL_INLINE void store(float* p, F a) {
    _mm512_storeu_ps(p, a.v);
}
KERNEL_INLINE void storeN(float* p, F a, std::int64_t n) {
    _mm512_mask_storeu_ps(p, firstLanes(n), a.v);
}
KERNEL_INLINE F operator+(F a, F b) {
    return {_mm512_add_ps(a.v, b.v)};
}
KERNEL_INLINE F operator-(F a, F b) {
    return {_mm512_sub_ps(a.v, b.v)};
}
KERNEL_INLINE F operator*(F a, F b) {
    return {_mm512_mul_ps(a.v, b.v)};
}
KERNEL_INLINE F operator/(F a, F b) {
    return {_mm512_div_ps(a.v, b.v)};
}
KERNEL_INLINE F fma(F a, F b, F c) {
    return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
KERNEL_INLINE F squareRoot(F a) {
    return {_mm512_sqrt_ps(a.v)};
}
KERNEL_INLINE F maxOf(F a, F b) {
    return {_mm512_max_ps(a.v, b.v)};
}
KERNEL_INLINE F minOf(F a, F b) {
    return {_mm512_min_ps(a.v, b.v)};
}
KERNEL_INLINE F absOf(F a) {
    return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.v)};
}
KERNEL_INLINE F negate(F a) {
    return {_mm512_xor_ps(_mm512_set1_ps(-0.0f), a.v)};
}
KERNEL_INLINE F withSignOf(F a, F s) {
    return {_mm512_or_ps(a.v, _mm512_and_ps(_mm512_set1_ps(-0.0f), s.v))};
}
KERNEL_INLINE F whereGreater(F a, F b, F x, F y) {
    return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_GT_OQ), y.v, x.v)};
}
KERNEL_INLINE F swapPairs(F a) {
    return {_mm512_permute_ps(a.v, 0xb1)};
}

KERNEL_INLINE float treeSum(F low, F high) {
    const __m512 s16 = _mm512_add_ps(low.v, high.v);
    const __m256 s8 = _mm256_add_ps(_mm512_castps512_ps256(s16), _mm512_extractf32x8_ps(s16, 1));
    const __m128 s4 = _mm_add_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
    const __m128 s2 = _mm_add_ps(s4, _mm_movehl_ps(s4, s4));
    return _mm_cvtss_f32(_mm_add_ss(s2, _mm_movehdup_ps(s2)));
}
KERNEL_INLINE float maxLane(F a) {
    const __m256 m8 = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
    const __m128 m4 = _mm_max_ps(_mm256_castps256_ps128(m8), _mm256_extractf128_ps(m8, 1));
    const __m128 m2 = _mm_max_ps(m4, _mm_movehl_ps(m4, m4));
    return _mm_cvtss_f32(_mm_max_ss(m2, _mm_movehdup_ps(m2)));
}

KERNEL_INLINE F loadHalf(const std::uint16_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
KERNEL_INLINE void storeHalf(std::uint16_t* p, F a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT));
}
KERNEL_INLINE F loadBfloat(const std::uint16_t* p) {
    const __m512i wide =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}
KERNEL_INLINE float halfToScalar(std::uint16_t h) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h)));
}
KERNEL_INLINE std::uint16_t scalarToHalf(float x) {
    return static_cast<std::uint16_t>(
        _mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT)));
}

KERNEL_INLINE I toInt(F a) {
    return {_mm512_cvtps_epi32(a.v)};
}
KERNEL_INLINE F toFloat(I a) {
    return {_mm512_cvtepi32_ps(a.v)};
}
KERNEL_INLINE F powerOfTwo(F n) {
    const __m512i k = _mm512_add_epi32(_mm512_cvtps_epi32(n.v), _mm512_set1_epi32(127));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(k, 23))};
}

KERNEL_INLINE I zeroI() {
    return {_mm512_setzero_si512()};
}
KERNEL_INLINE I bcastI(std::int32_t x) {
    return {_mm512_set1_epi32(x)};
}
KERNEL_INLINE I loadI(const void* p) {
    return {_mm512_loadu_si512(p)};
}
KERNEL_INLINE void storeI(void* p, I a) {
    _mm512_storeu_si512(p, a.v);
}
KERNEL_INLINE I bcastLoad(const void* p) {
    std::int32_t x;
    std::memcpy(&x, p, 4);
    return {_mm512_set1_epi32(x)};
}
KERNEL_INLINE I operator&(I a, I b) {
    return {_mm512_and_si512(a.v, b.v)};
}
KERNEL_INLINE I operator|(I a, I b) {
    return {_mm512_or_si512(a.v, b.v)};
}
KERNEL_INLINE I operator^(I a, I b) {
    return {_mm512_xor_si512(a.v, b.v)};
}
KERNEL_INLINE I operator+(I a, I b) {
    return {_mm512_add_epi32(a.v, b.v)};
}
KERNEL_INLINE I operator-(I a, I b) {
    return {_mm512_sub_epi32(a.v, b.v)};
}
template<int n> KERNEL_INLINE I shiftRight(I a) {
    return {_mm512_srli_epi32(a.v, n)};
}
KERNEL_INLINE I shiftRightBy(I a, int n) {
    return {_mm512_srl_epi32(a.v, _mm_cvtsi32_si128(n))};
}
template<int n> KERNEL_INLINE I shiftLeft(I a) {
    return {_mm512_slli_epi32(a.v, n)};
}
template<int n> KERNEL_INLINE I shiftRightSigned(I a) {
    return {_mm512_srai_epi32(a.v, n)};
}
KERNEL_INLINE I loadU16(const std::uint16_t* p) {
    return {_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
KERNEL_INLINE void storeI8(std::int8_t* p, I a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}
KERNEL_INLINE F loadI8(const std::int8_t* p) {
    return {_mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))))};
}
KERNEL_INLINE std::int32_t sumLanes(I a) {
    return _mm512_reduce_add_epi32(a.v);
}

template<int count, int maxWeight> KERNEL_INLINE I dot(I acc, const I* w, const std::int8_t* x) {
    for (int i = 0; i < count; ++i)
        acc.v = _mm512_dpbusd_epi32(acc.v, w[i].v, bcastLoad(x + 4 * i).v);
    return acc;
}
// VNNI multiplies unsigned by signed bytes: weights are moved up by 128, and the sum of the
// activations takes it away again.
KERNEL_INLINE I prepareSigned(I w) {
    return {_mm512_xor_si512(w.v, _mm512_set1_epi32(std::int32_t(0x80808080u)))};
}
KERNEL_INLINE I dotSigned32(const I* w, const std::int8_t* x, const std::int32_t* minus128Sum) {
    return dot<8, 255>(bcastLoad(minus128Sum), w, x);
}
KERNEL_INLINE I dotPairs(I acc, I a, I b) {
    return {_mm512_dpwssd_epi32(acc.v, a.v, b.v)};
}
KERNEL_INLINE I lookUp(const std::int8_t (&table)[16], I index) {
    const __m128i t = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return {_mm512_shuffle_epi8(_mm512_broadcast_i32x4(t), index.v)};
}
KERNEL_INLINE void prefetch(const void* p) {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

} // namespace
} // namespace engine

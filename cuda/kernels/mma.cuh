#pragma once
// Matrix products of one warp, in the fragment coordinates that all supported cards share:
// lane = 4 g + t. Before sm_80 (or with GLINT_PLAIN_PATH) they are put together from the smaller
// shapes of that time, with the same operands and, for integers, the same results.
//
//   int8, D[16][8] += A[16][K] * B[K][8], K = 32 or 16, exact 32-bit integers:
//     a[0]: row g, K = 4 t ..; a[1]: row g + 8, the same K; a[2], a[3]: the same rows, K + 16
//     b0: column g, K = 4 t ..; b1: K + 16
//     d[i]: row g + 8 (i / 2), column 2 t + i % 2
//   f16, K = 16, D in single precision:
//     a[0]: row g, K = 2 t, 2 t + 1; a[1]: row g + 8; a[2], a[3]: the same rows, K + 8
//     b0: column g, K = 2 t, 2 t + 1; b1: K + 8; d as above

#include <cstdint>

#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800 || defined(GLINT_PLAIN_PATH))
#    define GLINT_SMALL_MMA
#endif

namespace cuda {

// One of the operands A is signed or not; B always is.
template<bool kSigned>
__device__ __forceinline__ void mmaBytes8x8x16(int& d0, int& d1, std::uint32_t a, std::uint32_t b) {
    if constexpr (kSigned)
        asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+r"(d0), "+r"(d1)
            : "r"(a), "r"(b));
    else
        asm("mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+r"(d0), "+r"(d1)
            : "r"(a), "r"(b));
}

// d = A * B over 32 of K.
template<bool kSigned>
__device__ __forceinline__ void mmaBytes32(int (&d)[4], const std::uint32_t (&a)[4],
                                           std::uint32_t b0, std::uint32_t b1) {
#if defined(GLINT_SMALL_MMA)
    for (int i = 0; i < 4; ++i) d[i] = 0;
    mmaBytes8x8x16<kSigned>(d[0], d[1], a[0], b0);
    mmaBytes8x8x16<kSigned>(d[2], d[3], a[1], b0);
    mmaBytes8x8x16<kSigned>(d[0], d[1], a[2], b1);
    mmaBytes8x8x16<kSigned>(d[2], d[3], a[3], b1);
#else
    if constexpr (kSigned)
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%10,%10,%10,%10};"
            : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(0));
    else
        asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%10,%10,%10,%10};"
            : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(0));
#endif
}

// d += A * B over 32 of K.
template<bool kSigned>
__device__ __forceinline__ void mmaBytes32Add(int (&d)[4], const std::uint32_t (&a)[4],
                                              std::uint32_t b0, std::uint32_t b1) {
#if defined(GLINT_SMALL_MMA)
    mmaBytes8x8x16<kSigned>(d[0], d[1], a[0], b0);
    mmaBytes8x8x16<kSigned>(d[2], d[3], a[1], b0);
    mmaBytes8x8x16<kSigned>(d[0], d[1], a[2], b1);
    mmaBytes8x8x16<kSigned>(d[2], d[3], a[3], b1);
#else
    if constexpr (kSigned)
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

// d = A * B over 16 of K.
template<bool kSigned>
__device__ __forceinline__ void mmaBytes16(int (&d)[4], std::uint32_t a0, std::uint32_t a1,
                                           std::uint32_t b) {
#if defined(GLINT_SMALL_MMA)
    for (int i = 0; i < 4; ++i) d[i] = 0;
    mmaBytes8x8x16<kSigned>(d[0], d[1], a0, b);
    mmaBytes8x8x16<kSigned>(d[2], d[3], a1, b);
#else
    if constexpr (kSigned)
        asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
            "{%7,%7,%7,%7};"
            : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
            : "r"(a0), "r"(a1), "r"(b), "r"(0));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
            "{%7,%7,%7,%7};"
            : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
            : "r"(a0), "r"(a1), "r"(b), "r"(0));
#endif
}

// d += A * B over 16 of K, halves.
__device__ __forceinline__ void mmaHalves(float (&d)[4], const std::uint32_t (&a)[4],
                                          std::uint32_t b0, std::uint32_t b1) {
#if defined(GLINT_SMALL_MMA)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b0));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[2]), "r"(a[3]), "r"(b1));
#else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

} // namespace cuda

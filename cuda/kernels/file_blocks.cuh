#pragma once
// The blocks of the file as repack.cu reads them: raw weights and scales, before any arithmetic.
// engine/quant says what they mean. Bytes, because blocks have odd sizes.

#include "cuda/unit_layout.h"

#include <cstdint>

namespace cuda {

// FileBlock<T>: kWeights and kBytes of a block; weight(p, k): the bits of weight k, without offset;
// kD, kMin: where the half floats lie.
template<QuantType T> struct FileBlock;

// Byte k of 16 holds weight k in its low and weight k + 16 in its high nibble.
__device__ __forceinline__ unsigned nibbleOf32(const std::uint8_t* p, int k) {
    return p[k % 16] >> (k / 16 * 4) & 15u;
}

template<> struct FileBlock<QuantType::Q4_0> {
    static constexpr int kWeights = 32, kBytes = 18, kD = 0;
    static __device__ unsigned weight(const std::uint8_t* p, int k) { return nibbleOf32(p + 2, k); }
};
template<> struct FileBlock<QuantType::Q4_1> {
    static constexpr int kWeights = 32, kBytes = 20, kD = 0, kMin = 2;
    static __device__ unsigned weight(const std::uint8_t* p, int k) { return nibbleOf32(p + 4, k); }
};
template<> struct FileBlock<QuantType::Q5_0> {
    static constexpr int kWeights = 32, kBytes = 22, kD = 0;
    static __device__ unsigned weight(const std::uint8_t* p, int k) {
        return nibbleOf32(p + 6, k) | (p[2 + k / 8] >> k % 8 & 1u) << 4;
    }
};
template<> struct FileBlock<QuantType::Q5_1> {
    static constexpr int kWeights = 32, kBytes = 24, kD = 0, kMin = 2;
    static __device__ unsigned weight(const std::uint8_t* p, int k) {
        return nibbleOf32(p + 8, k) | (p[4 + k / 8] >> k % 8 & 1u) << 4;
    }
};
template<> struct FileBlock<QuantType::Q8_0> {
    static constexpr int kWeights = 32, kBytes = 34, kD = 0;
    static __device__ unsigned weight(const std::uint8_t* p, int k) { return p[2 + k]; }
};
template<> struct FileBlock<QuantType::IQ4_NL> {
    static constexpr int kWeights = 32, kBytes = 18, kD = 0;
    static __device__ unsigned weight(const std::uint8_t* p, int k) { return nibbleOf32(p + 2, k); }
};

// The six-bit scales and minima of Q4_K and Q5_K: 12 bytes from byte 4 on.
__device__ __forceinline__ unsigned packedScale(const std::uint8_t* p, int j) {
    const std::uint8_t* const c = p + 4;
    return j < 4 ? c[j] & 63u : (c[j + 4] & 15u) | c[j - 4] >> 6 << 4;
}
__device__ __forceinline__ unsigned packedMin(const std::uint8_t* p, int j) {
    const std::uint8_t* const c = p + 4;
    return j < 4 ? c[j + 4] & 63u : static_cast<unsigned>(c[j + 4] >> 4 | c[j] >> 6 << 4);
}

template<> struct FileBlock<QuantType::Q4_K> {
    static constexpr int kWeights = 256, kBytes = 144, kD = 0;
    static __device__ unsigned weight(const std::uint8_t* p, int k) {
        return p[16 + k / 64 * 32 + k % 32] >> (k / 32 % 2 * 4) & 15u;
    }
};
template<> struct FileBlock<QuantType::Q5_K> {
    static constexpr int kWeights = 256, kBytes = 176, kD = 0;
    static __device__ unsigned weight(const std::uint8_t* p, int k) {
        return (p[48 + k / 64 * 32 + k % 32] >> (k / 32 % 2 * 4) & 15u) |
               (p[16 + k % 32] >> k / 32 & 1u) << 4;
    }
};
template<> struct FileBlock<QuantType::Q6_K> {
    static constexpr int kWeights = 256, kBytes = 210, kD = 208;
    static __device__ unsigned weight(const std::uint8_t* p, int k) {
        const int half = k / 128, run = k % 128 / 32, l = k % 32;
        return (p[64 * half + 32 * (run % 2) + l] >> (4 * (run / 2)) & 15u) |
               (p[128 + 32 * half + l] >> (2 * run) & 3u) << 4;
    }
    static __device__ unsigned scale(const std::uint8_t* p, int j) { return p[192 + j]; }
};
template<> struct FileBlock<QuantType::Q2_K> {
    static constexpr int kWeights = 256, kBytes = 84, kD = 80;
    static __device__ unsigned weight(const std::uint8_t* p, int k) {
        return p[16 + k / 128 * 32 + k % 32] >> (k % 128 / 32 * 2) & 3u;
    }
    static __device__ unsigned scale(const std::uint8_t* p, int j) { return p[j]; } // and minimum
};
template<> struct FileBlock<QuantType::Q3_K> {
    static constexpr int kWeights = 256, kBytes = 110, kD = 108;
    static __device__ unsigned weight(const std::uint8_t* p, int k) {
        return (p[32 + k / 128 * 32 + k % 32] >> (k % 128 / 32 * 2) & 3u) |
               (p[k % 32] >> k / 32 & 1u) << 2;
    }
    static __device__ unsigned scale(const std::uint8_t* p, int j) {
        const unsigned low = j < 8 ? p[96 + j] & 15u : p[96 + j - 8] >> 4;
        return ((low | (p[104 + j % 4] >> (j / 4 * 2) & 3u) << 4) - 32u) & 255u;
    }
};
template<> struct FileBlock<QuantType::IQ4_XS> {
    static constexpr int kWeights = 256, kBytes = 136, kD = 0;
    static __device__ unsigned weight(const std::uint8_t* p, int k) {
        return nibbleOf32(p + 8 + k / 32 * 16, k % 32);
    }
    static __device__ unsigned scale(const std::uint8_t* p, int j) { // of blocks of 32
        const unsigned low = p[4 + j / 2] >> (j % 2 * 4) & 15u;
        return ((low | (p[2 + j / 4] >> (j % 4 * 2) & 3u) << 4) - 32u) & 255u;
    }
};

} // namespace cuda

#pragma once
// Single weights out of the blocks of a file, with the operations of the reference decoders
// (engine/quant/simple.cpp, k_quants.cpp, i_quants.cpp, where the layouts are described), so that
// the bits are theirs. For look-ups of a few rows; the products have their own layouts.

#include "engine/quant/quant_types.h"

#include <cstdint>
#include <cuda_fp16.h>

namespace cuda {

__device__ __forceinline__ unsigned u16At(const std::uint8_t* p) {
    return p[0] | unsigned(p[1]) << 8;
}
__device__ __forceinline__ unsigned u32At(const std::uint8_t* p) {
    return u16At(p) | u16At(p + 2) << 16;
}
__device__ __forceinline__ float halfAt(const std::uint8_t* p) {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(u16At(p))));
}

// Nibble i of 32: low nibbles of 16 bytes, then the high ones.
__device__ __forceinline__ unsigned nibbleOf32(const std::uint8_t* qs, int i) {
    return qs[i % 16] >> (4 * (i / 16)) & 15;
}

// Weight i of 256 of Q4_K and Q5_K without its fifth bit: each 32 bytes hold two sub-blocks.
__device__ __forceinline__ unsigned nibbleOfPairs(const std::uint8_t* qs, int i) {
    return qs[32 * (i / 64) + i % 32] >> (4 * (i / 32 % 2)) & 15;
}

// Bits of weight i of 256 in Q2_K and the low ones in Q3_K.
__device__ __forceinline__ unsigned twoBits(const std::uint8_t* qs, int i) {
    return qs[32 * (i / 128) + i % 32] >> (2 * (i % 128 / 32)) & 3;
}

// scale * q - min of Q4_K and Q5_K; c: the 12 bytes of six-bit scales and minima, j: sub-block.
__device__ __forceinline__ float scaledMinus(const std::uint8_t* block, int j, unsigned q) {
    const std::uint8_t* c = block + 4;
    const unsigned scale = j < 4 ? c[j] & 63u : (c[j + 4] & 15u) | unsigned(c[j - 4] >> 6) << 4;
    const unsigned min =
        j < 4 ? c[j + 4] & 63u : unsigned(c[j + 4] >> 4) | unsigned(c[j] >> 6) << 4;
    const float d = __fmul_rn(halfAt(block), static_cast<float>(scale));
    const float m = __fmul_rn(halfAt(block + 2), static_cast<float>(min));
    return __fsub_rn(__fmul_rn(d, static_cast<float>(q)), m);
}

// Of IQ4_NL and IQ4_XS.
__constant__ const float kUnevenLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                              1,    13,   25,  38,  53,  69,  89,  113};

// Weight i, 0..255, of a unit of 256 weights: one super-block, eight blocks of 32, or plain
// numbers.
__device__ __forceinline__ float decodeWeight(engine::QuantType type, const std::uint8_t* unit,
                                              int i) {
    using engine::QuantType;
    const int b = i / 32, k = i % 32; // block and weight in it, of the types with blocks of 32
    switch (type) {
    case QuantType::F32: return __uint_as_float(u32At(unit + 4 * i));
    case QuantType::F16: return halfAt(unit + 2 * i);
    case QuantType::BF16: return __uint_as_float(u16At(unit + 2 * i) << 16);
    case QuantType::Q4_0: {
        const std::uint8_t* p = unit + 18 * b;
        return __fmul_rn(halfAt(p), static_cast<float>(static_cast<int>(nibbleOf32(p + 2, k)) - 8));
    }
    case QuantType::Q4_1: {
        const std::uint8_t* p = unit + 20 * b;
        const float q = static_cast<float>(nibbleOf32(p + 4, k));
        return __fadd_rn(__fmul_rn(halfAt(p), q), halfAt(p + 2));
    }
    case QuantType::Q5_0: {
        const std::uint8_t* p = unit + 22 * b;
        const unsigned q = nibbleOf32(p + 6, k) | (u32At(p + 2) >> k & 1) << 4;
        return __fmul_rn(halfAt(p), static_cast<float>(static_cast<int>(q) - 16));
    }
    case QuantType::Q5_1: {
        const std::uint8_t* p = unit + 24 * b;
        const unsigned q = nibbleOf32(p + 8, k) | (u32At(p + 4) >> k & 1) << 4;
        return __fadd_rn(__fmul_rn(halfAt(p), static_cast<float>(q)), halfAt(p + 2));
    }
    case QuantType::Q8_0: {
        const std::uint8_t* p = unit + 34 * b;
        return __fmul_rn(halfAt(p), static_cast<float>(static_cast<std::int8_t>(p[2 + k])));
    }
    case QuantType::Q2_K: {
        const unsigned s = unit[i / 16];
        const float q = static_cast<float>(twoBits(unit + 16, i));
        const float scaled = __fmul_rn(halfAt(unit + 80), static_cast<float>(s & 15));
        const float min = __fmul_rn(halfAt(unit + 82), static_cast<float>(s >> 4));
        return __fsub_rn(__fmul_rn(scaled, q), min);
    }
    case QuantType::Q3_K: {
        const int j = i / 16;
        const std::uint8_t* packed = unit + 96;
        const unsigned low4 = j < 8 ? packed[j] & 15u : packed[j - 8] >> 4;
        const unsigned high2 = packed[8 + j % 4] >> (2 * (j / 4)) & 3;
        const int scale = static_cast<int>(low4 | high2 << 4) - 32;
        const unsigned third = unit[k] >> b & 1;
        const int q = static_cast<int>(twoBits(unit + 32, i) | third << 2) - 4;
        return __fmul_rn(__fmul_rn(halfAt(unit + 108), static_cast<float>(scale)),
                         static_cast<float>(q));
    }
    case QuantType::Q4_K: return scaledMinus(unit, b, nibbleOfPairs(unit + 16, i));
    case QuantType::Q5_K:
        return scaledMinus(unit, b, nibbleOfPairs(unit + 48, i) | (unit[16 + k] >> b & 1u) << 4);
    case QuantType::Q6_K: {
        const int half = i / 128, run = i % 128 / 32;
        const unsigned low = unit[64 * half + 32 * (run % 2) + k] >> (4 * (run / 2)) & 15;
        const unsigned high = unit[128 + 32 * half + k] >> (2 * run) & 3;
        const float scale = static_cast<float>(static_cast<std::int8_t>(unit[192 + i / 16]));
        return __fmul_rn(__fmul_rn(halfAt(unit + 208), scale),
                         static_cast<float>(static_cast<int>(low | high << 4) - 32));
    }
    case QuantType::IQ4_NL: {
        const std::uint8_t* p = unit + 18 * b;
        return __fmul_rn(halfAt(p), kUnevenLevels[nibbleOf32(p + 2, k)]);
    }
    case QuantType::IQ4_XS: {
        const unsigned low = unit[4 + b / 2] >> (4 * (b % 2)) & 15;
        const unsigned high = u16At(unit + 2) >> (2 * b) & 3;
        const float scale =
            __fmul_rn(halfAt(unit), static_cast<float>(static_cast<int>(low | high << 4) - 32));
        return __fmul_rn(scale, kUnevenLevels[nibbleOf32(unit + 8 + 16 * b, k)]);
    }
    }
    return __uint_as_float(0x7fc00000u); // no type: not a number
}

} // namespace cuda

#pragma once
// The integer arithmetic that every backend shares, bit for bit. Written for y[c][r] = sum over k
// of weight[r][k] * x[c][k] with quantised weights; F32, F16 and BF16 weights use float sums
// instead (see the end). All floats are IEEE singles, every step rounds to nearest even, fma rounds
// once.
//
// K is cut into units of 256. A K that is no multiple of 256 is continued with zeros, on both
// sides.
//
// Activations, per row and unit:
//   groups g = 0..3 of 64:  dx[g] = max |x| / 127;  q = rint(x / dx[g]) within [-127, 127], 0 if dx
//   is 0 sums of q per 16 and per 32, exact integers block sums for weights with minima, on one
//   scale per unit, blocks of 32 (Q4_K, Q5_K) or 16 (Q2_K):
//     X[j] = dx of the block's group * float(sum of q in the block);  ds = max |X| / 16256
//     S[j] = rint(X[j] / ds) within [-16256, 16256], 0 if ds is 0
//   (NaN counts as nothing in the maxima, and a quotient that is NaN becomes -127 or -16256.)
//
// Unit values v; w, sc, m, d, dmin are the block's fields, integer sums are exact in 32 bits:
//   super-blocks of 256 (Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_XS): w and sc with their offsets taken
//   off
//     isum[g] = sum over sub-blocks j of group g of sc[j] * (sum of w * q)
//     t = dx[0] * float(isum[0]);  t = fma(dx[g], float(isum[g]), t) for g = 1, 2, 3;   v = d * t
//     with minima:  v = fma(-dmin, ds * float(sum over j of m[j] * S[j]), v)
//   blocks of 32 (Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL): a unit is eight of them, t starts at 0
//     t = fma(d[b] * dx[b / 2], float(sum of w * q), t) for b = 0..7, and with minima after each
//     t = fma(m[b] * dx[b / 2], float(sum of q), t);   v = t
//
// Order: unit values are added in ascending order inside a segment of segmentUnits(units) units,
// and the segments in ascending order. It depends on the matrix alone.
//
// Float sums (weights F32, F16, BF16, norms, attention scores): 32 lanes, lane l adds the products
// of k = l, l + 32, ... by fma onto 0; then lanes l and l + 16 are added, then + 8, + 4, + 2, + 1.

#include <cstdint>

namespace engine {

inline constexpr int kUnitWeights = 256;
inline constexpr int kGroupWeights = 64;

// Static, so that files compiled for newer processors share no code with others (kernel_table.h).
static constexpr std::int64_t unitCount(std::int64_t columns) {
    return (columns + kUnitWeights - 1) / kUnitWeights;
}

static constexpr int segmentUnits(std::int64_t units) {
    return units % 13 == 0 ? 13 : 8;
}

// One unit of one row of activations, as the CPU holds it. Products with constant offsets of the
// weights are kept instead of the plain sums: they start the integer dot products.
struct alignas(64) ActivationUnit {
    std::int8_t q[256];
    float dx[4];
    float ds32, ds16;
    std::int16_t s32[8]; // each four in the order 0, 2, 1, 3: see dotPairs' use in int8_kernels.inl
    std::int16_t s16[16]; // likewise
    std::int32_t minus32Sum16[16];
    std::int32_t minus128Sum32[8];
    float sum32[8];
};
static_assert(sizeof(ActivationUnit) == 512);

} // namespace engine

#pragma once
// UnitLayout: how a quantised matrix lies in device memory for the integer GEMMs. The same bits as
// in the file, put in the order in which the tensor cores take them.
//
// Unit = 16 rows x 256 of K. Item = the units of one row tile (16 rows) and one K segment
// (int8_format.h: 13 or 8 units, the last segment may be shorter), one after the other, padded to
// 128 bytes so that one aligned bulk copy fetches it. The items of a row tile ascend in K; the row
// tiles follow each other. Missing rows of the last tile and a missing end of the last unit are
// weights with scale 0.
//
// Fragment coordinates of the int8 MMAs: lane = 4 g + t (g = 0..7, t = 0..3). In the group s = 0..3
// of 64 of K, the lane's word (r, j) is the four weights of row g + 8 r, K = 64 s + 16 j + 4 t + b,
// b = 0..3 being the byte of the word; r = 0..1, j = 0..3. `x`: 32-bit little-endian words.
//
// Planes, lane-ordered, every access 16 bytes of consecutive lanes:
//   nibbles    2048 B: 512 s + 16 lane, word i = 0..3: byte b holds (r = i & 1, j = i / 2) in its
//              low and (r, j + 2) in its high nibble. So low nibbles are block 2 s of 32, high ones
//              block 2 s + 1.
//   sequence   2048 B: as nibbles, but the nibble at bits 4 b of word i is byte b of (r, i / 2), at
//              bits 16 + 4 b byte b of (r, i / 2 + 2): the order that a byte permute selects by.
//   fifth      512 B: 16 lane, word s: in byte b, word (r, j < 2) has bit 4 + 2 j + r and word
//              (r, j >= 2) has bit 3 - (2 (j - 2) + r).
//   pairs(p)   1024 B: 512 (s / 2) + 16 lane, word 2 (s & 1) + r: in byte b, (r, j) has the two
//   bits
//              at p(j).
//   halves     256 B: 128 (B / 4) + 16 g + 4 (B & 3) + 2 r: a half float of row g + 8 r for block
//              B = 0..7 of 32.
//   scales16   256 B: 128 r + 16 g + j: a byte of row g + 8 r for sub-block j = 0..15 of 16.
//   row halves 32 B: 4 g + 2 r; row pairs 64 B: 8 g + 4 r: the half d, or d and dmin, of row g + 8
//   r. packed     256 B, the six-bit scales and minima of Q4_K and Q5_K, blocks of 32:
//              16 g:       byte 4 r + s: sc[2 s] & 15 in the high, sc[2 s + 1] & 15 in the low
//              nibble
//                          byte 8 + 4 r + i, i = 0..3: m[i] & 15 in the low, m[i + 4] & 15 in the
//                          high
//              128 + 16 g: byte s: bits 2 r of sc[2 s] >> 4, bits 4 + 2 r of sc[2 s + 1] >> 4
//                          byte 4 + i: bits 2 r of m[i] >> 4, bits 4 + 2 r of m[i + 4] >> 4
//                          bytes 8 + 4 r: d and dmin of row g + 8 r
//
//   type    bytes  parts, at byte offset
//   Q4_K    2304   0 nibbles | 2048 packed
//   Q5_K    2816   0 nibbles: j < 2 the low four bits, j >= 2 the upper four | 2048 fifth: the bit
//                  that is left | 2560 packed
//   Q6_K    3360   0 nibbles': the upper four bits, top bit flipped; (r, 2 jj) in the high and
//                  (r, 2 jj + 1) in the low nibble of word i = 2 jj + r | 2048 pairs(2, 4, 6, 0):
//                  the low two bits | 3072 scales16 | 3328 row halves
//   Q2_K    1344   0 pairs(2 j) | 1024 scales16: scale in the low, minimum in the high nibble
//                  | 1280 row pairs
//   Q3_K    1824   0 pairs(6 - 2 j): the upper two bits, top bit flipped | 1024 low bits, 512 B:
//                  16 lane, word s: in byte b, (r, j) has bit 4 r + j | 1536 scales16, signed
//                  | 1792 row halves
//   IQ4_XS  2208   0 sequence | 2048 signed scales: 16 g + 8 r + block | 2176 row halves
//   Q4_0    2304   0 nibbles, top bit flipped | 2048 halves d
//   Q4_1    2560   0 nibbles | 2048 halves d | 2304 halves m
//   Q5_0    2816   0 nibbles: the upper four bits, top bit flipped | 2048 fifth: the low bit
//                  | 2560 halves d
//   Q5_1    3072   0 nibbles: the low four bits | 2048 fifth: the top bit | 2560 halves d
//                  | 2816 halves m
//   Q8_0    4352   0 bytes: 1024 s + 512 h + 16 lane, word i is (r = i & 1, j = 2 h + i / 2)
//                  | 4096 halves d
//   IQ4_NL  2304   0 sequence | 2048 halves d
// Only Q3_K (+3.6 %) and IQ4_XS (+1.5 %) take more than the file's bytes: their scales become
// bytes.

#include "engine/backend/int8_format.h"
#include "engine/quant/quant_types.h"

#include <cstdint>

namespace cuda {

using engine::QuantType;

inline constexpr int kUnitRows = 16;   // weight rows of a unit
inline constexpr int kItemAlign = 128; // bytes

// Bytes of a unit; 0 for types that have no integer arithmetic.
constexpr int unitBytes(QuantType type) {
    switch (type) {
    case QuantType::Q4_K: return 2304;
    case QuantType::Q5_K: return 2816;
    case QuantType::Q6_K: return 3360;
    case QuantType::Q2_K: return 1344;
    case QuantType::Q3_K: return 1824;
    case QuantType::IQ4_XS: return 2208;
    case QuantType::Q4_0: return 2304;
    case QuantType::Q4_1: return 2560;
    case QuantType::Q5_0: return 2816;
    case QuantType::Q5_1: return 3072;
    case QuantType::Q8_0: return 4352;
    case QuantType::IQ4_NL: return 2304;
    default: return 0;
    }
}

template<QuantType T> inline constexpr int kUnitBytes = unitBytes(T);

// What a type takes besides the bytes q and dx of the activations (ActivationTile).
enum class BlockSums {
    None,
    Scaled32, // high32, low32, ds32
    Scaled16, // high16, low16, ds16
    Plain32,  // sum32
};

constexpr BlockSums blockSums(QuantType type) {
    switch (type) {
    case QuantType::Q4_K:
    case QuantType::Q5_K: return BlockSums::Scaled32;
    case QuantType::Q2_K: return BlockSums::Scaled16;
    case QuantType::Q4_1:
    case QuantType::Q5_1: return BlockSums::Plain32;
    default: return BlockSums::None;
    }
}
template<QuantType T> inline constexpr BlockSums kBlockSums = blockSums(T);

struct UnitLayout {
    QuantType type = QuantType::Q4_K;
    std::int64_t rows = 0;    // of the matrix
    std::int64_t columns = 0; // K
    int rowTiles = 0;         // ceil(rows / 16)
    int units = 0;            // ceil(columns / 256)
    int segmentUnits = 0;     // units of every segment but the last: at most `units`
    int segments = 0;
    int lastSegmentUnits = 0;
    int unitBytes = 0;
    int itemBytes = 0;     // a multiple of 128
    int lastItemBytes = 0; // of the last segment, a multiple of 128
    std::int64_t rowTileBytes = 0;

    std::int64_t bytes() const { return rowTiles * rowTileBytes; }
    // Where the item of a row tile and segment begins.
    std::int64_t itemOffset(int rowTile, int segment) const {
        return rowTile * rowTileBytes + std::int64_t(segment) * itemBytes;
    }
};

// For types with unitBytes > 0; rows and columns positive, columns whole blocks of the type.
UnitLayout unitLayout(QuantType type, std::int64_t rows, std::int64_t columns);

} // namespace cuda

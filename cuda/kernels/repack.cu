// Rows of the file become units: the layout of cuda/unit_layout.h, written word by word.
//
// Math. None: every bit of a unit is found where it lies in the file. Rows and blocks that the
//   matrix does not have are zeros, so their scales are 0.
// Shapes. Whole row tiles of 16 rows (the last of the matrix may have fewer), any types that
//   unitBytes() knows. Padding between items is not written.
// Traffic. Reads the file's bytes once (from L2, byte by byte), writes as many.
// Launch. One block of 256 threads per unit; a thread makes one 32-bit word after another.
// Needs. sm_75.
// Measured. H200: the whole trio is loaded in 1.9 s from the page cache.

#include "cuda/kernels/common.cuh"
#include "cuda/kernels/file_blocks.cuh"
#include "cuda/kernels/gemm_rows_args.h"

namespace cuda {
namespace {

// The 16 rows x 256 of K in the file that become one unit.
template<QuantType T> struct FileUnit {
    using Block = FileBlock<T>;
    const std::uint8_t* rows; // first row, first block of the unit
    std::int64_t rowBytes;
    int rowCount;   // rows that exist
    int blockCount; // blocks of the unit that exist in a row

    // Block `index` of the unit in a row; null: there is none.
    __device__ __forceinline__ const std::uint8_t* block(int row, int index) const {
        if (row >= rowCount || index >= blockCount) return nullptr;
        return rows + row * rowBytes + index * Block::kBytes;
    }
    __device__ __forceinline__ unsigned weight(int row, int k) const {
        const std::uint8_t* const p = block(row, k / Block::kWeights);
        return p ? Block::weight(p, k % Block::kWeights) : 0u;
    }
    // A byte of the block's fields, such as a half float.
    __device__ __forceinline__ unsigned byteAt(int row, int index, int offset) const {
        const std::uint8_t* const p = block(row, index);
        return p ? p[offset] : 0u;
    }
};

// ---- planes, by 32-bit word of the plane. Names as in unit_layout.h.

// weight(row, k, j) of word (r, j) and its byte b, shifted to where the plane has it, are or-ed.
__device__ __forceinline__ int kOf(int s, int j, int lane, int b) {
    return 64 * s + 16 * j + 4 * (lane & 3) + b;
}

// low(v) and high(v): what the nibbles for j < 2 and for j >= 2 hold of a weight's bits v.
template<class Unit, class Low, class High>
__device__ __forceinline__ std::uint32_t nibblesWord(const Unit& unit, int w, Low low, High high) {
    const int s = w / 128, lane = w % 128 / 4, row = (lane >> 2) + 8 * (w & 1), j = w % 4 / 2;
    std::uint32_t out = 0;
    for (int b = 0; b < 4; ++b)
        out |= (low(unit.weight(row, kOf(s, j, lane, b))) |
                high(unit.weight(row, kOf(s, j + 2, lane, b))) << 4)
               << (8 * b);
    return out;
}

template<class Unit>
__device__ __forceinline__ std::uint32_t sequenceWord(const Unit& unit, int w) {
    const int s = w / 128, lane = w % 128 / 4, row = (lane >> 2) + 8 * (w & 1), j = w % 4 / 2;
    std::uint32_t out = 0;
    for (int b = 0; b < 4; ++b)
        out |= unit.weight(row, kOf(s, j, lane, b)) << (4 * b) |
               unit.weight(row, kOf(s, j + 2, lane, b)) << (16 + 4 * b);
    return out;
}

// bit(v, j): the extra bit of a weight in word (r, j).
template<class Unit, class Bit>
__device__ __forceinline__ std::uint32_t fifthWord(const Unit& unit, int w, Bit bit) {
    const int lane = w / 4, s = w % 4;
    std::uint32_t out = 0;
    for (int b = 0; b < 4; ++b)
        for (int j = 0; j < 4; ++j)
            for (int r = 0; r < 2; ++r) {
                const int at = j < 2 ? 4 + 2 * j + r : 3 - (2 * (j - 2) + r);
                const unsigned v = unit.weight((lane >> 2) + 8 * r, kOf(s, j, lane, b));
                out |= bit(v, j) << (8 * b + at);
            }
    return out;
}

// pair(v): the two bits of a weight; at(j): where word (r, j) has them.
template<class Unit, class Pair, class At>
__device__ __forceinline__ std::uint32_t pairsWord(const Unit& unit, int w, Pair pair, At at) {
    const int lane = w % 128 / 4, s = w / 128 * 2 + w % 4 / 2, row = (lane >> 2) + 8 * (w & 1);
    std::uint32_t out = 0;
    for (int b = 0; b < 4; ++b)
        for (int j = 0; j < 4; ++j)
            out |= pair(unit.weight(row, kOf(s, j, lane, b))) << (8 * b + at(j));
    return out;
}

// byteOf(o) for the four bytes of word w.
template<class ByteOf> __device__ __forceinline__ std::uint32_t wordOfBytes(int w, ByteOf byteOf) {
    std::uint32_t out = 0;
    for (int b = 0; b < 4; ++b) out |= byteOf(4 * w + b) << (8 * b);
    return out;
}

// field: offset of the half float in a block.
template<class Unit>
__device__ __forceinline__ std::uint32_t halvesWord(const Unit& unit, int w, int field) {
    return wordOfBytes(w, [&](int o) {
        const int block = o / 128 * 4 + o % 16 / 4, row = o % 128 / 16 + 8 * (o % 4 / 2);
        return unit.byteAt(row, block, field + o % 2);
    });
}

template<class Unit>
__device__ __forceinline__ std::uint32_t scales16Word(const Unit& unit, int w) {
    return wordOfBytes(w, [&](int o) {
        const std::uint8_t* const p = unit.block(o % 128 / 16 + 8 * (o / 128), 0);
        return p ? Unit::Block::scale(p, o % 16) : 0u;
    });
}

template<class Unit>
__device__ __forceinline__ std::uint32_t rowHalvesWord(const Unit& unit, int w) {
    return wordOfBytes(
        w, [&](int o) { return unit.byteAt(o / 4 + 8 * (o % 4 / 2), 0, Unit::Block::kD + o % 2); });
}

template<class Unit> __device__ __forceinline__ std::uint32_t packedWord(const Unit& unit, int w) {
    const auto scale = [&](int row, int j) {
        const std::uint8_t* const p = unit.block(row, 0);
        return p ? packedScale(p, j) : 0u;
    };
    const auto minimum = [&](int row, int j) {
        const std::uint8_t* const p = unit.block(row, 0);
        return p ? packedMin(p, j) : 0u;
    };
    return wordOfBytes(w, [&](int o) -> unsigned {
        const int g = o % 128 / 16, n = o % 16 % 4, part = o % 16 / 4;
        if (o < 128) {
            const int row = g + 8 * (part % 2);
            if (part < 2) return (scale(row, 2 * n) & 15u) << 4 | (scale(row, 2 * n + 1) & 15u);
            return (minimum(row, n) & 15u) | (minimum(row, n + 4) & 15u) << 4;
        }
        if (part >= 2) return unit.byteAt(g + 8 * (part - 2), 0, n); // d and dmin
        unsigned top = 0;
        for (int r = 0; r < 2; ++r)
            top |= part == 0 ? scale(g + 8 * r, 2 * n) >> 4 << (2 * r) |
                                   scale(g + 8 * r, 2 * n + 1) >> 4 << (4 + 2 * r)
                             : minimum(g + 8 * r, n) >> 4 << (2 * r) |
                                   minimum(g + 8 * r, n + 4) >> 4 << (4 + 2 * r);
        return top;
    });
}

// ---- units

// Word w of the unit.
template<QuantType T>
__device__ __forceinline__ std::uint32_t unitWord(const FileUnit<T>& unit, int w) {
    const auto all = [](unsigned v) { return v; };
    const auto low4 = [](unsigned v) { return v & 15u; };
    const auto high4 = [](unsigned v) { return v >> 1; };
    if constexpr (T == QuantType::Q4_K) {
        return w < 512 ? nibblesWord(unit, w, all, all) : packedWord(unit, w - 512);
    } else if constexpr (T == QuantType::Q5_K) {
        if (w < 512) return nibblesWord(unit, w, low4, high4);
        if (w >= 640) return packedWord(unit, w - 640);
        return fifthWord(unit, w - 512, [](unsigned v, int j) { return j < 2 ? v >> 4 : v & 1u; });
    } else if constexpr (T == QuantType::Q6_K) {
        if (w < 512) { // nibbles': (r, 2 jj) above (r, 2 jj + 1)
            const int s = w / 128, lane = w % 128 / 4, row = (lane >> 2) + 8 * (w & 1);
            const int j = w % 4 / 2 * 2;
            std::uint32_t out = 0;
            for (int b = 0; b < 4; ++b) {
                const unsigned even = unit.weight(row, kOf(s, j, lane, b)),
                               odd = unit.weight(row, kOf(s, j + 1, lane, b));
                out |= ((even >> 2 ^ 8u) << 4 | (odd >> 2 ^ 8u)) << (8 * b);
            }
            return out;
        }
        if (w < 768)
            return pairsWord(
                unit, w - 512, [](unsigned v) { return v & 3u; },
                [](int j) { return j < 3 ? 2 + 2 * j : 0; });
        return w < 832 ? scales16Word(unit, w - 768) : rowHalvesWord(unit, w - 832);
    } else if constexpr (T == QuantType::Q2_K) {
        if (w < 256) return pairsWord(unit, w, all, [](int j) { return 2 * j; });
        if (w < 320) return scales16Word(unit, w - 256);
        return wordOfBytes(w - 320, [&](int o) { // row pairs
            return unit.byteAt(o / 8 + 8 * (o % 8 / 4), 0, FileUnit<T>::Block::kD + o % 4);
        });
    } else if constexpr (T == QuantType::Q3_K) {
        if (w < 256)
            return pairsWord(
                unit, w, [](unsigned v) { return (v ^ 4u) >> 1; }, [](int j) { return 6 - 2 * j; });
        if (w < 384) {
            const int lane = (w - 256) / 4, s = w % 4;
            std::uint32_t out = 0;
            for (int b = 0; b < 4; ++b)
                for (int r = 0; r < 2; ++r)
                    for (int j = 0; j < 4; ++j)
                        out |= (unit.weight((lane >> 2) + 8 * r, kOf(s, j, lane, b)) & 1u)
                               << (8 * b + 4 * r + j);
            return out;
        }
        return w < 448 ? scales16Word(unit, w - 384) : rowHalvesWord(unit, w - 448);
    } else if constexpr (T == QuantType::IQ4_XS) {
        if (w < 512) return sequenceWord(unit, w);
        if (w >= 544) return rowHalvesWord(unit, w - 544);
        return wordOfBytes(w - 512, [&](int o) {
            const std::uint8_t* const p = unit.block(o / 16 + 8 * (o % 16 / 8), 0);
            return p ? FileUnit<T>::Block::scale(p, o % 8) : 0u;
        });
    } else if constexpr (T == QuantType::Q4_0) {
        const auto flipped = [](unsigned v) { return v ^ 8u; };
        return w < 512 ? nibblesWord(unit, w, flipped, flipped) : halvesWord(unit, w - 512, 0);
    } else if constexpr (T == QuantType::Q4_1) {
        if (w < 512) return nibblesWord(unit, w, all, all);
        return w < 576 ? halvesWord(unit, w - 512, 0)
                       : halvesWord(unit, w - 576, FileUnit<T>::Block::kMin);
    } else if constexpr (T == QuantType::Q5_0) {
        const auto flipped = [](unsigned v) { return (v ^ 16u) >> 1; };
        if (w < 512) return nibblesWord(unit, w, flipped, flipped);
        if (w >= 640) return halvesWord(unit, w - 640, 0);
        return fifthWord(unit, w - 512, [](unsigned v, int) { return v & 1u; });
    } else if constexpr (T == QuantType::Q5_1) {
        if (w < 512) return nibblesWord(unit, w, low4, low4);
        if (w < 640) return fifthWord(unit, w - 512, [](unsigned v, int) { return v >> 4; });
        return w < 704 ? halvesWord(unit, w - 640, 0)
                       : halvesWord(unit, w - 704, FileUnit<T>::Block::kMin);
    } else if constexpr (T == QuantType::Q8_0) {
        if (w >= 1024) return halvesWord(unit, w - 1024, 0);
        const int s = w / 256, lane = w % 128 / 4, row = (lane >> 2) + 8 * (w & 1);
        const int j = w % 256 / 128 * 2 + w % 4 / 2;
        std::uint32_t out = 0;
        for (int b = 0; b < 4; ++b) out |= unit.weight(row, kOf(s, j, lane, b)) << (8 * b);
        return out;
    } else {
        static_assert(T == QuantType::IQ4_NL);
        return w < 512 ? sequenceWord(unit, w) : halvesWord(unit, w - 512, 0);
    }
}

template<QuantType T> __device__ __forceinline__ void repack(const RepackArgs& args) {
    using Block = FileBlock<T>;
    constexpr int kUnitBlocks = 256 / Block::kWeights;
    const int u = blockIdx.x % args.rowUnits, tile = blockIdx.x / args.rowUnits;
    FileUnit<T> unit;
    unit.rows = args.rows + std::int64_t(tile) * kUnitRows * args.rowBytes +
                std::int64_t(u) * kUnitBlocks * Block::kBytes;
    unit.rowBytes = args.rowBytes;
    unit.rowCount = min(kUnitRows, args.rowCount - tile * kUnitRows);
    unit.blockCount = min(kUnitBlocks, args.rowBlocks - u * kUnitBlocks);
    auto* const out = reinterpret_cast<std::uint32_t*>(
        args.units + std::int64_t(args.firstTile + tile) * args.rowTileBytes +
        std::int64_t(u / args.segmentUnits) * args.itemBytes +
        u % args.segmentUnits * kUnitBytes<T>);
    waitForPrevious();
    for (int w = threadIdx.x; w < kUnitBytes<T> / 4; w += blockDim.x) out[w] = unitWord(unit, w);
}

} // namespace

#define GLINT_REPACK(name, T)                                                                      \
    extern "C" __global__ void __launch_bounds__(256)                                              \
        repack_##name(const __grid_constant__ RepackArgs args) {                                   \
        repack<QuantType::T>(args);                                                                \
    }

GLINT_REPACK(q4_0, Q4_0)
GLINT_REPACK(q4_1, Q4_1)
GLINT_REPACK(q5_0, Q5_0)
GLINT_REPACK(q5_1, Q5_1)
GLINT_REPACK(q8_0, Q8_0)
GLINT_REPACK(q2_k, Q2_K)
GLINT_REPACK(q3_k, Q3_K)
GLINT_REPACK(q4_k, Q4_K)
GLINT_REPACK(q5_k, Q5_K)
GLINT_REPACK(q6_k, Q6_K)
GLINT_REPACK(iq4_nl, IQ4_NL)
GLINT_REPACK(iq4_xs, IQ4_XS)

} // namespace cuda

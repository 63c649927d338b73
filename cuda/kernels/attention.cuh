#pragma once
// The arithmetic of attention over the cache, shared by all paths so that a position's row has the
// same bits in decoding, verifying, drafting and reading a prompt.
//
// Keys come in tiles of 64 by absolute position, tiles in splits of 4. For one query (one head at
// one position) a tile gives a state of its own, computed from nothing before it:
//   q~ = half(q * log2(e) / sqrt(head size)), the product in single precision; keys and values as
//        halves, Q8_0 as half(d * q)
//   s  = sum of q~ k, matrix instructions of 16 columns in ascending order, single precision;
//        minus infinity where the key is not seen
//   m  = max s;   p = 2^(s - (m + 6)), so that o cannot leave the range of halves, as long as m is
//        less than 2^14 (what is more, m + 6 rounds off);
//   l  = sum of p: lane t of four adds its columns 8 j + 2 t and 8 j + 2 t + 1 to one another and
//        then over j ascending, then the lanes t, t ^ 1, t ^ 2
//   o  = half(sum of half(p) v), matrix instructions of 16 keys in ascending order, single
//        precision. The halves cost less than what the 8-bit form of the result does, and are half
//        the bytes where states pass through memory
// States are merged into a running one (m = -inf, l = 0, o = 0 at first):
//   m' = max(m, m of the later),  keep = 2^(m - m'),  take = 2^(m of the later - m'),
//   l' = fma(l of the later, take, l keep),  o' = fma(o of the later, take, o keep)
// the tiles of a split in ascending order, whose o then becomes 4 half(o / 4), and the splits in
// ascending order into the result o / l.
// A tile or split in which a row sees nothing leaves every bit as it is, but for the sign of a
// zero, so it may be left out. A row of a matrix instruction does not depend on the other rows.
// Values must be finite, seen or not. 2^x is ex2.approx.ftz: 2 ulp, exact at 0, and 0 at minus
// infinity.
//
// Fragments: lane = 4 g + t holds rows g and g + 8 of a query tile, columns 2 t and 2 t + 1 of 8.

#include "cuda/kernels/attention_args.h"
#include "cuda/kernels/common.cuh"
#include "cuda/kernels/mma.cuh"

namespace cuda {

inline constexpr unsigned kWholeWarp = 0xffffffffu;

__device__ __forceinline__ float minusInfinity() {
    return __int_as_float(0xff800000);
}

__device__ __forceinline__ float powerOfTwo(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ std::uint32_t halves(float low, float high) {
    const __half2 h = __floats2half2_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&h);
}
__device__ __forceinline__ float2 ofHalves(std::uint32_t pair) {
    return __half22float2(*reinterpret_cast<const __half2*>(&pair));
}

// ---- copies into shared memory

// 16 bytes, both sides aligned; zeros where `valid` is not set. Nothing is read then.
__device__ __forceinline__ void copy16(std::uint8_t* to, const std::uint8_t* from, bool valid) {
#if defined(GLINT_SMALL_MMA)
    *reinterpret_cast<uint4*>(to) =
        valid ? *reinterpret_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
#else
    const int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
#endif
}

// What was copied since the last call is one group.
__device__ __forceinline__ void endCopyGroup() {
#if !defined(GLINT_SMALL_MMA)
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for this thread's copies but for the latest kLeft groups.
template<int kLeft> __device__ __forceinline__ void waitForCopies() {
#if !defined(GLINT_SMALL_MMA)
    asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#endif
}

// Rows from .. to - 1 of a tile of halves; the others become zeros, which a masked key must be: its
// weight is zero, and zero times what lies in unused memory might be no number. rowAt(j): address
// of row j in memory.
template<int D, int kThreads, class RowAt>
__device__ __forceinline__ void fetchHalfTile(std::uint8_t* tile, int from, int to, RowAt rowAt) {
    constexpr int kChunks = D / 8;
    static_assert(kKeyTile * kChunks % kThreads == 0);
#pragma unroll
    for (int step = 0; step < kKeyTile * kChunks / kThreads; ++step) {
        const int i = step * kThreads + static_cast<int>(threadIdx.x);
        const int j = i / kChunks, chunk = i % kChunks;
        const bool valid = j >= from && j < to;
        copy16(tile + j * tileStride(D) + 16 * chunk, rowAt(valid ? j : from) + 16 * chunk, valid);
    }
}

// The same of Q8_0 rows, 34 bytes for 32 values, aligned to 2 bytes.
template<int D, int kThreads, class RowAt>
__device__ __forceinline__ void fetchEightTile(std::uint8_t* tile, int from, int to, RowAt rowAt) {
    constexpr int kParts = D / 16; // a thread decodes half a block at a time
    constexpr int kCount = kKeyTile * kParts;
#pragma unroll
    for (int step = 0; step < (kCount + kThreads - 1) / kThreads; ++step) {
        const int i = step * kThreads + static_cast<int>(threadIdx.x);
        if (kCount % kThreads != 0 && i >= kCount) break;
        const int j = i / kParts, part = i % kParts;
        std::uint32_t out[8] = {};
        if (j >= from && j < to) {
            const std::uint8_t* block = rowAt(j) + part / 2 * 34;
            const auto* q = reinterpret_cast<const std::uint16_t*>(block + 2 + part % 2 * 16);
            const float d =
                __half2float(__ushort_as_half(*reinterpret_cast<const std::uint16_t*>(block)));
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int pair = q[k];
                // Exact in single precision, then rounded once.
                out[k] =
                    halves(__fmul_rn(d, static_cast<float>(static_cast<std::int8_t>(pair))),
                           __fmul_rn(d, static_cast<float>(static_cast<std::int8_t>(pair >> 8))));
            }
        }
        auto* to16 = reinterpret_cast<uint4*>(tile + j * tileStride(D) + 32 * part);
        to16[0] = make_uint4(out[0], out[1], out[2], out[3]);
        to16[1] = make_uint4(out[4], out[5], out[6], out[7]);
    }
}

// Bytes of one head's part of a cache row.
template<int D, bool kEight> __host__ __device__ constexpr int headBytes() {
    return kEight ? D / 32 * 34 : 2 * D;
}

// The cached rows of positions 64 tile + from .. 64 tile + to - 1, one head of keys or values.
template<int D, bool kEight, int kThreads>
__device__ __forceinline__ void fetchCacheTile(std::uint8_t* shared, const std::uint8_t* head,
                                               std::int64_t strideBytes, int capacity, int tile,
                                               int from, int to) {
    // No more rows than the ring has: it is passed once at most.
    const int first = (tile * kKeyTile + from) % capacity;
    const auto rowAt = [&](int j) {
        const int row = first + j - from;
        return head + (row < capacity ? row : row - capacity) * strideBytes;
    };
    if constexpr (kEight)
        fetchEightTile<D, kThreads>(shared, from, to, rowAt);
    else
        fetchHalfTile<D, kThreads>(shared, from, to, rowAt);
}

// Tiles of keys and values on their way through shared memory, keys and values in turn: `places` of
// them (2..4), all but one of which are being filled while one is read. The whole block calls every
// function together. fetch(place, isValue, tile) starts the copies of one.
template<int D, class Fetch> class TileRing {
public:
    __device__ __forceinline__ TileRing(std::uint8_t* shared, int places, Fetch fetch)
        : m_shared(shared), m_places(places), m_fetch(fetch) {}

    // The tiles first .. end - 1 will be wanted. Nobody reads the places any more.
    __device__ __forceinline__ void start(int first, int end) {
        m_part = 2 * first;
        m_endPart = 2 * end;
        m_filled = m_read = 0;
        for (int i = 1; i < m_places; ++i) fetchNext();
    }

    // Copies of the caller's own have been started: they are there when next() returns. (Those that
    // are started before start() need no such call.)
    __device__ __forceinline__ void follow() {
        endCopyGroup();
        m_followed = true;
    }

    // The next part, keys or values. Nobody reads the one before it any more: its place is filled
    // again.
    __device__ __forceinline__ const std::uint8_t* next() {
        if (m_followed) // a wait for all that came before, which has been on its way for longer
            waitForCopies<0>();
        else if (m_places == 4)
            waitForCopies<2>();
        else if (m_places == 3)
            waitForCopies<1>();
        else
            waitForCopies<0>();
        m_followed = false;
        __syncthreads();
        const std::uint8_t* const part = m_shared + m_read * tileBytes(D);
        m_read = m_read + 1 == m_places ? 0 : m_read + 1;
        fetchNext();
        return part;
    }

private:
    __device__ __forceinline__ void fetchNext() {
        if (m_part < m_endPart) m_fetch(m_shared + m_filled * tileBytes(D), m_part % 2, m_part / 2);
        endCopyGroup(); // an empty one too, so that waiting counts right
        ++m_part;
        m_filled = m_filled + 1 == m_places ? 0 : m_filled + 1;
    }

    std::uint8_t* m_shared;
    int m_places;
    Fetch m_fetch;
    int m_part = 0, m_endPart = 0; // 2 tile + (values)
    int m_filled = 0, m_read = 0;  // places
    bool m_followed = false;
};

// ---- matrix fragments

__device__ __forceinline__ void loadMatrices(std::uint32_t (&b)[4], std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(address)
                 : "memory");
}
__device__ __forceinline__ void loadMatricesTurned(std::uint32_t (&b)[4], std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(address)
                 : "memory");
}

// Rows of queries as halves that a lane copies or reads, aligned to 16 bytes; those that do not
// exist are zeros. Where queries lie in shared memory: row lane / 2 of the tile; else g and g + 8.
struct HalfRows {
    const std::uint16_t* at[2]; // may be read in any case
    bool exists[2];
};

// Queries of one tile of 16, scaled, as left operands: in registers, or, where these are short, in
// shared memory (the warp's own queryTileBytes).
template<int D> class QueryTile {
public:
    static constexpr bool kInShared = D > 64;

    // low, high: rows g and g + 8, or null for a row of zeros; aligned to 8 bytes. Called by the
    // whole warp.
    __device__ __forceinline__ void load(const float* low, const float* high, float scale,
                                         std::uint8_t* shared, int lane) {
        const int g = lane / 4, column = 2 * (lane % 4);
        const auto pair = [&](const float* row, int c) -> std::uint32_t {
            if (!row) return 0;
            const float2 x = *reinterpret_cast<const float2*>(row + c);
            return halves(__fmul_rn(x.x, scale), __fmul_rn(x.y, scale));
        };
        if constexpr (kInShared) {
            __syncwarp(); // earlier reads are done
#pragma unroll
            for (int c = 0; c < D; c += 8) {
                std::uint8_t* to = shared + g * tileStride(D) + 2 * (c + column);
                *reinterpret_cast<std::uint32_t*>(to) = pair(low, c + column);
                *reinterpret_cast<std::uint32_t*>(to + 8 * tileStride(D)) = pair(high, c + column);
            }
            __syncwarp();
            m_address = sharedAddress(shared) + lane % 16 * tileStride(D) + lane / 16 * 16;
        } else {
#pragma unroll
            for (int k = 0; k < D / 16; ++k) {
                m_a[k][0] = pair(low, 16 * k + column);
                m_a[k][1] = pair(high, 16 * k + column);
                m_a[k][2] = pair(low, 16 * k + 8 + column);
                m_a[k][3] = pair(high, 16 * k + 8 + column);
            }
        }
    }

    // The same of halves that are scaled already. Two lanes copy a row. The copies may still be on
    // their way at the end: all threads that copied wait for them, and then for one another.
    __device__ __forceinline__ void startHalves(const HalfRows& rows, std::uint8_t* shared,
                                                int lane) {
        if constexpr (kInShared) {
            __syncwarp(); // earlier reads are done
            std::uint8_t* const to = shared + lane / 2 * tileStride(D) + lane % 2 * 16;
            const auto* const from =
                reinterpret_cast<const std::uint8_t*>(rows.at[0]) + lane % 2 * 16;
#pragma unroll
            for (int c = 0; c < D / 16; ++c) copy16(to + 32 * c, from + 32 * c, rows.exists[0]);
            m_address = sharedAddress(shared) + lane % 16 * tileStride(D) + lane / 16 * 16;
        } else {
            const int column = 2 * (lane % 4);
            const auto pair = [&](int row, int c) -> std::uint32_t {
                return rows.exists[row]
                           ? *reinterpret_cast<const std::uint32_t*>(rows.at[row] + c + column)
                           : 0;
            };
#pragma unroll
            for (int k = 0; k < D / 16; ++k)
#pragma unroll
                for (int i = 0; i < 4; ++i) m_a[k][i] = pair(i % 2, 16 * k + i / 2 * 8);
        }
    }

    // Columns 16 k .. 16 k + 15.
    __device__ __forceinline__ void get(std::uint32_t (&a)[4], int k) const {
        if constexpr (kInShared) {
            loadMatrices(a, m_address + 32 * k);
        } else {
#pragma unroll
            for (int i = 0; i < 4; ++i) a[i] = m_a[k][i];
        }
    }

private:
    std::uint32_t m_a[kInShared ? 1 : D / 16][4];
    std::uint32_t m_address;
};

// Scores of kTiles query tiles against the 64 keys of a tile: s[tile][key / 8][fragment].
template<int D, int kTiles>
__device__ __forceinline__ void scoreTile(float (&s)[kTiles][8][4], const QueryTile<D> (&q)[kTiles],
                                          const std::uint8_t* keys, int lane) {
    static_assert(D % 32 == 0);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
        for (int n = 0; n < 8; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) s[tile][n][i] = 0.0f;
    // Four 8 x 8 matrices side by side: keys 8 n .. of 32 columns.
    const std::uint32_t base = sharedAddress(keys) + lane % 8 * tileStride(D) + lane / 8 * 16;
#pragma unroll
    for (int k = 0; k < D / 16; k += 2) {
        std::uint32_t a[kTiles][2][4];
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
            q[tile].get(a[tile][0], k);
            q[tile].get(a[tile][1], k + 1);
        }
#pragma unroll
        for (int n = 0; n < 8; ++n) {
            std::uint32_t b[4];
            loadMatrices(b, base + n * 8 * tileStride(D) + k * 32);
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile) {
                mmaHalves(s[tile][n], a[tile][0], b[0], b[1]);
                mmaHalves(s[tile][n], a[tile][1], b[2], b[3]);
            }
        }
    }
}

// out[column / 8 - first][fragment] += sum of p times values, columns 8 first .. 8 (first + N) - 1,
// for kTiles query tiles.
template<int D, int kTiles, int N>
__device__ __forceinline__ void mixTile(float (&out)[kTiles][N][4],
                                        const std::uint32_t (&p)[kTiles][4][4],
                                        const std::uint8_t* values, int first, int lane) {
    static_assert(N % 2 == 0);
    // Keys 16 k .. + 15 of 16 columns: lanes 0..15 address the left half, lanes 16..31 the right.
    const std::uint32_t base =
        sharedAddress(values) + lane % 16 * tileStride(D) + lane / 16 * 16 + first * 16;
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
        for (int n = 0; n < N; n += 2) {
            std::uint32_t b[4];
            loadMatricesTurned(b, base + k * 16 * tileStride(D) + n * 16);
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile) {
                mmaHalves(out[tile][n], p[tile][k], b[0], b[1]);
                mmaHalves(out[tile][n + 1], p[tile][k], b[2], b[3]);
            }
        }
}

// ---- softmax

// Largest and sum over the four lanes that share a row.
__device__ __forceinline__ float quadMax(float x) {
    x = fmaxf(x, __shfl_xor_sync(kWholeWarp, x, 1));
    return fmaxf(x, __shfl_xor_sync(kWholeWarp, x, 2));
}
__device__ __forceinline__ float quadSum(float x) {
    x = __fadd_rn(x, __shfl_xor_sync(kWholeWarp, x, 1));
    return __fadd_rn(x, __shfl_xor_sync(kWholeWarp, x, 2));
}

// Keys from .. to - 1 of a tile that a row sees, for rows g and g + 8.
struct SeenKeys {
    int from[2], to[2];
};

// What is not seen becomes minus infinity.
__device__ __forceinline__ void hideKeys(float (&s)[8][4], const SeenKeys& seen, int lane) {
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int key = 8 * n + 2 * (lane % 4) + i % 2;
            if (key < seen.from[i / 2] || key >= seen.to[i / 2]) s[n][i] = minusInfinity();
        }
}

__device__ __forceinline__ float largestScore(const float (&s)[8][4], int row) {
    float m = fmaxf(s[0][2 * row], s[0][2 * row + 1]);
#pragma unroll
    for (int n = 1; n < 8; ++n) m = fmaxf(m, fmaxf(s[n][2 * row], s[n][2 * row + 1]));
    return quadMax(m);
}

// Scores become weights 2^(s - base); returns this lane's part of their sum.
__device__ __forceinline__ float weigh(float (&s)[8][4], int row, float base) {
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < 8; ++n) {
        float& a = s[n][2 * row];
        float& b = s[n][2 * row + 1];
        a = powerOfTwo(__fsub_rn(a, base));
        b = powerOfTwo(__fsub_rn(b, base));
        sum = __fadd_rn(sum, __fadd_rn(a, b));
    }
    return sum;
}

// Weights as left operands of the product with the values.
__device__ __forceinline__ void packWeights(std::uint32_t (&p)[4][4], const float (&s)[8][4]) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        p[k][0] = halves(s[2 * k][0], s[2 * k][1]);
        p[k][1] = halves(s[2 * k][2], s[2 * k][3]);
        p[k][2] = halves(s[2 * k + 1][0], s[2 * k + 1][1]);
        p[k][3] = halves(s[2 * k + 1][2], s[2 * k + 1][3]);
    }
}

// ---- states

// A weight is at most 2^-6 where m is less than 2^14, so that the weights of a tile's 64 keys add
// up to 1 at most.
inline constexpr float kHeadroom = 6.0f;

struct MergeFactors {
    float m, keep, take;
};
__device__ __forceinline__ MergeFactors mergeFactors(float running, float later) {
    const float m = fmaxf(running, later);
    const float base = m == minusInfinity() ? 0.0f : m;
    return {m, powerOfTwo(__fsub_rn(running, base)), powerOfTwo(__fsub_rn(later, base))};
}
__device__ __forceinline__ float merged(float running, float later, const MergeFactors& f) {
    return __fmaf_rn(later, f.take, __fmul_rn(running, f.keep));
}
// The o of a split is divided by this, a power of two, where it becomes a half.
inline constexpr float kSplitScale = kSplitTiles;
__device__ __forceinline__ float ofSplit(float o) {
    return __fmul_rn(__half2float(__float2half_rn(__fmul_rn(o, 1.0f / kSplitScale))), kSplitScale);
}

__device__ __forceinline__ float finalShare(float l) {
    return __fdiv_rn(1.0f, l);
}

// The state of a query tile: m and l of rows g and g + 8 (the same in four lanes), o as fragments.
template<int D> struct TileState {
    float m[2], l[2];
    float o[D / 8][4];

    __device__ __forceinline__ void clear() {
        m[0] = m[1] = minusInfinity();
        l[0] = l[1] = 0.0f;
#pragma unroll
        for (int n = 0; n < D / 8; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) o[n][i] = 0.0f;
    }

    // Takes in the split that comes next.
    __device__ __forceinline__ void merge(const TileState& later) {
        const MergeFactors f[2] = {mergeFactors(m[0], later.m[0]), mergeFactors(m[1], later.m[1])};
#pragma unroll
        for (int row = 0; row < 2; ++row) {
            m[row] = f[row].m;
            l[row] = merged(l[row], later.l[row], f[row]);
        }
#pragma unroll
        for (int n = 0; n < D / 8; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) o[n][i] = merged(o[n][i], ofSplit(later.o[n][i]), f[i / 2]);
    }

    // Takes in the tile whose scores are given (masked already) and whose values lie in shared
    // memory. only: there is no tile before, and the columns go to `store` instead of o: called
    // with n and, for each of the two rows, the halves of columns 8 (n + j) + 2 t and the next.
    template<class Store>
    __device__ __forceinline__ void take(float (&s)[1][8][4], const std::uint8_t* values, bool only,
                                         Store store, int lane) {
        MergeFactors f[2];
#pragma unroll
        for (int row = 0; row < 2; ++row) {
            const float top = largestScore(s[0], row);
            const float sum = quadSum(
                weigh(s[0], row, top == minusInfinity() ? 0.0f : __fadd_rn(top, kHeadroom)));
            f[row] = mergeFactors(m[row], top);
            m[row] = f[row].m;
            l[row] = merged(l[row], sum, f[row]);
        }
        std::uint32_t p[1][4][4];
        packWeights(p[0], s[0]);
        // A factor of one needs no multiplication: the bits are the same.
        if (!only && __any_sync(kWholeWarp, f[0].keep != 1.0f || f[1].keep != 1.0f)) {
#pragma unroll
            for (int n = 0; n < D / 8; ++n)
#pragma unroll
                for (int i = 0; i < 4; ++i) o[n][i] = __fmul_rn(o[n][i], f[i / 2].keep);
        }
        // The tile's own sums are finished some columns at a time, which saves registers.
        constexpr int kPart = 4;
#pragma unroll
        for (int first = 0; first < D / 8; first += kPart) {
            float own[1][kPart][4] = {};
            mixTile<D, 1, kPart>(own, p, values, first, lane);
#pragma unroll
            for (int row = 0; row < 2; ++row) {
                std::uint32_t pairs[kPart];
#pragma unroll
                for (int n = 0; n < kPart; ++n)
                    pairs[n] = halves(own[0][n][2 * row], own[0][n][2 * row + 1]);
                if (only) {
                    store(first, row, make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]));
                    continue;
                }
#pragma unroll
                for (int n = 0; n < kPart; ++n) {
                    float(&to)[4] = o[first + n];
                    const float2 pair = ofHalves(pairs[n]);
                    to[2 * row] = __fmaf_rn(pair.x, f[row].take, to[2 * row]);
                    to[2 * row + 1] = __fmaf_rn(pair.y, f[row].take, to[2 * row + 1]);
                }
            }
        }
    }
};

// ---- which keys

// Positions a row sees: from .. to - 1.
struct SeenRange {
    int from, to;
};

// The row at `position`; keyEnd: the last position of the call + 1.
__device__ __forceinline__ SeenRange seenBy(const AttentionArgs& a, int position, int keyEnd) {
    return {max(0, position - a.left), min(keyEnd, position + a.right + 1)};
}

// Rows g and g + 8 of a query tile: where they lie and what they see.
struct QueryRows {
    int row[2];  // of the call; -1: none
    int head[2]; // query head within the group
    SeenRange seen[2];
};

__device__ __forceinline__ QueryRows queryRows(const AttentionArgs& a, int queryTile,
                                               int firstPosition, int lane) {
    QueryRows rows;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int r = queryTile * kQueryTile + lane / 4 + 8 * i;
        const bool exists = r < a.rows * a.ratio;
        rows.row[i] = exists ? r / a.ratio : -1;
        rows.head[i] = r % a.ratio;
        rows.seen[i] = exists ? seenBy(a, firstPosition + r / a.ratio, firstPosition + a.rows)
                              : SeenRange{0, 0};
    }
    return rows;
}

// What any row of the query numbers first .. end - 1 sees; first < end, first is a row that exists.
__device__ __forceinline__ SeenRange seenByAny(const AttentionArgs& a, int first, int end,
                                               int firstPosition) {
    const int keyEnd = firstPosition + a.rows;
    const int last = min(end, a.rows * a.ratio) - 1;
    return {seenBy(a, firstPosition + first / a.ratio, keyEnd).from,
            seenBy(a, firstPosition + last / a.ratio, keyEnd).to};
}

template<int D>
__device__ __forceinline__ void loadQueries(QueryTile<D>& q, const AttentionArgs& a,
                                            const QueryRows& rows, int kvHead, std::uint8_t* shared,
                                            int lane) {
    const float* at[2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
        at[i] = rows.row[i] < 0
                    ? nullptr
                    : a.q + rows.row[i] * a.qStride + (kvHead * a.ratio + rows.head[i]) * D;
    q.load(at[0], at[1], a.scale, shared, lane);
}

// Those of query tile `queryTile` in AttentionArgs::halves.
template<int D>
__device__ __forceinline__ HalfRows halfRowsOf(const AttentionArgs& a, int queryTile, int kvHead,
                                               int lane) {
    HalfRows rows;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int rowOfTile = QueryTile<D>::kInShared ? lane / 2 : lane / 4 + 8 * i;
        const int r = queryTile * kQueryTile + rowOfTile, row = r / a.ratio;
        rows.exists[i] = row < a.rows;
        const std::int64_t head = kvHead * a.ratio + r - row * a.ratio;
        rows.at[i] = a.halves + (rows.exists[i] ? row * a.qStride + head * D : 0);
    }
    return rows;
}

// What a block of kThreads copies of one head's keys and values for TileRing.
template<int D, bool kEight, int kThreads> struct CacheFetch {
    const AttentionArgs& args;
    SeenRange sees; // of the block
    int kvHead;

    __device__ __forceinline__ void operator()(std::uint8_t* place, bool isValue, int tile) const {
        const std::uint8_t* const cache = isValue ? args.values : args.keys;
        fetchCacheTile<D, kEight, kThreads>(
            place, cache + kvHead * headBytes<D, kEight>(),
            isValue ? args.valueStride : args.keyStride, args.capacity, tile,
            max(0, sees.from - tile * kKeyTile), min(kKeyTile, sees.to - tile * kKeyTile));
    }
};

// The tiles first .. end - 1, which come next from the ring, against the query tile of this warp;
// all warps of the block together. only, store: as TileState::take, of a single tile.
template<int D, class Ring, class Store>
__device__ __forceinline__ void walkTiles(TileState<D>& state, const QueryTile<D> (&q)[1],
                                          const QueryRows& rows, Ring& ring, bool hasQueries,
                                          int first, int end, bool only, Store store, int lane) {
    for (int tile = first; tile < end; ++tile) {
        SeenKeys seen;
        bool any = false, all = true;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            seen.from[i] = max(0, rows.seen[i].from - tile * kKeyTile);
            seen.to[i] = min(kKeyTile, rows.seen[i].to - tile * kKeyTile);
            any = any || seen.from[i] < seen.to[i];
            all = all && seen.from[i] == 0 && seen.to[i] == kKeyTile;
        }
        any = __any_sync(kWholeWarp, any) && hasQueries;
        all = __all_sync(kWholeWarp, all);
        float s[1][8][4];
        const std::uint8_t* const keys = ring.next();
        if (any) scoreTile<D, 1>(s, q, keys, lane);
        const std::uint8_t* const values = ring.next();
        if (any) {
            if (!all) hideKeys(s[0], seen, lane);
            state.take(s, values, only, store, lane);
        }
    }
}

} // namespace cuda

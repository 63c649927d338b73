// Attention inside groups of rows, every row seeing its whole group: the vision tower.
//
// Math: per query row, tiles of 64 keys from the group's start, ascending, with a running maximum
//   m: s = sum of q~ k with q~ = half(q * log2(e) / sqrt(head size)), keys as halves, matrix
//   instructions of 16 columns ascending, single precision;  m' = max(m, max s), keep = 2^(m -
//   m'), p = 2^(s - m');  l' = l keep + sum of p (lane t of four adds its columns as attention.cuh
//   says, and the four lanes are added at the end);  o' = o keep + sum of half(p) v, matrix
//   instructions of 16 keys ascending;  result o / l. A row's result does not depend on the other
//   rows of its block. Reference: CpuBackend::groupAttention, within what half precision of q, k,
//   v and p means.
// Shapes: attention_args.h. q, k, v, out F32 [rows][heads * head size], aligned to 16 bytes; head
//   sizes 32, 64, 96, 128. group_prepare makes halves [head][row][head size] of keys and values.
// Traffic: a block reads the keys and values of its group once: 24 KB a tile for 3.1 MFLOP (128
//   queries, head size 96). 10,764 rows, 16 heads x 96: 712 GFLOP, 5.6 GB through the L2.
// Launch: grid (blocks of queries of all groups, head), 4 warps with 32 queries each (16 for head
//   size 128, whose sums fill the registers). Shared memory: four tiles of keys and values on
//   their way, and the queries: 79,872 bytes (head size 96; with two tiles, where there is less,
//   53,248). 250 registers, two blocks per multiprocessor.
// Needs: sm_75 (copies wait there); 16-byte copies in flight from sm_80 on.
// Measured: H200: 255 us for windows of 1,024 rows and less of a 1080p picture (ncu, 16 heads of
//   96).

#include "cuda/kernels/attention.cuh"

namespace cuda {
namespace {

template<int D, int kTiles>
__device__ __forceinline__ void groupAttention(const GroupAttentionArgs& a) {
    extern __shared__ __align__(16) std::uint8_t shared[];
    constexpr int kThreads = 32 * kGroupWarps;
    constexpr int kBlockRows = kGroupWarps * kTiles * kQueryTile;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int head = blockIdx.y, block = blockIdx.x;

    int group = 0; // the last one that starts at this block or before; empty ones have no blocks
    for (int low = 0, high = a.groups; low < high;) {
        const int middle = (low + high) / 2;
        if (a.firstBlock[middle] <= block) {
            group = middle;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const int start = a.start[group], end = a.start[group + 1];
    const int firstRow =
        start + (block - a.firstBlock[group]) * kBlockRows + warp * kTiles * kQueryTile;
    const int tiles = (end - start + kKeyTile - 1) / kKeyTile;

    waitForPrevious();
    letNextStart();
    const auto* const headKeys =
        reinterpret_cast<const std::uint8_t*>(a.keys + (std::int64_t(head) * a.rows + start) * D);
    const auto* const headValues =
        reinterpret_cast<const std::uint8_t*>(a.values + (std::int64_t(head) * a.rows + start) * D);
    const auto fetch = [=](std::uint8_t* place, bool isValue, int tile) {
        const std::uint8_t* const from =
            (isValue ? headValues : headKeys) + std::int64_t(tile) * kKeyTile * 2 * D;
        fetchHalfTile<D, kThreads>(place, 0, min(kKeyTile, end - start - tile * kKeyTile),
                                   [&](int j) { return from + j * 2 * D; });
    };
    TileRing<D, decltype(fetch)> ring(shared, a.ringPlaces, fetch);
    ring.start(0, tiles);

    QueryTile<D> q[kTiles];
    const std::int64_t column = std::int64_t(a.firstHead + head) * D;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
        const int row = firstRow + tile * kQueryTile + lane / 4;
        const float* const from = a.q + row * a.qStride + column;
        q[tile].load(
            row < end ? from : nullptr, row + 8 < end ? from + 8 * a.qStride : nullptr, a.scale,
            shared + a.ringPlaces * tileBytes(D) + (warp * kTiles + tile) * queryTileBytes(D),
            lane);
    }

    float m[kTiles][2], l[kTiles][2], o[kTiles][D / 8][4];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
        m[tile][0] = m[tile][1] = minusInfinity();
        l[tile][0] = l[tile][1] = 0.0f;
#pragma unroll
        for (int n = 0; n < D / 8; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) o[tile][n][i] = 0.0f;
    }

    const bool works = firstRow < end;
    for (int keyTile = 0; keyTile < tiles; ++keyTile) {
        float s[kTiles][8][4];
        const std::uint8_t* const keys = ring.next();
        if (works) scoreTile<D, kTiles>(s, q, keys, lane);
        const std::uint8_t* const values = ring.next();
        if (works) {
            const int count = end - start - keyTile * kKeyTile;
            std::uint32_t p[kTiles][4][4];
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile) {
                if (count < kKeyTile) hideKeys(s[tile], {{0, 0}, {count, count}}, lane);
                float keep[2];
#pragma unroll
                for (int row = 0; row < 2; ++row) {
                    // A tile has a key at least, so the maximum is a number.
                    const float top = fmaxf(m[tile][row], largestScore(s[tile], row));
                    keep[row] = powerOfTwo(__fsub_rn(m[tile][row], top));
                    m[tile][row] = top;
                    l[tile][row] = __fmaf_rn(l[tile][row], keep[row], weigh(s[tile], row, top));
                }
                packWeights(p[tile], s[tile]);
                // A factor of one needs no multiplication: the bits are the same.
                if (__any_sync(kWholeWarp, keep[0] != 1.0f || keep[1] != 1.0f)) {
#pragma unroll
                    for (int n = 0; n < D / 8; ++n)
#pragma unroll
                        for (int i = 0; i < 4; ++i)
                            o[tile][n][i] = __fmul_rn(o[tile][n][i], keep[i / 2]);
                }
            }
            mixTile<D, kTiles, D / 8>(o, p, values, 0, lane);
        }
    }

#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const float share = finalShare(quadSum(l[tile][i]));
            const int row = firstRow + tile * kQueryTile + lane / 4 + 8 * i;
            if (row >= end) continue;
            float* const to = a.out + row * a.outStride + column + 2 * (lane % 4);
#pragma unroll
            for (int n = 0; n < D / 8; ++n)
                *reinterpret_cast<float2*>(to + 8 * n) = make_float2(
                    __fmul_rn(o[tile][n][2 * i], share), __fmul_rn(o[tile][n][2 * i + 1], share));
        }
}

} // namespace

// Grid (eights of columns of all rows of a head, head, keys or values).
extern "C" __global__ void __launch_bounds__(256)
    group_prepare(const __grid_constant__ GroupPrepareArgs a) {
    waitForPrevious();
    letNextStart();
    const int eights = a.headSize / 8;
    const std::int64_t index = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const std::int64_t row = index / eights, at = index % eights * 8;
    if (row >= a.rows) return;
    const int head = blockIdx.y;
    const bool isValue = blockIdx.z > 0;
    const float* const from = (isValue ? a.v + row * a.vStride : a.k + row * a.kStride) +
                              std::int64_t(a.firstHead + head) * a.headSize + at;
    const float4 x = reinterpret_cast<const float4*>(from)[0];
    const float4 y = reinterpret_cast<const float4*>(from)[1];
    *reinterpret_cast<uint4*>((isValue ? a.values : a.keys) +
                              (std::int64_t(head) * a.rows + row) * a.headSize + at) =
        make_uint4(halves(x.x, x.y), halves(x.z, x.w), halves(y.x, y.y), halves(y.z, y.w));
}

#define GLINT_GROUP_ATTENTION(name, size, tiles, blocks)                                           \
    extern "C" __global__ void __launch_bounds__(32 * kGroupWarps, blocks)                         \
        name(const __grid_constant__ GroupAttentionArgs args) {                                    \
        groupAttention<size, tiles>(args);                                                         \
    }

GLINT_GROUP_ATTENTION(group_attention_32, 32, groupQueryTiles(32), 2)
GLINT_GROUP_ATTENTION(group_attention_64, 64, groupQueryTiles(64), 2)
GLINT_GROUP_ATTENTION(group_attention_96, 96, groupQueryTiles(96), 2)
GLINT_GROUP_ATTENTION(group_attention_128, 128, groupQueryTiles(128), 2)

} // namespace cuda

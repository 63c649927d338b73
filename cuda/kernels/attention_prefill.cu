// Attention of many rows over the cache: reading a prompt. Also of few rows where the states of
// attention_rows would not fit the scratch memory.
//
// Math: attention.cuh; the bits are those of attention_rows and its merge. Reference:
//   CpuBackend::attention, within what half precision of q, p and the keys means.
// Shapes: attention_args.h; as in attention_rows.cu.
// Traffic: a block reads every key and value its rows see once; 128 queries of a key/value head (8
//   positions of 16 heads a group) share them. 32 KB a tile for 4.2 MFLOP (head size 128).
// Launch: grid (128 queries, key/value head), block of 8 warps with a query tile each. The state
//   of the running split and that of all splits before it stay in registers (128 for head size
//   128), and so the merges follow each other in the canonical order. Shared memory: four tiles of
//   keys and values on their way, and the queries: 104,448 bytes (head size 128; with three tiles,
//   where there is less, 87,040). 255 registers, one block per multiprocessor.
// Needs: sm_75 (copies wait there; half the warps, for 64 KB of shared memory); 16-byte copies in
//   flight from sm_80 on.
// Measured: H200: 80 us for 512 rows near 2,048 tokens (ncu, half precision, 32 heads of 128).

#include "cuda/kernels/attention.cuh"

namespace cuda {
namespace {

template<int D, bool kEight, int kWarps>
__device__ __forceinline__ void attentionPrefill(const AttentionArgs& a) {
    extern __shared__ __align__(16) std::uint8_t shared[];
    waitForPrevious();
    letNextStart();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int kvHead = blockIdx.y;
    // The last rows see the most keys: they start first.
    const int block = gridDim.x - 1 - blockIdx.x;
    const int firstPosition = a.positions[0];
    const int queryTile = block * kWarps + warp;
    const QueryRows rows = queryRows(a, queryTile, firstPosition, lane);
    const SeenRange sees =
        seenByAny(a, block * kWarps * kQueryTile, (block + 1) * kWarps * kQueryTile, firstPosition);
    const int first = sees.from / kKeyTile, end = (sees.to - 1) / kKeyTile + 1;

    TileRing<D, CacheFetch<D, kEight, 32 * kWarps>> ring(shared, a.ringPlaces, {a, sees, kvHead});
    ring.start(first, end);
    QueryTile<D> q[1];
    loadQueries(q[0], a, rows, kvHead,
                shared + a.ringPlaces * tileBytes(D) + warp * queryTileBytes(D), lane);
    TileState<D> total;
    total.clear();
    for (int tile = first; tile < end;) {
        const int splitEnd = min(end, (tile / kSplitTiles + 1) * kSplitTiles);
        TileState<D> split;
        split.clear();
        walkTiles<D>(
            split, q, rows, ring, queryTile < a.queryTiles, tile, splitEnd, false,
            [](int, int, uint4) {}, lane);
        total.merge(split);
        tile = splitEnd;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        if (rows.row[i] < 0) continue;
        const float share = finalShare(total.l[i]);
        float* const to = a.out + rows.row[i] * a.outStride +
                          (kvHead * a.ratio + rows.head[i]) * D + 2 * (lane % 4);
#pragma unroll
        for (int n = 0; n < D / 8; ++n)
            *reinterpret_cast<float2*>(to + 8 * n) = make_float2(
                __fmul_rn(total.o[n][2 * i], share), __fmul_rn(total.o[n][2 * i + 1], share));
    }
}

} // namespace

#define GLINT_ATTENTION_PREFILL(name, size, eight, warps, blocks)                                  \
    extern "C" __global__ void __launch_bounds__(32 * (warps), blocks)                             \
        name(const __grid_constant__ AttentionArgs args) {                                         \
        attentionPrefill<size, eight, warps>(args);                                                \
    }

GLINT_ATTENTION_PREFILL(attention_prefill_32_f16, 32, false, kPrefillWarps, 1)
GLINT_ATTENTION_PREFILL(attention_prefill_64_f16, 64, false, kPrefillWarps, 1)
GLINT_ATTENTION_PREFILL(attention_prefill_96_f16, 96, false, kPrefillWarps, 1)
GLINT_ATTENTION_PREFILL(attention_prefill_128_f16, 128, false, kPrefillWarps, 1)
GLINT_ATTENTION_PREFILL(attention_prefill_32_q8_0, 32, true, kPrefillWarps, 1)
GLINT_ATTENTION_PREFILL(attention_prefill_64_q8_0, 64, true, kPrefillWarps, 1)
GLINT_ATTENTION_PREFILL(attention_prefill_96_q8_0, 96, true, kPrefillWarps, 1)
GLINT_ATTENTION_PREFILL(attention_prefill_128_q8_0, 128, true, kPrefillWarps, 1)
// Where a block has no more than 64 KB of shared memory.
GLINT_ATTENTION_PREFILL(attention_prefill_small_128_f16, 128, false, kSmallPrefillWarps, 2)
GLINT_ATTENTION_PREFILL(attention_prefill_small_128_q8_0, 128, true, kSmallPrefillWarps, 2)

} // namespace cuda

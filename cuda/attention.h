#pragma once
// Attention on the card: rotary positions, the store of keys and values, attention over the cache
// and inside groups, and the attention half layer of a pass with few rows. Kernels:
// kernels/attention_rows.cu, attention_prefill.cu, attention_inputs.cu, group_attention.cu.
//
// Head sizes 32, 64, 96 and 128; keys and values F16 or Q8_0; anything else is Unsupported. The
// arithmetic is said in kernels/attention.cuh. A position's row has the same bits in a call of one
// row, of sixteen and of five hundred, and from attend as from the separate operations.
//
// Nothing is allocated and nothing is read by the host, so every operation can be recorded into a
// graph and replayed at other positions; groupAttention can too, for the same groups.
//
// Borrows the launcher; owns its scratch memory. Engine thread.

#include "cuda/kernels/attention_args.h"
#include "cuda/launcher.h"
#include "cuda/row_ops.h"
#include "engine/backend/backend.h"
#include "engine/base/result.h"

#include <cstdint>
#include <span>

namespace cuda {

// What the row GEMM wrote for an attention half layer; gate as AttentionStep's.
struct AttentionProjections {
    PartialSums q, k, v, gate;
};

class Attention {
public:
    // Of the scratch memory. It holds the states of all splits of 16 rows (two key/value heads of
    // 128, 32 heads: 32,768 positions take 17.6 MB, 131,072 take 69.5 MB), or the keys and values
    // of a picture as halves (10,764 rows x 96: 4.1 MB a head). What does not fit is done in
    // another way with the same bits: attention by the prefill kernel, groups by fewer heads at a
    // time, of which six fill the card with a large picture.
    static constexpr std::int64_t kLeastScratchBytes = std::int64_t(24) << 20;
    static constexpr std::int64_t kScratchBytes = std::int64_t(72) << 20; // enough for all that
    // What passes of up to kMaxStepRows rows use at most over so many positions.
    static std::int64_t scratchBytes(const engine::AttentionShape& shape, std::int64_t positions);
    static constexpr int kTileItems = 2;

    // scratch: kScratchBytes or less (tests do that). tileItems: blocks of work per multiprocessor
    // up to which few rows are cut into tiles, beyond that into splits; only the time depends on
    // it.
    Attention(Launcher& launcher, engine::Buffer scratch, int tileItems = kTileItems);

    std::int64_t scratchBytes() const { return m_scratch.bytes(); }
    void useScratch(engine::Buffer scratch) { m_scratch = std::move(scratch); }

    // Each as its namesake in engine/backend/backend.h.
    engine::Result<void> rope(engine::Tensor x, engine::Tensor positions,
                              const engine::RopeSpec& spec);
    engine::Result<void> kvWrite(const engine::KvLayer& layer, engine::Tensor k, engine::Tensor v,
                                 engine::Tensor positions);
    engine::Result<void> attention(engine::Tensor q, const engine::KvLayer& layer,
                                   engine::Tensor positions, const engine::AttentionShape& shape,
                                   const engine::AttentionSpan& span, engine::Tensor out);
    engine::Result<void> groupAttention(engine::Tensor q, engine::Tensor k, engine::Tensor v,
                                        const engine::AttentionShape& shape,
                                        std::span<const std::int32_t> groupStarts,
                                        engine::Tensor out);

    // Backend::attend after its matrix products, at most kMaxStepRows rows. Uses step.qRows, and
    // step.outRows where the scratch is too small.
    engine::Result<void> attend(const engine::AttentionStep& step, const AttentionProjections& sums,
                                const QuantizedRows& out);

private:
    bool tilesAndSplits(AttentionArgs& args) const; // false: the scratch is too small
    int ringPlaces(int headSize, int queryTiles) const;
    void runTiles(AttentionArgs& args, engine::ElementType type);
    void runPrefill(AttentionArgs& args, engine::ElementType type);

    Launcher& m_launcher;
    engine::Buffer m_scratch;
    int m_tileItems;
};

} // namespace cuda

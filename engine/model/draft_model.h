#pragma once
// The DFlash drafter (tests/fixtures/oracle/README.md, "DFlash"). It shares the target's embedding
// table and head. Keys and values of the context come straight from the fused taps; a block of one
// known token and masks then looks at the context and at itself in both directions.
//
// Engine thread.

#include "engine/backend/backend.h"
#include "engine/model/spec.h"
#include "engine/model/text_model.h"
#include "engine/runtime/kv_cache.h"

#include <memory>

namespace engine {

class SharedMemory;  // buffer_layout.h
struct DraftWeights; // weights.h

class DraftModel {
public:
    // shared: where the working tensors lie, from its allocation on; null: in own memory.
    static Result<std::unique_ptr<DraftModel>> make(Backend& backend, DraftSpec spec,
                                                    std::shared_ptr<const DraftWeights> weights,
                                                    TextModel& target, int maxContextRows,
                                                    SharedMemory* shared = nullptr);
    ~DraftModel();

    // The cache that this model writes: beside the context it holds one block, also at the
    // context's end.
    static KvShape kvShape(const DraftSpec& spec, std::int64_t contextTokens, int maxContextRows,
                           KvType type);

    const DraftSpec& spec() const;

    // taps: F32 [rows, taps * width] of positions firstPosition == cache.length() ..; writes their
    // keys and values into the drafter's cache and commits them. rows <= maxContextRows. Cancelled:
    // nothing is committed.
    Result<void> appendContext(Tensor taps, std::int64_t firstPosition, KvCache& cache,
                               std::stop_token stop);

    // One pass over the block [anchor, mask, ...] at positions cache.length() ..; returns raw head
    // rows of rows 1 .. blockSize-1: F32 [blockSize-1, vocabulary], valid until the target's next
    // logits. The block's own keys and values are not committed.
    // rows: only the first so many of them; the rest of the head's work is saved.
    static constexpr int kAllRows = 0;
    Result<Tensor> draft(std::int32_t anchor, KvCache& cache, std::stop_token stop,
                         int rows = kAllRows);

    // The same, but of each of the rows 1 .. tokens.rows only the token whose value is largest: I32
    // [up to blockSize-1, 1] in backend memory.
    Result<void> draftTokens(std::int32_t anchor, KvCache& cache, std::stop_token stop,
                             Tensor tokens);

    // For comparison with the oracle: after appendContext, its fused rows; after draft, the block's
    // rows after the final norm.
    Tensor fusedContext() const; // F32 [rows, width]
    Tensor hidden() const;       // F32 [blockSize, width]

private:
    DraftModel();
    struct State;
    std::unique_ptr<State> m;
};

} // namespace engine

#pragma once
// The target: Muse Glimmer's decoder, as calls on a Backend. The formulas, also in
// tests/fixtures/oracle/README.md:
//   x = rms(embedding); per layer: h = rms(x) * attn_norm; q, k, v, g = projections of h; q and k
//   get a per-head rms times their norm weights, and rotary positions on sliding layers only;
//   attention; times sigmoid(g); attn_output; x += rms(., 1e-8) * post_attention_norm; then the
//   same frame around SwiGLU.
//
// Engine thread. Holds its working buffers for at most `maxRows` rows; allocates nothing
// afterwards.

#include "engine/backend/backend.h"
#include "engine/model/spec.h"
#include "engine/runtime/kv_cache.h"

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace engine {

class GgufFile;
class SharedMemory; // buffer_layout.h
struct TextWeights; // weights.h

class TextModel {
public:
    // shared: where the working tensors lie, from its allocation on; null: in own memory.
    static Result<std::unique_ptr<TextModel>> make(Backend& backend, TextSpec spec,
                                                   std::shared_ptr<const TextWeights> weights,
                                                   int maxRows, SharedMemory* shared = nullptr);
    ~TextModel();

    // The cache that this model writes: passes of at most maxBatch rows.
    static KvShape kvShape(const TextSpec& spec, std::int64_t contextTokens, int maxBatch,
                           KvType type);

    const TextSpec& spec() const;
    const TextWeights& weights() const;
    int maxRows() const;

    struct Input {
        std::span<const std::int32_t> ids; // one per row
        std::int64_t firstPosition = 0; // row i is at firstPosition + i; must equal cache.length()
        // Rows of `ids` that pictures take: their normed embedding rows replace the tokens' after
        // the embedding norm. F32 [count, width] in backend memory.
        struct ImageRows {
            std::int64_t firstRow = 0; // in this call
            Tensor rows;
        };
        std::span<const ImageRows> images;
        Tensor deviceIds; // I32 [rows, 1] in backend memory: read instead of ids, if not empty
    };

    // Residual entering each tapped layer, for the drafter: F32 [rows, taps * width], concatenated
    // in the order of `layers` (ascending, each once).
    struct Taps {
        std::span<const int> layers;
        Tensor out;
    };

    // Runs all layers and writes keys and values; does not commit them. Afterwards hidden() holds
    // the rows' residual after the last layer. Cancelled if stop is requested, checked before each
    // layer.
    Result<void> forward(const Input& input, KvCache& cache, const Taps& taps,
                         std::stop_token stop);
    Tensor hidden() const; // F32 [rows of the last forward, width]

    // Final norm and head over rows first .. first+count-1 of the last forward: scaled and capped
    // logits, F32 [count, vocabulary], valid until the next call. count <= kMaxLogitRows.
    static constexpr int kMaxLogitRows = 32;
    Tensor logits(std::int64_t first, std::int64_t count);

    // Of such logits only the largest of each row: their indices alone (values empty, ids I32
    // [count, 1]), or values F32 and indices I32 [count, n], n <= Backend::kMaxTop, as
    // Backend::argmax and largest find them. What logits returned before is gone.
    void largest(std::int64_t first, std::int64_t count, Tensor values, Tensor ids);

    // The head alone over rows that carry their own norm, without scale and cap: the drafter's use.
    // The result lies in rawHeadRows(), F32 [count, vocabulary], until the next call of either.
    void rawHead(Tensor normedRows);
    Tensor rawHeadRows(std::int64_t count) const;
    // Only the index of each row's largest value: ids I32 [rows, 1]. rawHeadRows are gone.
    void rawHeadArgmax(Tensor normedRows, Tensor ids);

private:
    TextModel();
    struct State;
    std::unique_ptr<State> m;
};

} // namespace engine

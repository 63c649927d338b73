// Top-k: the k largest logits remain, the lower id among equals. Also puts the candidates in order,
// which the later steps rely on, so it runs with k = 0 (off) too.

#include "engine/runtime/sampler_table.h"

#include <algorithm>

namespace engine::samplers {

void topK(std::vector<Candidate>& candidates, const SamplerSettings& settings,
          std::span<const std::int32_t>) {
    const std::size_t k = settings.topK > 0 ? std::size_t(settings.topK) : candidates.size();
    if (k >= candidates.size()) {
        std::sort(candidates.begin(), candidates.end(), comesBefore);
        return;
    }
    // One pass over the vocabulary with the k best so far in a heap, the worst of them on top:
    // almost every candidate is dismissed by one comparison.
    const auto worst = candidates.begin();
    const auto end = worst + std::ptrdiff_t(k);
    std::make_heap(worst, end, comesBefore);
    for (auto it = end; it != candidates.end(); ++it) {
        if (!comesBefore(*it, *worst)) continue;
        std::pop_heap(worst, end, comesBefore);
        *(end - 1) = *it;
        std::push_heap(worst, end, comesBefore);
    }
    std::sort_heap(worst, end, comesBefore);
    candidates.resize(k);
}

} // namespace engine::samplers

// Repetition: the logits of the last `repetitionWindow` tokens are divided by the factor where
// positive and multiplied by it where negative, once per token however often it occurred.

#include "engine/base/check.h"
#include "engine/runtime/sampler_table.h"

#include <algorithm>

namespace engine::samplers {

void repetition(std::vector<Candidate>& candidates, const SamplerSettings& settings,
                std::span<const std::int32_t> recent) {
    if (settings.repetition == 1.0f || settings.repetitionWindow <= 0) return;
    const std::size_t count = std::min(recent.size(), std::size_t(settings.repetitionWindow));
    std::vector<std::int32_t> ids(recent.end() - std::ptrdiff_t(count), recent.end());
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (const std::int32_t id : ids) {
        CHECK(id >= 0 && std::size_t(id) < candidates.size() && candidates[id].id == id);
        float& logit = candidates[id].logit;
        logit = logit > 0 ? logit / settings.repetition : logit * settings.repetition;
    }
}

} // namespace engine::samplers

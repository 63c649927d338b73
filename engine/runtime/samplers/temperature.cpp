// Temperature: logits divided by it. Temperature 0 leaves only the first candidate.

#include "engine/runtime/sampler_table.h"

namespace engine::samplers {

void temperature(std::vector<Candidate>& candidates, const SamplerSettings& settings,
                 std::span<const std::int32_t>) {
    if (settings.temperature <= 0.0f) {
        if (candidates.size() > 1) candidates.resize(1);
        return;
    }
    if (settings.temperature == 1.0f) return;
    for (Candidate& candidate : candidates) candidate.logit /= settings.temperature;
}

} // namespace engine::samplers

// Top-p: tokens up to and including the one with which the sum of probabilities reaches p.
// Probabilities are those of the candidates left so far, before the temperature.

#include "engine/runtime/sampler_table.h"

#include <cmath>

namespace engine::samplers {

void topP(std::vector<Candidate>& candidates, const SamplerSettings& settings,
          std::span<const std::int32_t>) {
    if (settings.topP >= 1.0f || candidates.empty()) return;
    const double largest = candidates.front().logit;
    double total = 0;
    for (const Candidate& candidate : candidates) total += std::exp(candidate.logit - largest);
    const double goal = double(settings.topP) * total;
    double sum = 0;
    std::size_t kept = 0;
    while (kept < candidates.size()) {
        sum += std::exp(candidates[kept].logit - largest);
        ++kept;
        if (sum >= goal) break;
    }
    candidates.resize(kept);
}

} // namespace engine::samplers

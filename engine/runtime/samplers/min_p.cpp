// Min-p: tokens at least `minP` times as probable as the most probable one remain.

#include "engine/runtime/sampler_table.h"

#include <cmath>

namespace engine::samplers {

void minP(std::vector<Candidate>& candidates, const SamplerSettings& settings,
          std::span<const std::int32_t>) {
    if (settings.minP <= 0.0f || candidates.empty()) return;
    const double least = candidates.front().logit + std::log(double(settings.minP));
    std::size_t kept = 1; // the most probable one always stays
    while (kept < candidates.size() && candidates[kept].logit >= least) ++kept;
    candidates.resize(kept);
}

} // namespace engine::samplers

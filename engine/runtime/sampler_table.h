#pragma once
// How the next token is chosen from a row of logits. Temperature 0 takes the largest logit. Otherwise the
// samplers of the table narrow the distribution, and one token is drawn with noise that depends only on
// (seed, position, token): the same text with and without drafting, whatever the order of evaluation.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace engine {

// Defaults: the model's recommendation.
struct SamplerSettings {
    float temperature = 1.0f; // 0: greedy
    int topK = 64;            // 0: off
    float topP = 0.95f;       // 1: off
    float minP = 0.0f;        // 0: off
    float repetition = 1.0f;  // 1: off; divides positive and multiplies negative logits of recent tokens
    int repetitionWindow = 64; // tokens looked back
    bool operator==(const SamplerSettings&) const = default;
};

struct Candidate {
    std::int32_t id = 0;
    float logit = 0; // after the steps so far
    float probability = 0;
};

// The surviving candidates of one row with their probabilities, largest first: repetition, top-k, top-p,
// min-p, temperature, in this order (oracle's "chain"). `recent`: the tokens before this position.
std::vector<Candidate> survivors(std::span<const float> logits, const SamplerSettings& settings,
                                 std::span<const std::int32_t> recent);

// The token for `position` (its index in the whole sequence).
std::int32_t sampleToken(std::span<const float> logits, const SamplerSettings& settings,
                         std::span<const std::int32_t> recent, std::uint64_t seed, std::int64_t position);

} // namespace engine

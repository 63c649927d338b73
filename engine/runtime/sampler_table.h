#pragma once
// How the next token is chosen from a row of logits. Temperature 0 takes the largest logit.
// Otherwise the samplers of the table narrow the distribution, and one token is drawn with noise
// that depends only on (seed, position, token): the same text with and without drafting, whatever
// the order of evaluation.
//
// Pure functions; any thread. To add a sampler: samplers/NAME.cpp, its declaration and a row here.

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
    float repetition =
        1.0f; // 1: off; divides positive and multiplies negative logits of recent tokens
    int repetitionWindow = 64; // tokens looked back
    bool operator==(const SamplerSettings&) const = default;
};

struct Candidate {
    std::int32_t id = 0;
    float logit = 0;       // after the steps so far
    float probability = 0; // filled by survivors() at the end
};

// Larger logits first; the lower id among equals.
inline bool comesBefore(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// One number of the settings: what its control shows, and how it is read and written.
struct SamplerParameter {
    std::string_view key;  // "top_k": in settings files, with a dash on the command line
    std::string_view name; // for people
    double least = 0;
    double most = 0;
    double step = 0; // of a control; 1 and whole numbers only where `whole` is set
    bool whole = false;
    double off = 0; // the value at which it changes nothing; for temperature 0 is greedy
    double (*get)(const SamplerSettings&) = nullptr;
    void (*set)(SamplerSettings&, double) = nullptr;

    double standard() const { return get(SamplerSettings{}); }
};

// One step of the chain. `recent`: the tokens before the position to be chosen, oldest first.
struct Sampler {
    std::string_view name;
    void (*apply)(std::vector<Candidate>& candidates, const SamplerSettings& settings,
                  std::span<const std::int32_t> recent) = nullptr;
    std::span<const SamplerParameter> parameters;
};

// In the order of application: repetition, top-k, top-p, min-p, temperature (the oracle's "chain").
// Repetition receives the whole vocabulary, candidate i being token i; every later step receives
// the candidates largest first and keeps that order.
std::span<const Sampler> samplerTable();

// Brings every number into its range; what is not a number becomes the default. For settings files.
SamplerSettings clamped(SamplerSettings settings);

// How many of the largest logits decide the choice alone; 0: the whole row does.
int decidingLogits(const SamplerSettings& settings);

// The surviving candidates of one row with their probabilities, largest first. `recent`: the tokens
// before this position.
std::vector<Candidate> survivors(std::span<const float> logits, const SamplerSettings& settings,
                                 std::span<const std::int32_t> recent);

// True if the choice is the largest logit itself, so that nobody needs the whole row.
bool isPlainArgmax(const SamplerSettings& settings);

// The token for `position` (its index in the whole sequence).
std::int32_t sampleToken(std::span<const float> logits, const SamplerSettings& settings,
                         std::span<const std::int32_t> recent, std::uint64_t seed,
                         std::int64_t position);

// The same token from the decidingLogits() largest logits alone, largest first, the lower id first
// among equals.
std::int32_t sampleFromLargest(std::span<const float> logits, std::span<const std::int32_t> ids,
                               const SamplerSettings& settings, std::uint64_t seed,
                               std::int64_t position);

// The noise of one token at one position: a standard Gumbel value, a pure function of its
// arguments.
double gumbelNoise(std::uint64_t seed, std::int64_t position, std::int32_t id);

// The steps, one file each in samplers/.
namespace samplers {
void repetition(std::vector<Candidate>&, const SamplerSettings&,
                std::span<const std::int32_t> recent);
void topK(std::vector<Candidate>&, const SamplerSettings&, std::span<const std::int32_t> recent);
void topP(std::vector<Candidate>&, const SamplerSettings&, std::span<const std::int32_t> recent);
void minP(std::vector<Candidate>&, const SamplerSettings&, std::span<const std::int32_t> recent);
void temperature(std::vector<Candidate>&, const SamplerSettings&,
                 std::span<const std::int32_t> recent);
} // namespace samplers

} // namespace engine

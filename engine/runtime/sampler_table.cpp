#include "engine/runtime/sampler_table.h"

#include "engine/base/check.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace engine {

namespace {

// A control's view of one member of the settings.
template<auto Member> double getMember(const SamplerSettings& settings) {
    return double(settings.*Member);
}

template<auto Member> void setMember(SamplerSettings& settings, double value) {
    auto& member = settings.*Member;
    member = std::remove_reference_t<decltype(member)>(value);
}

template<auto Member>
constexpr SamplerParameter parameter(std::string_view key, std::string_view name, double least,
                                     double most, double step, bool whole, double off) {
    return {key, name, least, most, step, whole, off, &getMember<Member>, &setMember<Member>};
}

constexpr SamplerParameter kRepetition[] = {
    parameter<&SamplerSettings::repetition>("repetition", "Repetition penalty", 1.0, 2.0, 0.01,
                                            false, 1.0),
    parameter<&SamplerSettings::repetitionWindow>(
        "repetition_window", "Repetition window, in tokens", 0, 4096, 1, true, 0),
};
constexpr SamplerParameter kTopK[] = {
    parameter<&SamplerSettings::topK>("top_k", "Top-k", 0, 1000, 1, true, 0),
};
constexpr SamplerParameter kTopP[] = {
    parameter<&SamplerSettings::topP>("top_p", "Top-p", 0.01, 1.0, 0.01, false, 1.0),
};
constexpr SamplerParameter kMinP[] = {
    parameter<&SamplerSettings::minP>("min_p", "Min-p", 0.0, 1.0, 0.01, false, 0.0),
};
constexpr SamplerParameter kTemperature[] = {
    parameter<&SamplerSettings::temperature>("temperature", "Temperature", 0.0, 2.0, 0.05, false,
                                             1.0),
};

constexpr Sampler kTable[] = {
    {"repetition", samplers::repetition, kRepetition},
    {"top_k", samplers::topK, kTopK},
    {"top_p", samplers::topP, kTopP},
    {"min_p", samplers::minP, kMinP},
    {"temperature", samplers::temperature, kTemperature},
};

// The finalizer of splitmix64: every bit of the input moves about half of the output's bits.
constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// Runs the chain over the candidates and gives what is left its probabilities.
std::vector<Candidate> narrowed(std::vector<Candidate> candidates, const SamplerSettings& settings,
                                std::span<const std::int32_t> recent) {
    for (const Sampler& sampler : kTable) sampler.apply(candidates, settings, recent);
    if (candidates.empty()) return candidates;
    double total = 0;
    const double top = candidates.front().logit;
    for (const Candidate& candidate : candidates) total += std::exp(candidate.logit - top);
    for (Candidate& candidate : candidates) {
        candidate.probability = float(std::exp(candidate.logit - top) / total);
    }
    return candidates;
}

// Gumbel-max: the largest of logit + noise has exactly the softmax's distribution.
std::int32_t draw(const std::vector<Candidate>& left, std::uint64_t seed, std::int64_t position) {
    if (left.size() == 1) return left.front().id;
    double best = 0;
    std::int32_t chosen = -1;
    for (const Candidate& candidate : left) {
        const double score = double(candidate.logit) + gumbelNoise(seed, position, candidate.id);
        if (chosen < 0 || score > best) {
            best = score;
            chosen = candidate.id;
        }
    }
    return chosen;
}

} // namespace

std::span<const Sampler> samplerTable() {
    return kTable;
}

SamplerSettings clamped(SamplerSettings settings) {
    for (const Sampler& sampler : kTable) {
        for (const SamplerParameter& p : sampler.parameters) {
            const double value = p.get(settings);
            p.set(settings,
                  std::isfinite(value) ? std::clamp(value, p.least, p.most) : p.standard());
        }
    }
    return settings;
}

bool isPlainArgmax(const SamplerSettings& settings) {
    return settings.temperature <= 0.0f &&
           (settings.repetition == 1.0f || settings.repetitionWindow <= 0);
}

std::vector<Candidate> survivors(std::span<const float> logits, const SamplerSettings& settings,
                                 std::span<const std::int32_t> recent) {
    std::vector<Candidate> candidates(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        // What is not a number (a damaged model) would break the order that sorting relies on.
        const float logit =
            std::isnan(logits[i]) ? -std::numeric_limits<float>::infinity() : logits[i];
        candidates[i] = {std::int32_t(i), logit, 0};
    }
    return narrowed(std::move(candidates), settings, recent);
}

int decidingLogits(const SamplerSettings& settings) {
    const bool repetition = settings.repetition != 1.0f && settings.repetitionWindow > 0;
    if (repetition) return 0;
    return settings.temperature <= 0.0f ? 1 : settings.topK;
}

double gumbelNoise(std::uint64_t seed, std::int64_t position, std::int32_t id) {
    // Seed, position and token go through the mixer one after the other, each added to what the
    // earlier ones became, so that neighbouring positions and tokens share nothing. The constant is
    // 2^64 / golden ratio, splitmix64's own step.
    constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15u;
    std::uint64_t state = mix(seed + kStep);
    state = mix(state + std::uint64_t(position) * kStep + 1);
    state = mix(state + std::uint64_t(std::uint32_t(id)) * kStep + 1);
    // 53 bits and a half: strictly between 0 and 1, so both logarithms are finite.
    const double uniform = (double(state >> 11) + 0.5) * 0x1p-53;
    return -std::log(-std::log(uniform));
}

std::int32_t sampleToken(std::span<const float> logits, const SamplerSettings& settings,
                         std::span<const std::int32_t> recent, std::uint64_t seed,
                         std::int64_t position) {
    CHECK(!logits.empty());
    if (isPlainArgmax(settings)) {
        return std::int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
    }
    return draw(survivors(logits, settings, recent), seed, position);
}

std::int32_t sampleFromLargest(std::span<const float> logits, std::span<const std::int32_t> ids,
                               const SamplerSettings& settings, std::uint64_t seed,
                               std::int64_t position) {
    CHECK(!logits.empty() && logits.size() == ids.size());
    if (isPlainArgmax(settings)) return ids.front();
    std::vector<Candidate> candidates(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) candidates[i] = {ids[i], logits[i], 0};
    return draw(narrowed(std::move(candidates), settings, {}), seed, position);
}

} // namespace engine

#pragma once
// What lives where, from free memory and conversation length, made before anything is allocated.

#include "engine/base/result.h"
#include "engine/model/spec.h"
#include "engine/runtime/kv_cache.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace engine {

struct MemoryByPart { // bytes
    std::int64_t model = 0;
    std::int64_t vision = 0;       // weights and working memory of the vision part
    std::int64_t draft = 0;        // weights and cache of the drafter
    std::int64_t conversation = 0; // the target's keys and values
    std::int64_t working = 0;
    std::int64_t total() const { return model + vision + draft + conversation + working; }
};

// What is known of the files before loading.
struct PlacementInput {
    TextSpec text;
    std::optional<VisionSpec> vision;
    std::optional<DraftSpec> draft;
    std::int64_t modelBytes = 0;
    std::int64_t visionBytes = 0;
    std::int64_t draftBytes = 0;
    std::int64_t freeBytes = 0;
    std::int64_t totalBytes = 0;
    KvType kvType = KvType::F16;
    int prefillChunk = 512;
};

struct PlacementPlan {
    bool fits = false;
    std::int64_t contextTokens = 0;
    bool useVision = false;
    bool useDraft = false;
    MemoryByPart memory;
    std::int64_t freeBytes = 0;
    std::int64_t totalBytes = 0;
};

// The cost of exactly this choice; `fits` says whether it does.
PlacementPlan planFor(const PlacementInput& input, std::int64_t contextTokens, bool vision, bool draft);
// The choices to offer, best first: all parts with the longest context that fits, then with less.
std::vector<PlacementPlan> planAll(const PlacementInput& input);

} // namespace engine

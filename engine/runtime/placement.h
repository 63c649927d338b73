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
    std::int64_t vision = 0;       // weights of the vision part, and the rows of pictures seen
    std::int64_t draft = 0;        // weights and cache of the drafter
    std::int64_t conversation = 0; // the target's keys and values
    std::int64_t working = 0;      // of all parts, which use the same memory by turns
    std::int64_t total() const { return model + vision + draft + conversation + working; }
};

// What is known of the files before loading.
struct PlacementInput {
    TextSpec text;
    std::optional<VisionSpec> vision;
    std::optional<DraftSpec> draft;
    std::int64_t modelBytes = 0; // of the files
    std::int64_t visionBytes = 0;
    std::int64_t draftBytes = 0;
    std::int64_t freeBytes = 0; // 0: unknown, then everything fits
    std::int64_t totalBytes = 0;
    KvType kvType = KvType::F16;
    int prefillChunk = 256;
};

struct PlacementPlan {
    bool fits = false;
    std::int64_t contextTokens = 0;
    bool useVision = false;
    bool useDraft = false;
    MemoryByPart memory;
    // Contained in `memory`, taken only while used: places to return to (in conversation), and the
    // rows of pictures seen (in vision).
    std::int64_t placeBytes = 0;
    std::int64_t pictureBytes = 0;
    std::int64_t freeBytes = 0;
    std::int64_t totalBytes = 0;
};

// Contexts are a multiple of this, and no shorter.
inline constexpr std::int64_t kContextStep = 256;

// Shapes of the two caches, for planning and for making them.
KvShape targetKvShape(const TextSpec& spec, std::int64_t contextTokens, int prefillChunk,
                      KvType type);

// Memory beside weights and caches. These follow the buffers of the models and round up, so that
// what is taken never exceeds the plan.
struct WorkingBytes {
    std::int64_t shared = 0; // hidden rows, feed-forward rows, logits
    std::int64_t own = 0;    // their 8-bit forms
};
WorkingBytes textWorkingBytes(const TextSpec& spec, int prefillChunk);
WorkingBytes draftWorkingBytes(const DraftSpec& spec, const TextSpec& text, int prefillChunk);
WorkingBytes visionWorkingBytes(const VisionSpec& spec);

// The cost of exactly this choice; `fits` says whether it does. contextTokens 0: the longest
// context that leaves half of the memory beside it free, at most the model's limit.
PlacementPlan planFor(const PlacementInput& input, std::int64_t contextTokens, bool useVision,
                      bool useDraft);
// The choices to offer, best first: all parts with the longest context that fits, then with less.
// Never empty: if nothing fits, the smallest choice with fits = false.
std::vector<PlacementPlan> planAll(const PlacementInput& input);

} // namespace engine

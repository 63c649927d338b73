#include "engine/runtime/placement.h"

#include "engine/model/draft_model.h"
#include "engine/model/text_model.h"
#include "engine/runtime/draft_cycle.h"

#include <algorithm>

namespace engine {

namespace {

constexpr std::int64_t kMiB = 1024 * 1024;
// Three places to return to: the turn before, the turn's beginning, the prompt's end.
constexpr std::int64_t kPlaces = 3;
// About ten usual pictures; more are not kept.
constexpr std::int64_t kPictureBytes = 256 * kMiB;
// The tokenizer, logits on the host, metadata, the program itself.
constexpr std::int64_t kProgramBytes = 96 * kMiB;

int passRows(int prefillChunk) {
    return std::max(prefillChunk, DraftCycle::kMaxRows);
}

// F32 rows and their 8-bit form in groups of 64 with scale and sums, about 1.5 bytes a value.
std::int64_t activationBytes(std::int64_t rows, std::int64_t columns) {
    return rows * columns * 11 / 2;
}

std::int64_t ringBytes(const KvShape& shape) {
    std::int64_t layers = 0;
    for (const bool sliding : shape.sliding) layers += sliding;
    return layers * std::min<std::int64_t>(shape.window, shape.ringRows()) * shape.rowBytes();
}

} // namespace

KvShape targetKvShape(const TextSpec& spec, std::int64_t contextTokens, int prefillChunk,
                      KvType type) {
    KvShape shape;
    shape.kvHeads = spec.kvHeads;
    shape.headSize = spec.headSize;
    shape.sliding = spec.sliding;
    shape.window = spec.slidingWindow;
    shape.context = contextTokens;
    shape.maxBatch = passRows(prefillChunk);
    shape.type = type;
    return shape;
}

WorkingBytes textWorkingBytes(const TextSpec& spec, int prefillChunk) {
    const std::int64_t rows = passRows(prefillChunk);
    const std::int64_t attention = std::int64_t(spec.heads) * spec.headSize;
    const std::int64_t keyValue = std::int64_t(spec.kvHeads) * spec.headSize;
    const std::int64_t half =
        std::max(3 * attention + 2 * keyValue, 2 * std::int64_t(spec.ffnWidth));
    const std::int64_t widest =
        std::max({std::int64_t(spec.width), attention, std::int64_t(spec.ffnWidth)});
    const std::int64_t values = rows * (2 * std::int64_t(spec.width) + half + 2) +
                                TextModel::kMaxLogitRows * (spec.vocabulary + spec.width);
    return {values * 4 + kMiB,
            activationBytes(std::max<std::int64_t>(rows, TextModel::kMaxLogitRows), widest)};
}

WorkingBytes draftWorkingBytes(const DraftSpec& spec, const TextSpec& text, int prefillChunk) {
    const std::int64_t rows = DraftCycle::contextRows(prefillChunk) + DraftCycle::kMaxRows;
    const std::int64_t block = std::max(spec.blockSize, 64);
    const std::int64_t attention = std::int64_t(spec.heads) * spec.headSize;
    const std::int64_t taps = std::int64_t(spec.taps.size()) * text.width;
    const std::int64_t values =
        rows * (taps + spec.width) +
        block * (3 * std::int64_t(spec.width) + 3 * attention + 2 * std::int64_t(spec.ffnWidth));
    return {values * 4 + kMiB,
            activationBytes(block, std::max({taps, attention, std::int64_t(spec.ffnWidth)}))};
}

WorkingBytes visionWorkingBytes(const VisionSpec& spec) {
    const std::int64_t cells = spec.maxCells;
    const std::int64_t perCell = std::int64_t(spec.mergeSize) * spec.mergeSize;
    const std::int64_t pixels = 3 * std::int64_t(spec.patchSize) * spec.patchSize;
    const std::int64_t merged = perCell * spec.width;
    // The projector's inner width is not in the metadata; the release has 4096 for a width of 1536.
    const std::int64_t inner = std::max<std::int64_t>(merged, spec.projectionWidth);
    const std::int64_t chunk = std::min<std::int64_t>(2048, cells * perCell);
    // What a chunk and the result need takes the place of queries, keys and values.
    const std::int64_t byTurns = std::max({3 * cells * perCell * std::int64_t(spec.width),
                                           chunk * std::max(pixels, std::int64_t(spec.ffnWidth)),
                                           cells * spec.projectionWidth + chunk / 4 * 3 * inner});
    const std::int64_t values =
        cells * perCell * (std::int64_t(spec.width) + 3) + chunk * spec.width + byTurns;
    return {values * 4 + kMiB,
            activationBytes(chunk, std::max({pixels, std::int64_t(spec.ffnWidth), inner}))};
}

PlacementPlan planFor(const PlacementInput& input, std::int64_t contextTokens, bool useVision,
                      bool useDraft) {
    PlacementPlan plan;
    plan.useVision = useVision && input.vision.has_value();
    plan.useDraft = useDraft && input.draft.has_value();
    plan.freeBytes = input.freeBytes;
    plan.totalBytes = input.totalBytes;
    plan.memory.model = input.modelBytes;
    const WorkingBytes text = textWorkingBytes(input.text, input.prefillChunk);
    WorkingBytes draft, vision;
    if (plan.useDraft) draft = draftWorkingBytes(*input.draft, input.text, input.prefillChunk);
    if (plan.useVision) vision = visionWorkingBytes(*input.vision);
    plan.memory.working =
        std::max(text.shared + draft.shared, vision.shared) + text.own + kProgramBytes;

    const auto fill = [&](std::int64_t context) {
        const KvShape target = targetKvShape(input.text, context, input.prefillChunk, input.kvType);
        std::int64_t place = ringBytes(target);
        if (plan.useDraft) {
            const KvShape shape = DraftModel::kvShape(
                *input.draft, context, DraftCycle::contextRows(input.prefillChunk), input.kvType);
            plan.memory.draft = input.draftBytes + shape.totalBytes() + draft.own;
            place += ringBytes(shape);
        }
        if (plan.useVision) {
            // The pictures of a full conversation, or the largest one.
            const std::int64_t row = std::int64_t(input.vision->projectionWidth) * 4;
            plan.pictureBytes =
                std::max(std::min(kPictureBytes, context * row), input.vision->maxCells * row);
            plan.memory.vision = input.visionBytes + vision.own + plan.pictureBytes;
        }
        plan.placeBytes = kPlaces * place;
        plan.memory.conversation = target.totalBytes() + plan.placeBytes;
        plan.contextTokens = context;
        plan.fits = input.freeBytes <= 0 || plan.memory.total() <= input.freeBytes;
    };

    const std::int64_t limit = std::max<std::int64_t>(input.text.contextLimit, 1);
    if (contextTokens > 0) {
        fill(contextTokens);
        return plan;
    }
    const std::int64_t least = std::min(limit, kContextStep);
    fill(least);
    const std::int64_t left = input.freeBytes - plan.memory.total();
    const std::int64_t longest = std::max(least, limit / kContextStep * kContextStep);
    if (input.freeBytes <= 0) {
        fill(longest);
        return plan;
    }
    if (left <= 0) return plan;
    // Total bytes grow with the context, so the longest that takes at most half of what is left is
    // found by halving.
    const std::int64_t base = plan.memory.total();
    std::int64_t low = 1;
    std::int64_t high = longest / kContextStep;
    while (low < high) {
        const std::int64_t middle = (low + high + 1) / 2;
        fill(middle * kContextStep);
        if (plan.memory.total() - base <= left / 2) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    fill(std::min(std::max(low * kContextStep, least), std::max(longest, least)));
    return plan;
}

std::vector<PlacementPlan> planAll(const PlacementInput& input) {
    struct Parts {
        bool vision;
        bool draft;
    };
    // Pictures are a thing one can do or not; drafting only makes writing faster.
    static constexpr Parts kParts[] = {{true, true}, {true, false}, {false, true}, {false, false}};
    std::vector<PlacementPlan> plans;
    for (const Parts parts : kParts) {
        if ((parts.vision && !input.vision) || (parts.draft && !input.draft)) continue;
        PlacementPlan plan = planFor(input, 0, parts.vision, parts.draft);
        if (plan.fits) plans.push_back(plan);
    }
    if (plans.empty()) plans.push_back(planFor(input, 0, false, false));
    return plans;
}

} // namespace engine

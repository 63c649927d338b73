#pragma once
// The vision tower and its projector (fact page §1.4, oracle's README "Vision"): patches in, one embedding
// row per 28-pixel cell out, already passed through the weightless norm that the text model expects.
//
// Engine thread. Working memory is taken for the largest picture allowed and reserved at load.

#include "engine/backend/backend.h"
#include "engine/model/image_patches.h"
#include "engine/model/spec.h"

#include <memory>
#include <stop_token>
#include <vector>

namespace engine {

struct VisionWeights; // weights.h

class VisionModel {
public:
    // maxCells: largest picture in cells that encode will be given; its working memory is taken now.
    static Result<std::unique_ptr<VisionModel>> make(Backend& backend, VisionSpec spec,
                                                     std::shared_ptr<const VisionWeights> weights,
                                                     float textEps, int maxCells);
    ~VisionModel();
    const VisionSpec& spec() const;
    std::int64_t workingBytes() const;

    // The embedding rows of one prepared picture, F32 [cells, projectionWidth], valid until the next call.
    // Cancelled if stop is requested, checked before each layer.
    Result<Tensor> encode(const PatchedImage& image, std::stop_token stop);

    // For comparison with the oracle: called with the name of each stage and its rows, in the tower's own
    // row order (windows first; PatchedImage::windowIndex gives raster order).
    using Trace = std::function<void(std::string_view stage, Tensor rows)>;
    Result<Tensor> encode(const PatchedImage& image, std::stop_token stop, const Trace& trace);
    Tensor projected() const; // mm.2's output, before the norm

private:
    VisionModel();
    struct State;
    std::unique_ptr<State> m;
};

} // namespace engine

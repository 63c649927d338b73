#pragma once
// The vision tower and its projector (tests/fixtures/oracle/README.md, "Vision"): patches in, one
// embedding row per 28-pixel cell out, already passed through the weightless norm that the text
// model expects.
//
// Engine thread. Working memory is for the largest picture allowed and reserved at load.

#include "engine/backend/backend.h"
#include "engine/model/image_patches.h"
#include "engine/model/spec.h"

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

namespace engine {

class SharedMemory;   // buffer_layout.h
struct VisionWeights; // weights.h

class VisionModel {
public:
    // maxCells: largest picture in cells that encode will be given. shared: where the working
    // tensors lie, from its allocation on; null: in own memory.
    static Result<std::unique_ptr<VisionModel>> make(Backend& backend, VisionSpec spec,
                                                     std::shared_ptr<const VisionWeights> weights,
                                                     float textEps, int maxCells,
                                                     SharedMemory* shared = nullptr);
    ~VisionModel();
    const VisionSpec& spec() const;

    // The embedding rows of one prepared picture, F32 [cells, projectionWidth], valid until the
    // next call and until another user of shared memory works. Cancelled if stop is requested,
    // checked before each layer.
    Result<Tensor> encode(const PatchedImage& image, std::stop_token stop);

    // For comparison with the oracle: called with the name of each stage and its rows. A stage may
    // come in several parts, in row order. Rows of patches (pos, embed, ln_pre, block.0 ..,
    // ln_post) are in the tower's own order, see windowOrder; rows of cells (shuffled, projected)
    // in raster order.
    using Trace = std::function<void(std::string_view stage, Tensor rows)>;
    Result<Tensor> encode(const PatchedImage& image, std::stop_token stop, const Trace& trace);

    // The tower's row order for a grid of patches: attention windows in raster order, and the
    // patches of a window in raster order. Entry i is the raster index of row i.
    static std::vector<std::int32_t> windowOrder(int gridRows, int gridColumns, int windowSide);

private:
    VisionModel();
    struct State;
    std::unique_ptr<State> m;
};

} // namespace engine

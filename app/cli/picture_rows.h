#pragma once
// Pictures of the command line as the rows that take the place of their tokens.

#include "engine/backend/backend.h"
#include "engine/model/image.h"

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace app {

struct PictureRows {
    std::int64_t rows = 0;
    std::int64_t columns = 0; // the target's width
    std::vector<float> values;
};

// Encodes pictures with one projector, which is loaded for that and let go. Working memory is that
// of the largest picture. textEps: of the target's norms.
engine::Result<std::vector<PictureRows>>
encodePictures(engine::Backend& backend, const std::filesystem::path& projector,
               std::span<const std::shared_ptr<const engine::RgbImage>> pictures, float textEps);

} // namespace app

#include "app/cli/picture_rows.h"

#include "app/cli/model_run.h"
#include "engine/model/image_patches.h"

#include <algorithm>

namespace app {

using engine::Result;

Result<std::vector<PictureRows>>
encodePictures(engine::Backend& backend, const std::filesystem::path& projector,
               std::span<const std::shared_ptr<const engine::RgbImage>> pictures, float textEps) {
    const auto header = engine::GgufFile::openHeader(projector);
    if (!header) return header.error();
    const auto spec = engine::VisionSpec::read(*header);
    if (!spec) return spec.error();
    std::int64_t largest = 1;
    for (const auto& picture : pictures)
        largest = std::max(largest, engine::imageTokens({picture->width, picture->height}, *spec));
    auto run = VisionRun::open(backend, projector, textEps, static_cast<int>(largest));
    if (!run) return run.error();

    std::vector<PictureRows> all;
    for (const auto& picture : pictures) {
        const engine::PixelSize size =
            engine::gridSize({picture->width, picture->height}, spec->cellPixels(), spec->maxCells);
        const engine::PatchedImage patched =
            engine::cutPatches(engine::resampleLanczos(*picture, size), *spec);
        const auto rows = (*run)->model().encode(patched, {});
        if (!rows) return rows.error();
        all.push_back({rows->rows, rows->columns, hostRows(backend, *rows)});
    }
    return all;
}

} // namespace app

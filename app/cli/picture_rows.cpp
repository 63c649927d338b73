#include "app/cli/picture_rows.h"

#include "app/cli/options.h"

#include <algorithm>

namespace app {

using engine::Result;

Result<std::unique_ptr<PictureRows>> PictureRows::open(engine::Backend& backend,
                                                       const std::filesystem::path& projector,
                                                       const std::vector<std::filesystem::path>& pictures,
                                                       float textEps, bool dropAlpha) {
    auto file = engine::GgufFile::open(projector);
    if (!file) return file.error();
    auto spec = engine::VisionSpec::read(*file);
    if (!spec) return spec.error();
    std::unique_ptr<PictureRows> rows(new PictureRows(backend));
    std::int64_t largest = 1;
    for (const std::filesystem::path& path : pictures) {
        auto image = engine::readImage(path, dropAlpha ? engine::AlphaRule::Drop
                                                       : engine::AlphaRule::LayOverWhite);
        if (!image) return engine::withContext(image.error(), utf8FromPath(path));
        const engine::PixelSize size =
            engine::gridSize({image->width, image->height}, spec->cellPixels(), spec->maxCells);
        rows->m_patched.push_back(engine::cutPatches(engine::resampleLanczos(*image, size), *spec));
        const engine::PatchedImage& patched = rows->m_patched.back();
        largest = std::max(largest, std::int64_t(patched.gridRows) * patched.gridColumns /
                                        (spec->mergeSize * spec->mergeSize));
    }
    auto run = VisionRun::open(backend, projector, textEps, static_cast<int>(largest));
    if (!run) return run.error();
    rows->m_run = std::move(*run);
    return rows;
}

std::int64_t PictureRows::tokens(std::size_t index) const {
    const engine::PatchedImage& patched = m_patched[index];
    return std::int64_t(patched.gridRows) * patched.gridColumns / (spec().mergeSize * spec().mergeSize);
}

Result<std::vector<float>> PictureRows::encode(std::size_t index) {
    auto rows = m_run->model().encode(m_patched[index], {});
    if (!rows) return rows.error();
    return hostRows(m_backend, *rows);
}

} // namespace app

#pragma once
// From a decoded picture to the patches that the vision tower reads: the choice of grid, Lanczos
// resampling to exactly that size, normalised patches. Formulas: oracle's README "Vision" 2-4.

#include "engine/model/image.h"
#include "engine/model/spec.h"

#include <cstdint>
#include <vector>

namespace engine {

struct PixelSize {
    int width = 0;
    int height = 0;
    bool operator==(const PixelSize&) const = default;
};

// The size to which a picture is resampled: a multiple of the cell in both directions, at most
// maxCells cells. On a tie the larger one.
PixelSize gridSize(PixelSize picture, int cellPixels, int maxCells);

// Tokens that a picture takes: cells of its grid.
std::int64_t imageTokens(PixelSize picture, const VisionSpec& spec);

// Pillow's LANCZOS: a = 3, support scaled when shrinking, horizontal then vertical pass, each
// rounded to 8 bits.
RgbImage resampleLanczos(const RgbImage& image, PixelSize size);

struct PatchedImage {
    int gridRows = 0; // in patches
    int gridColumns = 0;
    std::vector<float>
        patches; // [gridRows * gridColumns][3 * patchSize^2], raster order, vector order c, y, x
};

PatchedImage cutPatches(const RgbImage& resampled, const VisionSpec& spec);

} // namespace engine

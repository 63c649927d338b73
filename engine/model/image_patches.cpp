#include "engine/model/image_patches.h"

#include "engine/base/check.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace engine {

namespace {

// ---- Lanczos, bit for bit as Pillow computes it: coefficients in double, normalised, then fixed
// point with 22 bits; sums in 32 bits, rounded and clipped to 8 bits after each pass.

constexpr int kFractionBits = 32 - 8 - 2;
constexpr double kLobes = 3.0;

double sinc(double x) {
    if (x == 0.0) return 1.0;
    x *= std::numbers::pi;
    return std::sin(x) / x;
}

double lanczos(double x) {
    return x >= -kLobes && x < kLobes ? sinc(x) * sinc(x / kLobes) : 0.0;
}

struct Kernel {    // of one output position
    int first = 0; // input position
    std::vector<std::int32_t> weights;
};

std::vector<Kernel> kernels(int inSize, int outSize) {
    const double scale = static_cast<double>(inSize) / outSize;
    const double filterScale = std::max(scale, 1.0);
    const double support = kLobes * filterScale;
    std::vector<Kernel> all(static_cast<std::size_t>(outSize));
    std::vector<double> weights;
    for (int out = 0; out < outSize; ++out) {
        const double center = (out + 0.5) * scale;
        const double inverse = 1.0 / filterScale;
        const int first = std::max(static_cast<int>(center - support + 0.5), 0);
        const int end = std::min(static_cast<int>(center + support + 0.5), inSize);
        weights.clear();
        double sum = 0.0;
        for (int i = first; i < end; ++i) {
            weights.push_back(lanczos((i - center + 0.5) * inverse));
            sum += weights.back();
        }
        Kernel& kernel = all[out];
        kernel.first = first;
        for (double weight : weights) {
            if (sum != 0.0) weight /= sum;
            const double scaled = weight * (1 << kFractionBits);
            kernel.weights.push_back(
                static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
        }
    }
    return all;
}

std::uint8_t clip8(std::int32_t sum) {
    return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);

RgbImage resampleRows(const RgbImage& image, int width) {
    RgbImage out{width, image.height, {}};
    out.pixels.resize(static_cast<std::size_t>(width) * image.height * 3);
    const std::vector<Kernel> columns = kernels(image.width, width);
    for (int y = 0; y < image.height; ++y) {
        const std::uint8_t* row = &image.pixels[static_cast<std::size_t>(y) * image.width * 3];
        std::uint8_t* to = &out.pixels[static_cast<std::size_t>(y) * width * 3];
        for (const Kernel& kernel : columns) {
            std::int32_t sums[3] = {kHalf, kHalf, kHalf};
            const std::uint8_t* from = row + static_cast<std::size_t>(kernel.first) * 3;
            for (const std::int32_t weight : kernel.weights) {
                for (int c = 0; c < 3; ++c) sums[c] += from[c] * weight;
                from += 3;
            }
            for (const std::int32_t sum : sums) *to++ = clip8(sum);
        }
    }
    return out;
}

RgbImage resampleColumns(const RgbImage& image, int height) {
    RgbImage out{image.width, height, {}};
    const std::size_t rowBytes = static_cast<std::size_t>(image.width) * 3;
    out.pixels.resize(rowBytes * height);
    std::vector<std::int32_t> sums(rowBytes);
    const std::vector<Kernel> rows = kernels(image.height, height);
    for (int y = 0; y < height; ++y) {
        std::fill(sums.begin(), sums.end(), kHalf);
        const std::uint8_t* from = &image.pixels[rows[y].first * rowBytes];
        for (const std::int32_t weight : rows[y].weights) {
            for (std::size_t i = 0; i < rowBytes; ++i) sums[i] += from[i] * weight;
            from += rowBytes;
        }
        std::uint8_t* to = &out.pixels[y * rowBytes];
        for (std::size_t i = 0; i < rowBytes; ++i) to[i] = clip8(sums[i]);
    }
    return out;
}

} // namespace

PixelSize gridSize(PixelSize picture, int cellPixels, int maxCells) {
    CHECK(picture.width > 0 && picture.height > 0 && cellPixels > 0 && maxCells > 0);
    double rows = static_cast<double>(picture.height) / cellPixels;
    double columns = static_cast<double>(picture.width) / cellPixels;
    const double ratio = columns / rows;
    if (rows * columns > maxCells) {
        rows = std::sqrt(maxCells / ratio);
        columns = rows * ratio;
    }
    const double wanted = static_cast<double>(picture.height) / picture.width;
    double best = 0;
    int bestRows = 0;
    int bestColumns = 0;
    for (const double r : {std::floor(rows), std::ceil(rows)}) {
        for (const double c : {std::floor(columns), std::ceil(columns)}) {
            if (r < 1 || c < 1 || r * c > maxCells) continue;
            const double distance = std::abs(r / c - wanted);
            const bool larger = r * c > static_cast<double>(bestRows) * bestColumns;
            if (bestRows == 0 || distance < best || (distance == best && larger)) {
                best = distance;
                bestRows = static_cast<int>(r);
                bestColumns = static_cast<int>(c);
            }
        }
    }
    if (bestRows == 0) {
        // A strip so narrow that one cell across is already too wide for its ratio. The reference
        // lets its other side grow beyond the limit; here the limit holds, because memory was
        // reserved for it.
        bestRows =
            static_cast<int>(std::clamp(std::nearbyint(rows), 1.0, static_cast<double>(maxCells)));
        bestColumns = static_cast<int>(
            std::clamp(std::nearbyint(columns), 1.0, static_cast<double>(maxCells / bestRows)));
    }
    return {bestColumns * cellPixels, bestRows * cellPixels};
}

std::int64_t imageTokens(PixelSize picture, const VisionSpec& spec) {
    const PixelSize grid = gridSize(picture, spec.cellPixels(), spec.maxCells);
    return static_cast<std::int64_t>(grid.width / spec.cellPixels()) *
           (grid.height / spec.cellPixels());
}

RgbImage resampleLanczos(const RgbImage& image, PixelSize size) {
    CHECK(image.width > 0 && image.height > 0 && size.width > 0 && size.height > 0);
    if (size.width == image.width && size.height == image.height) return image;
    if (size.width == image.width) return resampleColumns(image, size.height);
    RgbImage rows = resampleRows(image, size.width);
    return size.height == image.height ? rows : resampleColumns(rows, size.height);
}

PatchedImage cutPatches(const RgbImage& resampled, const VisionSpec& spec) {
    const int side = spec.patchSize;
    CHECK(side > 0 && resampled.width % side == 0 && resampled.height % side == 0);
    float values[3][256]; // of a channel's 8 bits
    for (int c = 0; c < 3; ++c) {
        for (int v = 0; v < 256; ++v) {
            values[c][v] = (static_cast<float>(v) / 255.0f - spec.mean[c]) / spec.stddev[c];
        }
    }
    PatchedImage patched;
    patched.gridRows = resampled.height / side;
    patched.gridColumns = resampled.width / side;
    patched.patches.resize(resampled.pixels.size());
    float* to = patched.patches.data();
    for (int row = 0; row < patched.gridRows; ++row) {
        for (int column = 0; column < patched.gridColumns; ++column) {
            for (int c = 0; c < 3; ++c) {
                for (int y = 0; y < side; ++y) {
                    const std::size_t line =
                        static_cast<std::size_t>(row * side + y) * resampled.width;
                    const std::uint8_t* from = &resampled.pixels[(line + column * side) * 3 + c];
                    for (int x = 0; x < side; ++x) *to++ = values[c][from[x * 3]];
                }
            }
        }
    }
    return patched;
}

} // namespace engine

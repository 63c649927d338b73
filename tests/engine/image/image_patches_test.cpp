#include "engine/model/image_patches.h"

#include "engine/gguf/gguf_file.h"
#include "tests/support/oracle_fixture.h"

#include <cmath>
#include <cstring>

using namespace engine;

namespace {

constexpr int kCell = 28;
constexpr int kMaxCells = 4096;

class PatchesOracle : public test::OracleTest {};
GLINT_BOTH_ORACLES(PatchesOracle);

VisionSpec vision() {
    VisionSpec spec;
    spec.patchSize = 14;
    spec.mergeSize = 2;
    for (int c = 0; c < 3; ++c) spec.mean[c] = spec.stddev[c] = 0.5f;
    return spec;
}

PixelSize grid(int height, int width) {
    return gridSize({width, height}, kCell, kMaxCells);
}

} // namespace

TEST_P(PatchesOracle, GridsAreThoseOfTheReference) {
    ASSERT_GT(cases["smart_resize"].size(), 100u);
    for (const auto& row : cases["smart_resize"]) {
        EXPECT_EQ(grid(row[0], row[1]), (PixelSize{row[3], row[2]})) << row;
    }
}

TEST_P(PatchesOracle, OnATieTheLargerGridIsTaken) {
    ASSERT_FALSE(cases["smart_resize_ties"].empty());
    for (const auto& row : cases["smart_resize_ties"]) {
        PixelSize larger;
        for (const auto& size : row[4]) {
            if (size[0].get<int>() * size[1].get<int>() > larger.height * larger.width) {
                larger = {size[1], size[0]};
            }
        }
        EXPECT_EQ(grid(row[0], row[1]), larger) << row;
    }
}

TEST_P(PatchesOracle, ResampledPicturesEqualPillowsBitForBit) {
    const auto golden = GgufFile::open(folder / "golden.gguf");
    ASSERT_TRUE(golden.ok()) << golden.error().message;
    ASSERT_EQ(cases["images"].size(), 7u);
    for (const auto& entry : cases["images"]) {
        const std::string name = entry["name"];
        const auto image = readImage(folder / entry["file"].get<std::string>(), AlphaRule::Drop);
        ASSERT_TRUE(image.ok()) << name << ": " << image.error().message;
        const PixelSize size = grid(image->height, image->width);
        ASSERT_EQ(size, (PixelSize{entry["resized"][1], entry["resized"][0]})) << name;
        EXPECT_EQ(imageTokens({image->width, image->height}, vision()), entry["tokens"].get<int>());
        const RgbImage resampled = resampleLanczos(*image, size);
        const GgufTensor* expected = golden->tensor("vision." + name + ".resized");
        ASSERT_NE(expected, nullptr);
        ASSERT_EQ(expected->bytes.size(), resampled.pixels.size());
        int differences = 0;
        for (std::size_t i = 0; i < resampled.pixels.size(); ++i) {
            const int value =
                static_cast<std::int8_t>(std::to_integer<std::uint8_t>(expected->bytes[i])) + 128;
            differences += value != resampled.pixels[i];
        }
        EXPECT_EQ(differences, 0) << name;

        const PatchedImage patched = cutPatches(resampled, vision());
        EXPECT_EQ(patched.gridRows, entry["grid"][0].get<int>());
        EXPECT_EQ(patched.gridColumns, entry["grid"][1].get<int>());
        const GgufTensor* patches = golden->tensor("vision." + name + ".patches");
        if (!patches) continue; // kept for some pictures only
        ASSERT_EQ(patches->bytes.size(), patched.patches.size() * sizeof(float));
        double largest = 0;
        for (std::size_t i = 0; i < patched.patches.size(); ++i) {
            float value = 0;
            std::memcpy(&value, &patches->bytes[i * sizeof value], sizeof value);
            largest = std::max(largest, std::abs(static_cast<double>(value) - patched.patches[i]));
        }
        EXPECT_LE(largest, 1e-6) << name; // rounding of one division in float
    }
}

TEST(ImagePatches, PublishedSizesComeOut) {
    // The screenshots, photos and pages whose sizes the resize rule is known for.
    EXPECT_EQ(grid(8000, 1440), (PixelSize{756, 4200}));
    EXPECT_EQ(grid(2160, 3840), (PixelSize{2380, 1344}));
    EXPECT_EQ(grid(8000, 390), (PixelSize{392, 8008}));
    EXPECT_EQ(grid(3024, 4032), (PixelSize{2044, 1540}));
    EXPECT_EQ(grid(3508, 2480), (PixelSize{1484, 2128}));
}

TEST(ImagePatches, NoShapeExceedsTheLimitOrVanishes) {
    for (const int a : {1, 2, 13, 27, 28, 29, 500, 4096, 65535, 1'000'000}) {
        for (const int b : {1, 3, 28, 57, 1000, 114'688, 1'000'000}) {
            const PixelSize size = grid(a, b);
            EXPECT_EQ(size.width % kCell, 0);
            EXPECT_EQ(size.height % kCell, 0);
            EXPECT_GE(size.width, kCell);
            EXPECT_GE(size.height, kCell);
            EXPECT_LE(std::int64_t{size.width / kCell} * (size.height / kCell), kMaxCells)
                << a << " x " << b;
        }
    }
}

TEST(ImagePatches, TheSameSizeIsLeftAlone) {
    RgbImage image{2, 1, {1, 2, 3, 4, 5, 6}};
    EXPECT_EQ(resampleLanczos(image, {2, 1}).pixels, image.pixels);
    // A flat picture stays flat at any size.
    RgbImage flat{5, 7, std::vector<std::uint8_t>(5 * 7 * 3, 77)};
    const RgbImage larger = resampleLanczos(flat, {28, 56});
    EXPECT_EQ(larger.pixels, std::vector<std::uint8_t>(28 * 56 * 3, 77));
}

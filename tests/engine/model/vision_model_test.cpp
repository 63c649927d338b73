#include "engine/model/vision_model.h"

#include "engine/model/weights.h"
#include "tests/engine/model/model_fixture.h"

#include <cmath>

using namespace engine;
using namespace test;

namespace {

std::unique_ptr<app::VisionRun> openTower(Backend& backend, int maxCells) {
    auto run =
        app::VisionRun::open(backend, oracleFolder("tiny-f32") / "mmproj.gguf", 1e-5f, maxCells);
    EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().message);
    return run ? std::move(*run) : nullptr;
}

PatchedImage picture(const VisionSpec& spec, int rows, int columns) {
    RgbImage image;
    image.width = columns * spec.patchSize;
    image.height = rows * spec.patchSize;
    for (int i = 0; i < image.width * image.height * 3; ++i)
        image.pixels.push_back(static_cast<std::uint8_t>((i * 31 + i / 977 * 7) % 256));
    return cutPatches(image, spec);
}

} // namespace

TEST(VisionModel, WindowOrderIsThatOfWindowsInRasterOrder) {
    // 3 x 5 patches, windows of 2: the right column and the lower row are smaller windows.
    EXPECT_EQ(VisionModel::windowOrder(3, 5, 2),
              (std::vector<std::int32_t>{0, 1, 5, 6, 2, 3, 7, 8, 4, 9, 10, 11, 12, 13, 14}));
    EXPECT_EQ(VisionModel::windowOrder(2, 3, 8), (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}));
}

TEST(VisionModel, RowsDoNotDependOnTheRoomForLargerPictures) {
    const auto backend = processor();
    const auto exact = openTower(*backend, 6), roomy = openTower(*backend, 100);
    const PatchedImage image = picture(exact->spec(), 4, 6);
    const auto rows = exact->model().encode(image, {});
    ASSERT_TRUE(rows.ok());
    EXPECT_EQ(rows->rows, 6);
    const std::vector<float> first = app::hostRows(*backend, *rows);
    const auto larger = roomy->model().encode(picture(roomy->spec(), 20, 20), {});
    ASSERT_TRUE(larger.ok());
    const auto again = roomy->model().encode(image, {}); // nothing of the larger one is left
    ASSERT_TRUE(again.ok());
    expectSameBits(first, app::hostRows(*backend, *again), "rows");
}

// 48 x 48 patches are more than one chunk of rows, and 576 cells more than one chunk of cells.
TEST(VisionModel, LargePictureEqualsOnOneAndTwoThreads) {
    const auto one = processor(CpuMath::Int8, 1), two = processor(CpuMath::Int8, 2);
    const auto first = openTower(*one, 576), second = openTower(*two, 576);
    const PatchedImage image = picture(first->spec(), 48, 48);
    const auto a = first->model().encode(image, {});
    const auto b = second->model().encode(image, {});
    ASSERT_TRUE(a.ok() && b.ok());
    expectSameBits(app::hostRows(*one, *a), app::hostRows(*two, *b), "rows");
}

// What the text model does to a token's embedding, done once to a picture's rows.
TEST(VisionModel, RowsAreTheProjectedOnesMadeUnitSize) {
    const auto backend = processor();
    const auto run = openTower(*backend, 576);
    std::vector<float> projected;
    const auto rows = run->model().encode(
        picture(run->spec(), 48, 48), {}, [&](std::string_view stage, Tensor part) {
            if (stage != "projected") return;
            const auto values = app::hostRows(*backend, part);
            projected.insert(projected.end(), values.begin(), values.end());
        });
    ASSERT_TRUE(rows.ok());
    const std::vector<float> values = app::hostRows(*backend, *rows);
    ASSERT_EQ(projected.size(), values.size());
    const auto width = static_cast<std::size_t>(rows->columns);
    for (std::size_t i = 0; i < values.size(); i += width) {
        double sum = 0;
        for (std::size_t c = 0; c < width; ++c) sum += double(projected[i + c]) * projected[i + c];
        const double size = std::sqrt(sum / double(width) + 1e-5);
        for (std::size_t c = 0; c < width; ++c)
            ASSERT_NEAR(values[i + c], projected[i + c] / size, 1e-5) << "row " << i / width;
    }
}

TEST(VisionModel, StopEndsWithinOneLayer) {
    const auto backend = processor();
    const auto run = openTower(*backend, 100);
    std::stop_source stop;
    int layers = 0;
    const auto rows = run->model().encode(picture(run->spec(), 20, 20), stop.get_token(),
                                          [&](std::string_view stage, Tensor) {
                                              if (!stage.starts_with("block.")) return;
                                              ++layers;
                                              stop.request_stop();
                                          });
    ASSERT_FALSE(rows.ok());
    EXPECT_EQ(rows.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(layers, 1);
}

// glint-cli embed-image: the rows that a picture puts in the place of its tokens.

#include "app/cli/commands.h"
#include "app/cli/float_file.h"
#include "app/cli/model_run.h"
#include "app/cli/picture_rows.h"
#include "engine/base/path_text.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace app {

using engine::Result;

namespace {

Result<int> run(const Options& options) {
    auto projector = options.path("--mmproj");
    if (!projector) return projector.error();
    auto path = options.path("--image");
    if (!path) return path.error();
    auto out = options.path("--out");
    if (!out) return out.error();
    auto image =
        engine::readImage(*path, options.has("--drop-alpha") ? engine::AlphaRule::Drop
                                                             : engine::AlphaRule::LayOverWhite);
    if (!image) return withContext(image.error(), engine::pathToUtf8(*path));
    auto backend = openBackend(options);
    if (!backend) return backend.error();
    const std::shared_ptr<const engine::RgbImage> pictures[] = {
        std::make_shared<const engine::RgbImage>(std::move(*image))};
    auto encoded = encodePictures(**backend, *projector, pictures, VisionRun::kReleasedEps);
    if (!encoded) return encoded.error();
    const PictureRows& rows = encoded->front();
    FloatFile file(*out);
    file.append(rows.values);
    if (auto written = file.close(); !written) return written.error();

    if (options.json())
        std::printf("%s\n",
                    nlohmann::json{{"rows", rows.rows}, {"columns", rows.columns}}.dump().c_str());
    else
        std::printf("%lld rows of %lld values\n", static_cast<long long>(rows.rows),
                    static_cast<long long>(rows.columns));
    return 0;
}

} // namespace

const Command kEmbedImage = {
    "embed-image",
    "write a picture's embedding rows to a file (little-endian F32)",
    "--mmproj FILE --image FILE --out FILE [--drop-alpha]",
    withComputeOptions({
        {"--mmproj", "FILE", "the vision part"},
        {"--image", "FILE", "the picture"},
        {"--out", "FILE", "where the rows go"},
        {"--drop-alpha", "",
         "ignore transparency as the reference does, instead of laying it over white"},
    }),
    run,
};

} // namespace app

// glint-cli embed-image: the rows that a picture puts in the place of its tokens.

#include "app/cli/commands.h"
#include "app/cli/float_file.h"
#include "app/cli/picture_rows.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace app {

using engine::Result;

namespace {

Result<int> run(const Options& options) {
    auto projector = options.path("--mmproj");
    if (!projector) return projector.error();
    auto image = options.path("--image");
    if (!image) return image.error();
    auto out = options.path("--out");
    if (!out) return out.error();
    auto backend = openBackend(options);
    if (!backend) return backend.error();
    auto pictures = PictureRows::open(**backend, *projector, {*image}, VisionRun::kReleasedEps,
                                      options.has("--drop-alpha"));
    if (!pictures) return pictures.error();
    auto rows = (*pictures)->encode(0);
    if (!rows) return rows.error();
    FloatFile file(*out);
    file.append(*rows);
    if (auto written = file.close(); !written) return written.error();

    const auto tokens = (*pictures)->tokens(0);
    const int width = (*pictures)->spec().projectionWidth;
    if (options.json())
        std::printf("%s\n", nlohmann::json{{"rows", tokens}, {"columns", width}}.dump().c_str());
    else
        std::printf("%lld rows of %d values\n", static_cast<long long>(tokens), width);
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
        {"--drop-alpha", "", "ignore transparency as the reference does, instead of laying it over white"},
    }),
    run,
};

} // namespace app

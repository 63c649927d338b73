// glint-cli logits: the scaled and capped logits after every token of a prompt.

#include "app/cli/commands.h"
#include "app/cli/float_file.h"
#include "app/cli/model_run.h"
#include "app/cli/picture_rows.h"
#include "app/cli/prompt_input.h"
#include "engine/base/path_text.h"
#include "engine/token/tokenizer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

constexpr int kChunk = 128; // rows read and written at once

// The pictures' rows in backend memory, at their places in the prompt.
class PlacedPictures {
public:
    Result<void> place(engine::Backend& backend, const std::filesystem::path& projector,
                       const engine::Prompt& prompt, const engine::TextSpec& text) {
        std::vector<std::shared_ptr<const engine::RgbImage>> images;
        for (const engine::ImageSlot& slot : prompt.images) images.push_back(slot.image);
        const auto encoded = encodePictures(backend, projector, images, text.eps);
        if (!encoded) return encoded.error();
        for (std::size_t i = 0; i < images.size(); ++i) {
            const PictureRows& picture = (*encoded)[i];
            auto memory = backend.allocate(picture.rows * picture.columns * 4, "picture rows");
            if (!memory) return memory.error();
            const engine::Tensor rows =
                memory->tensor(engine::ElementType::F32, picture.rows, picture.columns);
            backend.copyIn(std::as_bytes(std::span(picture.values)), rows);
            m_memory.push_back(std::move(*memory));
            m_rows.push_back({prompt.images[i].firstToken, rows});
        }
        return {};
    }
    // With rows counted from token `first` on; those that lie before it are negative and not looked
    // at.
    std::vector<TextRun::ImageRows> rowsFrom(std::size_t first) const {
        std::vector<TextRun::ImageRows> rows = m_rows;
        for (TextRun::ImageRows& part : rows) part.first -= static_cast<std::int64_t>(first);
        return rows;
    }

private:
    std::vector<engine::Buffer> m_memory;
    std::vector<TextRun::ImageRows> m_rows;
};

// The projector's numbers, if one is given; it must make rows of this model's width.
Result<std::optional<engine::VisionSpec>> visionSpec(const Options& options,
                                                     const engine::TextSpec& text) {
    if (!options.has("--mmproj")) return std::optional<engine::VisionSpec>();
    const auto path = options.path("--mmproj");
    if (!path) return path.error();
    const auto file = engine::GgufFile::openHeader(*path);
    if (!file) return withContext(file.error(), engine::pathToUtf8(*path));
    const auto spec = engine::VisionSpec::read(*file);
    if (!spec) return withContext(spec.error(), engine::pathToUtf8(*path));
    if (spec->projectionWidth != text.width)
        return Error{ErrorCode::InvalidFile,
                     "the vision part does not belong to this model: it makes rows of " +
                         std::to_string(spec->projectionWidth) + " values, the model takes " +
                         std::to_string(text.width)};
    return std::optional<engine::VisionSpec>(*spec);
}

Result<engine::Prompt> promptOf(const Options& options, const engine::GgufFile& target,
                                const std::optional<engine::VisionSpec>& vision) {
    const auto tokenizer = engine::Tokenizer::read(target);
    if (!tokenizer) return tokenizer.error();
    PromptContext context;
    context.tokenizer = &*tokenizer;
    context.vision = vision ? &*vision : nullptr;
    if (options.has("--drop-alpha")) context.alpha = engine::AlphaRule::Drop;
    auto prompt = readPrompt(options, context);
    if (prompt && prompt->ids.empty())
        return Error{ErrorCode::InvalidFile, "there is no token to read"};
    return prompt;
}

Result<int> run(const Options& options) {
    const auto target = options.path("--model");
    if (!target) return target.error();
    const auto out = options.path("--out");
    if (!out) return out.error();
    if (options.has("--ids") + options.has("--messages") != 1)
        return Error{ErrorCode::InvalidFile, "give either --ids or --messages"};
    const auto kvType = kvTypeOption(options);
    if (!kvType) return kvType.error();

    const auto header = engine::GgufFile::open(*target);
    if (!header) return withContext(header.error(), engine::pathToUtf8(*target));
    const auto text = engine::TextSpec::read(*header);
    if (!text) return withContext(text.error(), engine::pathToUtf8(*target));
    const auto vision = visionSpec(options, *text);
    if (!vision) return vision.error();
    const auto prompt = promptOf(options, *header, *vision);
    if (!prompt) return prompt.error();
    const std::vector<engine::TokenId>& ids = prompt->ids;

    auto backend = openBackend(options);
    if (!backend) return backend.error();
    PlacedPictures placed;
    if (!prompt->images.empty()) {
        const auto projector = options.path("--mmproj");
        if (!projector) return projector.error();
        if (auto done = placed.place(**backend, *projector, *prompt, *text); !done)
            return done.error();
    }
    TextRun::Setup setup;
    setup.target = *target;
    setup.contextTokens = static_cast<std::int64_t>(ids.size());
    setup.kvType = *kvType;
    setup.chunk = static_cast<int>(std::min<std::size_t>(kChunk, ids.size()));
    auto model = TextRun::open(**backend, setup);
    if (!model) return model.error();
    FloatFile file(*out);
    for (std::size_t first = 0; first < ids.size(); first += kChunk) {
        const auto count = std::min<std::size_t>(kChunk, ids.size() - first);
        auto rows =
            (*model)->read(std::span(ids).subspan(first, count), placed.rowsFrom(first), {});
        if (!rows) return rows.error();
        file.append(rows->logits);
    }
    if (auto written = file.close(); !written) return written.error();
    if (options.json())
        std::printf(
            "%s\n",
            nlohmann::json{{"rows", ids.size()}, {"columns", text->vocabulary}, {"ids", ids}}
                .dump()
                .c_str());
    else
        std::printf("%zu rows of %lld values\n", ids.size(),
                    static_cast<long long>(text->vocabulary));
    return 0;
}

} // namespace

const Command kLogits = {
    "logits",
    "write the logits after every token to a file (little-endian F32)",
    "--model FILE (--ids \"1 2 3\" | --messages FILE) [--mmproj FILE --image FILE...] --out FILE",
    withComputeOptions({
        {"--model", "FILE", "the model"},
        {"--ids", "\"1 2 3\"", "the tokens to read"},
        {"--messages", "FILE", "a conversation as JSON, read in the chat format"},
        {"--system", "TEXT", "instructions in front of the messages"},
        {"--strength", "WORD", "low, medium, high (the default) or xhigh"},
        {"--date", "YYYY-MM-DD", "of the default instructions (default today)"},
        {"--mmproj", "FILE", "the vision part"},
        {"--image", "FILE",
         "a picture: for the next run of <|patch|> ids, or of the last message; may be repeated"},
        {"--out", "FILE", "where the logits go, one row per token"},
        {"--drop-alpha", "",
         "ignore transparency as the reference does, instead of laying it over white"},
    }),
    run,
};

} // namespace app

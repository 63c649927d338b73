// glint-cli logits: the scaled and capped logits after every token of a prompt.

#include "app/cli/commands.h"
#include "app/cli/float_file.h"
#include "app/cli/model_run.h"
#include "app/cli/picture_rows.h"
#include "engine/token/tokenizer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

constexpr int kChunk = 128; // rows read and written at once

// The pictures' rows, put where the prompt has runs of <|patch|>.
class PlacedPictures {
public:
    Result<void> place(engine::Backend& backend, PictureRows& pictures, std::span<const std::int32_t> ids,
                       std::int32_t patch, std::int64_t width) {
        auto at = ids.begin();
        for (std::size_t i = 0; i < pictures.count(); ++i) {
            at = std::find(at, ids.end(), patch);
            const auto end = std::find_if(at, ids.end(), [&](std::int32_t id) { return id != patch; });
            const std::int64_t tokens = pictures.tokens(i);
            if (end - at != tokens)
                return Error{ErrorCode::InvalidFile, "picture " + std::to_string(i + 1) + " takes " +
                                                         std::to_string(tokens) +
                                                         " places and the prompt has " +
                                                         std::to_string(end - at) + " for it"};
            auto values = pictures.encode(i);
            if (!values) return values.error();
            auto memory = backend.allocate(tokens * width * 4, "picture rows");
            if (!memory) return memory.error();
            const engine::Tensor rows = memory->tensor(engine::ElementType::F32, tokens, width);
            backend.copyIn(std::as_bytes(std::span(*values)), rows);
            m_memory.push_back(std::move(*memory));
            m_rows.push_back({at - ids.begin(), rows});
            at = end;
        }
        if (std::find(at, ids.end(), patch) != ids.end())
            return Error{ErrorCode::InvalidFile, "the prompt has places for more pictures than were given"};
        return {};
    }
    // With rows counted from token `first` on; those that lie before it are negative and not looked at.
    std::vector<TextRun::ImageRows> rowsFrom(std::size_t first) const {
        std::vector<TextRun::ImageRows> rows = m_rows;
        for (TextRun::ImageRows& part : rows) part.first -= static_cast<std::int64_t>(first);
        return rows;
    }

private:
    std::vector<engine::Buffer> m_memory;
    std::vector<TextRun::ImageRows> m_rows;
};

Result<int> run(const Options& options) {
    auto target = options.path("--model");
    if (!target) return target.error();
    auto out = options.path("--out");
    if (!out) return out.error();
    const auto text = options.text("--ids");
    if (!text) return Error{ErrorCode::InvalidFile, "say which tokens with --ids \"1 2 3\""};
    auto ids = parseIds(*text);
    if (!ids) return ids.error();
    if (ids->empty()) return Error{ErrorCode::InvalidFile, "--ids holds no token"};
    auto kvType = kvTypeOption(options);
    if (!kvType) return kvType.error();
    auto backend = openBackend(options);
    if (!backend) return backend.error();

    TextRun::Setup setup;
    setup.target = *target;
    setup.contextTokens = static_cast<std::int64_t>(ids->size());
    setup.kvType = *kvType;
    setup.chunk = static_cast<int>(std::min<std::size_t>(kChunk, ids->size()));
    auto model = TextRun::open(**backend, setup);
    if (!model) return model.error();
    const engine::TextSpec& spec = (*model)->text().spec();
    const auto outside =
        std::find_if(ids->begin(), ids->end(), [&](std::int32_t id) { return id >= spec.vocabulary; });
    if (outside != ids->end())
        return Error{ErrorCode::InvalidFile, "token " + std::to_string(*outside) +
                                                 " is outside the vocabulary of " +
                                                 std::to_string(spec.vocabulary)};

    PlacedPictures placed;
    std::vector<std::filesystem::path> images;
    for (const std::string& image : options.all("--image")) images.push_back(pathFromUtf8(image));
    if (!images.empty()) {
        auto projector = options.path("--mmproj");
        if (!projector) return projector.error();
        auto tokenizer = engine::Tokenizer::read((*model)->targetFile());
        if (!tokenizer) return tokenizer.error();
        auto pictures =
            PictureRows::open(**backend, *projector, images, spec.eps, options.has("--drop-alpha"));
        if (!pictures) return pictures.error();
        if ((*pictures)->spec().projectionWidth != spec.width)
            return Error{ErrorCode::InvalidFile, "the vision part does not belong to this model: it makes "
                                                 "rows of another width"};
        auto done = placed.place(**backend, **pictures, *ids, tokenizer->special().patch, spec.width);
        if (!done) return done.error();
    }
    FloatFile file(*out);
    for (std::size_t first = 0; first < ids->size(); first += kChunk) {
        const auto count = std::min<std::size_t>(kChunk, ids->size() - first);
        auto rows = (*model)->read(std::span(*ids).subspan(first, count), placed.rowsFrom(first), {});
        if (!rows) return rows.error();
        file.append(rows->logits);
    }
    if (auto written = file.close(); !written) return written.error();
    if (options.json())
        std::printf("%s\n",
                    nlohmann::json{{"rows", ids->size()}, {"columns", spec.vocabulary}}.dump().c_str());
    else
        std::printf("%zu rows of %lld values\n", ids->size(), static_cast<long long>(spec.vocabulary));
    return 0;
}

} // namespace

const Command kLogits = {
    "logits",
    "write the logits after every token to a file (little-endian F32)",
    "--model FILE --ids \"1 2 3\" [--mmproj FILE --image FILE...] --out FILE",
    withComputeOptions({
        {"--model", "FILE", "the model"},
        {"--ids", "\"1 2 3\"", "the tokens to read"},
        {"--mmproj", "FILE", "the vision part"},
        {"--image", "FILE", "a picture for the next run of <|patch|> tokens; may be given several times"},
        {"--out", "FILE", "where the logits go, one row per token"},
        {"--drop-alpha", "", "ignore transparency as the reference does, instead of laying it over white"},
    }),
    run,
};

} // namespace app

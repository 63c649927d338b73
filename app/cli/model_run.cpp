#include "app/cli/model_run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace app {

using engine::ElementType;
using engine::GgufFile;
using engine::Result;
using engine::Tensor;

std::vector<float> hostRows(engine::Backend& backend, Tensor rows) {
    std::vector<float> values(static_cast<std::size_t>(rows.rows * rows.columns));
    if (auto done = backend.copyOut(rows, std::as_writable_bytes(std::span(values))); !done) {
        std::fprintf(stderr, "%s\n", done.error().message.c_str());
        std::exit(1);
    }
    return values;
}

namespace {

void append(std::vector<float>& to, const std::vector<float>& values) {
    to.insert(to.end(), values.begin(), values.end());
}

} // namespace

Result<std::unique_ptr<VisionRun>> VisionRun::open(engine::Backend& backend,
                                                   const std::filesystem::path& projector,
                                                   float textEps, int maxCells) {
    auto file = GgufFile::open(projector);
    if (!file) return file.error();
    std::unique_ptr<VisionRun> run(new VisionRun(std::move(*file)));
    auto spec = engine::VisionSpec::read(run->m_file);
    if (!spec) return spec.error();
    auto weights = engine::VisionWeights::load(backend, run->m_file, *spec, {}, {});
    if (!weights) return weights.error();
    auto model = engine::VisionModel::make(backend, *spec, std::move(*weights), textEps, maxCells);
    if (!model) return model.error();
    run->m_model = std::move(*model);
    return run;
}

Result<std::unique_ptr<TextRun>> TextRun::open(engine::Backend& backend, const Setup& setup) {
    auto file = GgufFile::open(setup.target);
    if (!file) return file.error();
    std::unique_ptr<TextRun> run(new TextRun(backend, std::move(*file)));
    auto spec = engine::TextSpec::read(run->m_targetFile);
    if (!spec) return spec.error();
    auto weights = engine::TextWeights::load(backend, run->m_targetFile, *spec, {}, {});
    if (!weights) return weights.error();
    auto text = engine::TextModel::make(backend, *spec, std::move(*weights), setup.chunk);
    if (!text) return text.error();
    run->m_text = std::move(*text);
    auto cache = engine::KvCache::make(
        backend, engine::TextModel::kvShape(*spec, setup.contextTokens, setup.chunk, setup.kvType));
    if (!cache) return cache.error();
    run->m_cache = std::move(*cache);
    const std::int64_t tapColumns = (std::int64_t(spec->layers) + 1) * spec->width;
    auto taps = backend.allocate(setup.chunk * tapColumns * 4, "taps");
    if (!taps) return taps.error();
    run->m_taps = std::move(*taps);
    if (setup.drafter.empty()) return run;

    auto draftFile = GgufFile::open(setup.drafter);
    if (!draftFile) return draftFile.error();
    run->m_draftFile = std::move(*draftFile);
    auto draftSpec = engine::DraftSpec::read(*run->m_draftFile, *spec);
    if (!draftSpec) return draftSpec.error();
    auto draftWeights = engine::DraftWeights::load(backend, *run->m_draftFile, *draftSpec, {}, {});
    if (!draftWeights) return draftWeights.error();
    auto draft = engine::DraftModel::make(backend, *draftSpec, std::move(*draftWeights),
                                          *run->m_text, setup.chunk);
    if (!draft) return draft.error();
    run->m_draft = std::move(*draft);
    auto draftCache =
        engine::KvCache::make(backend, engine::DraftModel::kvShape(*draftSpec, setup.contextTokens,
                                                                   setup.chunk, setup.kvType));
    if (!draftCache) return draftCache.error();
    run->m_draftCache = std::move(*draftCache);
    return run;
}

Tensor TextRun::draftTaps(std::int64_t rows) const {
    const engine::DraftSpec& spec = m_draft->spec();
    return m_taps.tensor(ElementType::F32, rows, std::int64_t(spec.taps.size()) * spec.width);
}

Result<TextRun::Rows> TextRun::read(std::span<const std::int32_t> ids,
                                    std::span<const ImageRows> images, const Wanted& wanted) {
    Rows out;
    const int width = m_text->spec().width;
    const auto total = static_cast<std::int64_t>(ids.size());
    const std::vector<int> layers = wanted.feedDrafter ? m_draft->spec().taps : wanted.taps;
    for (std::int64_t first = 0; first < total;) {
        const std::int64_t count = std::min<std::int64_t>(m_text->maxRows(), total - first);
        engine::TextModel::Input input;
        input.ids = ids.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
        input.firstPosition = m_cache->length();
        std::vector<engine::TextModel::Input::ImageRows> parts;
        for (const ImageRows& image : images) {
            const std::int64_t from = std::max(first, image.first);
            const std::int64_t to = std::min(first + count, image.first + image.rows.rows);
            if (from < to)
                parts.push_back({from - first, image.rows.rowRange(from - image.first, to - from)});
        }
        input.images = parts;
        engine::TextModel::Taps taps;
        taps.layers = layers;
        if (!layers.empty())
            taps.out = m_taps.tensor(ElementType::F32, count, std::int64_t(layers.size()) * width);
        if (auto done = m_text->forward(input, *m_cache, taps, {}); !done) return done.error();
        m_cache->commit(m_cache->length() + count);

        if (!wanted.taps.empty()) append(out.taps, hostRows(m_backend, taps.out));
        if (wanted.hidden) append(out.hidden, hostRows(m_backend, m_text->hidden()));
        for (std::int64_t row = std::max(first, wanted.firstLogits); row < first + count;) {
            const std::int64_t rows =
                std::min<std::int64_t>(engine::TextModel::kMaxLogitRows, first + count - row);
            append(out.logits, hostRows(m_backend, m_text->logits(row - first, rows)));
            row += rows;
        }
        if (wanted.feedDrafter) {
            if (auto done =
                    m_draft->appendContext(taps.out, m_draftCache->length(), *m_draftCache, {});
                !done)
                return done.error();
            append(out.fused, hostRows(m_backend, m_draft->fusedContext()));
        }
        first += count;
    }
    return out;
}

Result<std::vector<float>> TextRun::verify(std::span<const std::int32_t> ids) {
    engine::TextModel::Input input;
    input.ids = ids;
    input.firstPosition = m_cache->length();
    const auto count = static_cast<std::int64_t>(ids.size());
    const engine::TextModel::Taps taps{m_draft->spec().taps, draftTaps(count)};
    if (auto done = m_text->forward(input, *m_cache, taps, {}); !done) return done.error();
    return hostRows(m_backend, m_text->logits(0, count));
}

void TextRun::clear() {
    m_cache->clear();
    if (m_draftCache) m_draftCache->clear();
}

} // namespace app

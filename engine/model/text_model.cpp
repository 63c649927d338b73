#include "engine/model/text_model.h"

#include "engine/model/buffer_layout.h"
#include "engine/model/weights.h"

#include <algorithm>
#include <numeric>

namespace engine {

struct TextModel::State {
    State(Backend& backendIn, TextSpec specIn, std::shared_ptr<const TextWeights> weightsIn,
          int maxRowsIn)
        : backend(backendIn), spec(std::move(specIn)), weights(std::move(weightsIn)),
          maxRows(maxRowsIn) {}

    Backend& backend;
    TextSpec spec;
    std::shared_ptr<const TextWeights> weights;
    int maxRows = 0;
    std::int64_t rows = 0; // of the last forward

    Buffer memory;
    std::unique_ptr<Activations> activations;
    Tensor x;         // [maxRows, width] residual
    Tensor y;         // [maxRows, width] normed input of a half layer, then what it adds
    Tensor ids;       // I32 [maxRows, 1]
    Tensor positions; // I32 [maxRows, 1]
    Tensor normed;    // [kMaxLogitRows, width] input of the head
    Tensor logits;    // [kMaxLogitRows, vocabulary]
    // The two halves of a layer use the same memory one after the other.
    Tensor q, gate, o;     // [maxRows, heads * headSize]
    Tensor k, v;           // [maxRows, kvHeads * headSize]
    Tensor ffnGate, ffnUp; // [maxRows, ffnWidth]
    std::vector<std::int32_t> hostPositions;

    Result<void> makeBuffers();
    void embed(const Input& input);
    void copyTaps(int layer, const Taps& taps);
    void attentionHalf(int layer, KvCache& cache);
    void ffnHalf(int layer);
    Tensor head(Tensor in);
};

Result<void> TextModel::State::makeBuffers() {
    const std::int64_t attentionWidth = std::int64_t(spec.heads) * spec.headSize;
    const std::int64_t kvWidth = std::int64_t(spec.kvHeads) * spec.headSize;
    auto allocated =
        allocateLayout(backend, "working memory of the model", [&](BufferLayout& layout) {
            const auto f32 = [&](std::int64_t n, std::int64_t columns) {
                return layout.add(ElementType::F32, n, columns);
            };
            x = f32(maxRows, spec.width);
            y = f32(maxRows, spec.width);
            ids = layout.add(ElementType::I32, maxRows, 1);
            positions = layout.add(ElementType::I32, maxRows, 1);
            normed = f32(kMaxLogitRows, spec.width);
            logits = f32(kMaxLogitRows, spec.vocabulary);
            const std::int64_t shared = layout.offset();
            q = f32(maxRows, attentionWidth);
            gate = f32(maxRows, attentionWidth);
            o = f32(maxRows, attentionWidth);
            k = f32(maxRows, kvWidth);
            v = f32(maxRows, kvWidth);
            layout.goBackTo(shared);
            ffnGate = f32(maxRows, spec.ffnWidth);
            ffnUp = f32(maxRows, spec.ffnWidth);
        });
    if (!allocated) return allocated.error();
    memory = std::move(*allocated);

    const std::int64_t widest =
        std::max({std::int64_t(spec.width), attentionWidth, std::int64_t(spec.ffnWidth)});
    auto made = backend.makeActivations(std::max(maxRows, kMaxLogitRows), widest);
    if (!made) return made.error();
    activations = std::move(*made);
    hostPositions.resize(static_cast<std::size_t>(maxRows));
    return {};
}

void TextModel::State::embed(const Input& input) {
    std::iota(hostPositions.begin(), hostPositions.begin() + rows,
              static_cast<std::int32_t>(input.firstPosition));
    backend.copyIn(std::as_bytes(input.ids), ids.rowRange(0, rows));
    backend.copyIn(std::as_bytes(std::span(hostPositions).first(static_cast<std::size_t>(rows))),
                   positions.rowRange(0, rows));
    const Tensor xs = x.rowRange(0, rows);
    backend.embed(*weights->embedding, ids.rowRange(0, rows), xs);
    backend.rmsNorm(xs, {}, spec.eps, xs);
    for (const Input::ImageRows& image : input.images)
        backend.copy(image.rows, x.rowRange(image.firstRow, image.rows.rows));
}

// Call with the number of layers done.
void TextModel::State::copyTaps(int layer, const Taps& taps) {
    for (std::size_t i = 0; i < taps.layers.size(); ++i)
        if (taps.layers[i] == layer)
            backend.copy(x.rowRange(0, rows),
                         taps.out.columnRange(std::int64_t(i) * spec.width, spec.width));
}

void TextModel::State::attentionHalf(int layer, KvCache& cache) {
    const TextWeights::Layer& w = weights->layers[static_cast<std::size_t>(layer)];
    const bool sliding = spec.sliding[static_cast<std::size_t>(layer)];
    const auto top = [&](const Tensor& t) { return t.rowRange(0, rows); };
    const Tensor xs = top(x), ys = top(y), at = top(positions);
    const Tensor qs = top(q), ks = top(k), vs = top(v), gates = top(gate), os = top(o);

    backend.normQuantize(xs, w.attnNorm->vector(), spec.eps, ys, *activations);
    const MatmulJob inputs[] = {
        {w.q.get(), qs}, {w.k.get(), ks}, {w.v.get(), vs}, {w.gate.get(), gates}};
    backend.matmul(inputs, *activations);

    const Tensor qHeads = qs.splitColumns(spec.heads), kHeads = ks.splitColumns(spec.kvHeads);
    backend.rmsNorm(qHeads, w.qNorm->vector(), spec.eps, qHeads);
    backend.rmsNorm(kHeads, w.kNorm->vector(), spec.eps, kHeads);
    AttentionSpan span; // full layers see everything before them and have no position encoding
    if (sliding) {
        const RopeSpec rope{RopePairing::Adjacent, spec.ropeTheta, spec.headSize, 1};
        backend.rope(qs, at, rope);
        backend.rope(ks, at, rope);
        span.left = spec.slidingWindow - 1;
    }
    backend.kvWrite(cache.layer(layer), ks, vs, at);
    backend.attention(qs, cache.layer(layer), at, {spec.heads, spec.kvHeads, spec.headSize}, span,
                      os);
    backend.sigmoidGate(os, gates);

    backend.quantize(os, *activations);
    const MatmulJob output[] = {{w.attnOutput.get(), ys}};
    backend.matmul(output, *activations);
    backend.postNormAdd(xs, ys, w.postAttentionNorm->vector(), spec.postNormEps);
}

void TextModel::State::ffnHalf(int layer) {
    const TextWeights::Layer& w = weights->layers[static_cast<std::size_t>(layer)];
    const Tensor xs = x.rowRange(0, rows), ys = y.rowRange(0, rows);
    const Tensor gates = ffnGate.rowRange(0, rows), ups = ffnUp.rowRange(0, rows);

    backend.normQuantize(xs, w.ffnNorm->vector(), spec.eps, ys, *activations);
    const MatmulJob inputs[] = {{w.ffnGate.get(), gates}, {w.ffnUp.get(), ups}};
    backend.matmul(inputs, *activations);
    backend.swiglu(gates, ups, gates);
    backend.quantize(gates, *activations);
    const MatmulJob down[] = {{w.ffnDown.get(), ys}};
    backend.matmul(down, *activations);
    backend.postNormAdd(xs, ys, w.postFfnNorm->vector(), spec.postNormEps);
}

Tensor TextModel::State::head(Tensor in) {
    const Tensor out = logits.rowRange(0, in.rows);
    backend.quantize(in, *activations);
    const MatmulJob job[] = {{weights->output.get(), out}};
    backend.matmul(job, *activations);
    return out;
}

TextModel::TextModel() = default;
TextModel::~TextModel() = default;

Result<std::unique_ptr<TextModel>> TextModel::make(Backend& backend, TextSpec spec,
                                                   std::shared_ptr<const TextWeights> weights,
                                                   int maxRows) {
    CHECK(maxRows > 0 && weights->layers.size() == static_cast<std::size_t>(spec.layers));
    std::unique_ptr<TextModel> model(new TextModel);
    model->m = std::make_unique<State>(backend, std::move(spec), std::move(weights), maxRows);
    if (auto made = model->m->makeBuffers(); !made) return made.error();
    return model;
}

KvShape TextModel::kvShape(const TextSpec& spec, std::int64_t contextTokens, int maxBatch,
                           KvType type) {
    KvShape shape;
    shape.kvHeads = spec.kvHeads;
    shape.headSize = spec.headSize;
    shape.sliding = spec.sliding;
    shape.window = spec.slidingWindow;
    shape.context = contextTokens;
    shape.maxBatch = maxBatch;
    shape.type = type;
    return shape;
}

const TextSpec& TextModel::spec() const {
    return m->spec;
}
const TextWeights& TextModel::weights() const {
    return *m->weights;
}
int TextModel::maxRows() const {
    return m->maxRows;
}
std::int64_t TextModel::workingBytes() const {
    return m->memory.bytes();
}

Result<void> TextModel::forward(const Input& input, KvCache& cache, const Taps& taps,
                                std::stop_token stop) {
    const auto count = static_cast<std::int64_t>(input.ids.size());
    CHECK(count > 0 && count <= m->maxRows && input.firstPosition == cache.length());
    m->rows = count;
    cache.aboutToWrite(count);
    m->embed(input);
    for (int layer = 0; layer < m->spec.layers; ++layer) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "stopped"};
        m->copyTaps(layer, taps);
        m->attentionHalf(layer, cache);
        m->ffnHalf(layer);
    }
    m->copyTaps(m->spec.layers, taps);
    return {};
}

Tensor TextModel::hidden() const {
    return m->x.rowRange(0, m->rows);
}

Tensor TextModel::logits(std::int64_t first, std::int64_t count) {
    CHECK(count > 0 && count <= kMaxLogitRows && first + count <= m->rows);
    const Tensor in = m->normed.rowRange(0, count);
    m->backend.rmsNorm(m->x.rowRange(first, count), m->weights->outputNorm->vector(), m->spec.eps,
                       in);
    const Tensor out = m->head(in);
    m->backend.softcap(out, m->spec.logitScale, m->spec.logitCap);
    return out;
}

Tensor TextModel::rawHead(Tensor normedRows) {
    CHECK(normedRows.rows > 0 && normedRows.rows <= kMaxLogitRows);
    return m->head(normedRows);
}

} // namespace engine

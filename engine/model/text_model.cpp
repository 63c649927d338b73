#include "engine/model/text_model.h"

#include "engine/model/buffer_layout.h"
#include "engine/model/weights.h"

#include <algorithm>
#include <numeric>
#include <sstream>

namespace engine {

namespace {

// Passes of at most this many rows are the same calls again and again: decoding and verifying.
constexpr int kReplayRows = 16;

} // namespace

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

    Result<void> makeBuffers(SharedMemory* shared);
    void normLogitRows(std::int64_t first, std::int64_t count); // into the activations
    void bringIn(const Input& input);                           // ids and positions
    Tensor tapAfter(int layers, const Taps& taps) const;        // empty: none is wanted there
    void embedTokens();
    // False if stop was requested, asked before each layer.
    bool runLayers(KvCache& cache, const Taps& taps, std::stop_token stop);
    void attentionHalf(int layer, KvCache& cache);
    void ffnHalf(int layer, Tensor tap);
};

Result<void> TextModel::State::makeBuffers(SharedMemory* shared) {
    const std::int64_t attentionWidth = std::int64_t(spec.heads) * spec.headSize;
    const std::int64_t kvWidth = std::int64_t(spec.kvHeads) * spec.headSize;
    auto allocated =
        allocateOrShare(backend, "working memory of the model", shared, SharedMemory::Phase::Words,
                        [this, attentionWidth, kvWidth](BufferLayout& layout) {
                            const auto f32 = [&](std::int64_t n, std::int64_t columns) {
                                return layout.add(ElementType::F32, n, columns);
                            };
                            x = f32(maxRows, spec.width);
                            y = f32(maxRows, spec.width);
                            ids = layout.add(ElementType::I32, maxRows, 1);
                            positions = layout.add(ElementType::I32, maxRows, 1);
                            normed = f32(kMaxLogitRows, spec.width);
                            logits = f32(kMaxLogitRows, spec.vocabulary);
                            const std::int64_t halfLayer = layout.offset();
                            q = f32(maxRows, attentionWidth);
                            gate = f32(maxRows, attentionWidth);
                            o = f32(maxRows, attentionWidth);
                            k = f32(maxRows, kvWidth);
                            v = f32(maxRows, kvWidth);
                            layout.goBackTo(halfLayer);
                            ffnGate = f32(maxRows, spec.ffnWidth);
                            ffnUp = f32(maxRows, spec.ffnWidth);
                        });
    if (!allocated) return allocated.error();
    memory = std::move(*allocated);

    const std::int64_t widest =
        std::max({std::int64_t(spec.width), attentionWidth, std::int64_t(spec.ffnWidth)});
    std::vector<const Weight*> users{weights->output.get()};
    for (const TextWeights::Layer& w : weights->layers)
        for (const WeightPtr* each :
             {&w.q, &w.k, &w.v, &w.gate, &w.attnOutput, &w.ffnGate, &w.ffnUp, &w.ffnDown})
            users.push_back(each->get());
    auto made = backend.makeActivations(std::max(maxRows, kMaxLogitRows), widest, users);
    if (!made) return made.error();
    activations = std::move(*made);
    hostPositions.resize(static_cast<std::size_t>(maxRows));
    return {};
}

void TextModel::State::bringIn(const Input& input) {
    std::iota(hostPositions.begin(), hostPositions.begin() + rows,
              static_cast<std::int32_t>(input.firstPosition));
    if (input.deviceIds.empty()) {
        backend.copyIn(std::as_bytes(input.ids), ids.rowRange(0, rows));
    } else {
        backend.copy(input.deviceIds, ids.rowRange(0, rows));
    }
    backend.copyIn(std::as_bytes(std::span(hostPositions).first(static_cast<std::size_t>(rows))),
                   positions.rowRange(0, rows));
}

void TextModel::State::embedTokens() {
    const Tensor xs = x.rowRange(0, rows);
    backend.embed(*weights->embedding, ids.rowRange(0, rows), xs);
    backend.rmsNorm(xs, {}, spec.eps, xs);
}

Tensor TextModel::State::tapAfter(int layers, const Taps& taps) const {
    const auto found = std::find(taps.layers.begin(), taps.layers.end(), layers);
    if (found == taps.layers.end()) return {};
    return taps.out.columnRange((found - taps.layers.begin()) * spec.width, spec.width);
}

// The activations hold the normed input of the half layer, and afterwards that of the next one.
void TextModel::State::attentionHalf(int layer, KvCache& cache) {
    const TextWeights::Layer& w = weights->layers[static_cast<std::size_t>(layer)];
    const auto top = [&](const Tensor& t) { return t.rowRange(0, rows); };
    // Full layers see everything before them and have no position encoding.
    const RopeSpec rope{RopePairing::Adjacent, spec.ropeTheta, spec.headSize, 1};
    const bool sliding = spec.sliding[static_cast<std::size_t>(layer)];

    AttentionStep step;
    step.q = w.q.get();
    step.k = w.k.get();
    step.v = w.v.get();
    step.gate = w.gate.get();
    step.qNorm = {w.qNorm->vector(), spec.eps};
    step.kNorm = {w.kNorm->vector(), spec.eps};
    step.rope = sliding ? &rope : nullptr;
    step.positions = top(positions);
    step.cache = cache.layer(layer);
    step.shape = {spec.heads, spec.kvHeads, spec.headSize};
    if (sliding) step.span.left = spec.slidingWindow - 1;
    step.qRows = top(q);
    step.gateRows = top(gate);
    step.outRows = top(o);
    step.kRows = top(k);
    step.vRows = top(v);
    backend.attend(step, *activations, *activations);

    const NormSpec post{w.postAttentionNorm->vector(), spec.postNormEps};
    const NormSpec next{w.ffnNorm->vector(), spec.eps};
    backend.matmulAdd(*w.attnOutput, *activations, &post, top(x), top(y), &next, *activations, {});
}

void TextModel::State::ffnHalf(int layer, Tensor tap) {
    const TextWeights::Layer& w = weights->layers[static_cast<std::size_t>(layer)];
    backend.matmulSwiglu(*w.ffnGate, *w.ffnUp, *activations, ffnGate.rowRange(0, rows),
                         ffnUp.rowRange(0, rows), *activations);

    const NormSpec post{w.postFfnNorm->vector(), spec.postNormEps};
    const bool last = layer + 1 == spec.layers;
    const TextWeights::Layer& following = last ? w : weights->layers[std::size_t(layer) + 1];
    const NormSpec next{following.attnNorm->vector(), spec.eps};
    backend.matmulAdd(*w.ffnDown, *activations, &post, x.rowRange(0, rows), y.rowRange(0, rows),
                      last ? nullptr : &next, *activations, tap);
}

bool TextModel::State::runLayers(KvCache& cache, const Taps& taps, std::stop_token stop) {
    backend.normQuantize(x.rowRange(0, rows), weights->layers.front().attnNorm->vector(), spec.eps,
                         y.rowRange(0, rows), *activations);
    if (const Tensor tap = tapAfter(0, taps); !tap.empty()) backend.copy(x.rowRange(0, rows), tap);
    for (int layer = 0; layer < spec.layers; ++layer) {
        if (stop.stop_requested()) return false;
        attentionHalf(layer, cache);
        ffnHalf(layer, tapAfter(layer + 1, taps));
    }
    return true;
}

TextModel::TextModel() = default;
TextModel::~TextModel() = default;

Result<std::unique_ptr<TextModel>> TextModel::make(Backend& backend, TextSpec spec,
                                                   std::shared_ptr<const TextWeights> weights,
                                                   int maxRows, SharedMemory* shared) {
    CHECK(maxRows > 0 && weights->layers.size() == static_cast<std::size_t>(spec.layers));
    std::unique_ptr<TextModel> model(new TextModel);
    model->m = std::make_unique<State>(backend, std::move(spec), std::move(weights), maxRows);
    if (auto made = model->m->makeBuffers(shared); !made) return made.error();
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

Result<void> TextModel::forward(const Input& input, KvCache& cache, const Taps& taps,
                                std::stop_token stop) {
    const std::int64_t count =
        input.deviceIds.empty() ? std::int64_t(input.ids.size()) : input.deviceIds.rows;
    CHECK(count > 0 && count <= m->maxRows && input.firstPosition == cache.length());
    State& s = *m;
    s.rows = count;
    cache.aboutToWrite(count);
    s.bringIn(input);
    bool complete = false;
    if (count <= kReplayRows && input.images.empty()) {
        // The key names everything that the recorded calls depend on beside their inputs' values.
        std::ostringstream key;
        key << "text " << this << ' ' << &cache << ' ' << count << ' ' << taps.out.data << ' '
            << taps.out.strideBytes;
        for (const int layer : taps.layers) key << ' ' << layer;
        complete = s.backend.replay(key.str(), [&] {
            s.embedTokens();
            return s.runLayers(cache, taps, stop);
        });
    } else {
        s.embedTokens();
        for (const Input::ImageRows& image : input.images)
            s.backend.copy(image.rows, s.x.rowRange(image.firstRow, image.rows.rows));
        complete = s.runLayers(cache, taps, stop);
    }
    if (!complete) return Error{ErrorCode::Cancelled, "stopped"};
    return {};
}

Tensor TextModel::hidden() const {
    return m->x.rowRange(0, m->rows);
}

void TextModel::State::normLogitRows(std::int64_t first, std::int64_t count) {
    backend.normQuantize(x.rowRange(first, count), weights->outputNorm->vector(), spec.eps,
                         normed.rowRange(0, count), *activations);
}

Tensor TextModel::logits(std::int64_t first, std::int64_t count) {
    CHECK(count > 0 && count <= kMaxLogitRows && first + count <= m->rows);
    State& s = *m;
    const Tensor out = s.logits.rowRange(0, count);
    const auto compute = [&] {
        s.normLogitRows(first, count);
        const MatmulJob job[] = {{s.weights->output.get(), out}};
        s.backend.matmul(job, *s.activations);
        s.backend.softcap(out, s.spec.logitScale, s.spec.logitCap);
        return true;
    };
    if (first == 0 && count <= kReplayRows) {
        std::ostringstream key;
        key << "logits " << this << ' ' << count;
        s.backend.replay(key.str(), compute);
    } else {
        compute();
    }
    return out;
}

void TextModel::largest(std::int64_t first, std::int64_t count, Tensor values, Tensor ids) {
    CHECK(count > 0 && count <= kMaxLogitRows && first + count <= m->rows && ids.rows == count);
    State& s = *m;
    const auto compute = [&] {
        s.normLogitRows(first, count);
        s.backend.matmulLargest(*s.weights->output, *s.activations, s.spec.logitScale,
                                s.spec.logitCap, s.logits.rowRange(0, count), values, ids);
        return true;
    };
    if (first == 0 && count <= kReplayRows) {
        std::ostringstream key;
        key << "largest " << this << ' ' << count << ' ' << values.data << ' ' << ids.data << ' '
            << ids.columns;
        s.backend.replay(key.str(), compute);
    } else {
        compute();
    }
}

Tensor TextModel::rawHeadRows(std::int64_t count) const {
    CHECK(count > 0 && count <= kMaxLogitRows);
    return m->logits.rowRange(0, count);
}

void TextModel::rawHead(Tensor normedRows) {
    const Tensor out = rawHeadRows(normedRows.rows);
    m->backend.quantize(normedRows, *m->activations);
    const MatmulJob job[] = {{m->weights->output.get(), out}};
    m->backend.matmul(job, *m->activations);
}

void TextModel::rawHeadArgmax(Tensor normedRows, Tensor ids) {
    m->backend.quantize(normedRows, *m->activations);
    m->backend.matmulLargest(*m->weights->output, *m->activations, 1.0f, 0.0f,
                             rawHeadRows(normedRows.rows), {}, ids);
}

} // namespace engine

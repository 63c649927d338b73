#include "engine/model/draft_model.h"

#include "engine/model/buffer_layout.h"
#include "engine/model/weights.h"

#include <algorithm>
#include <numeric>
#include <sstream>

namespace engine {

namespace {

// The fused taps are the widest rows of all (five times the residual), so they are taken a few at a
// time.
constexpr int kFuseRows = 64;

} // namespace

struct DraftModel::State {
    State(Backend& backendIn, DraftSpec specIn, std::shared_ptr<const DraftWeights> weightsIn,
          TextModel& targetIn, int maxContextRowsIn)
        : backend(backendIn), spec(std::move(specIn)), weights(std::move(weightsIn)),
          target(targetIn), maxContextRows(maxContextRowsIn) {}

    Backend& backend;
    DraftSpec spec;
    std::shared_ptr<const DraftWeights> weights;
    TextModel& target;
    int maxContextRows = 0;
    std::int64_t contextRows = 0; // of the last appendContext

    Buffer memory;
    std::unique_ptr<Activations> activations;
    Tensor ids;       // I32 [blockSize, 1]
    Tensor positions; // I32 [max(maxContextRows, blockSize), 1]
    Tensor fused;     // [maxContextRows, width]
    Tensor k, v;      // [max(kFuseRows, blockSize), kvHeads * headSize]
    Tensor x, y;   // [blockSize, width] residual; normed input of a half layer, then what it adds
    Tensor normed; // [blockSize, width] after the final norm
    Tensor q, o;   // [blockSize, heads * headSize]
    Tensor ffnGate, ffnUp; // [blockSize, ffnWidth]
    std::vector<std::int32_t> hostIds;
    std::vector<std::int32_t> hostPositions;

    Result<void> makeBuffers(SharedMemory* shared);
    void setPositions(std::int64_t first, std::int64_t count);
    // Fuses these rows of taps into rows first .. of `fused` and stores their keys and values.
    // False if stop was requested, asked before each layer.
    bool appendRows(Tensor taps, std::int64_t first, KvCache& cache, const std::stop_token& stop);
    // Norms and turns the keys that lie in k, and stores keys and values of these rows.
    void storeKeys(int layer, KvCache& cache, Tensor ks, Tensor vs, Tensor at);
    void attentionHalf(int layer, KvCache& cache);
    void ffnHalf(int layer);
    Result<void> run(std::int32_t anchor, KvCache& cache, const std::stop_token& stop, int wanted,
                     Tensor tokens);
    RopeSpec rope() const { return {RopePairing::Halves, spec.ropeTheta, spec.headSize, 1}; }
};

Result<void> DraftModel::State::makeBuffers(SharedMemory* shared) {
    const std::int64_t attentionWidth = std::int64_t(spec.heads) * spec.headSize;
    const std::int64_t kvWidth = std::int64_t(spec.kvHeads) * spec.headSize;
    const std::int64_t block = spec.blockSize;
    const std::int64_t kvRows = std::max<std::int64_t>(kFuseRows, block);
    const std::int64_t mostPositions = std::max<std::int64_t>(maxContextRows, block);
    auto allocated = allocateOrShare(
        backend, "working memory of the drafter", shared, SharedMemory::Phase::Words,
        [this, attentionWidth, kvWidth, block, kvRows, mostPositions](BufferLayout& layout) {
            const auto f32 = [&](std::int64_t n, std::int64_t columns) {
                return layout.add(ElementType::F32, n, columns);
            };
            ids = layout.add(ElementType::I32, block, 1);
            positions = layout.add(ElementType::I32, mostPositions, 1);
            fused = f32(maxContextRows, spec.width);
            k = f32(kvRows, kvWidth);
            v = f32(kvRows, kvWidth);
            x = f32(block, spec.width);
            y = f32(block, spec.width);
            normed = f32(block, spec.width);
            q = f32(block, attentionWidth);
            o = f32(block, attentionWidth);
            ffnGate = f32(block, spec.ffnWidth);
            ffnUp = f32(block, spec.ffnWidth);
        });
    if (!allocated) return allocated.error();
    memory = std::move(*allocated);

    const std::int64_t fuseWidth = std::int64_t(spec.taps.size()) * spec.width;
    std::vector<const Weight*> users{weights->fuse.get(), target.weights().output.get()};
    for (const DraftWeights::Layer& w : weights->layers)
        for (const WeightPtr* each :
             {&w.q, &w.k, &w.v, &w.attnOutput, &w.ffnGate, &w.ffnUp, &w.ffnDown})
            users.push_back(each->get());
    auto made = backend.makeActivations(
        kvRows, std::max({fuseWidth, attentionWidth, std::int64_t(spec.ffnWidth)}), users);
    if (!made) return made.error();
    activations = std::move(*made);
    hostIds.assign(static_cast<std::size_t>(block), spec.maskToken);
    hostPositions.resize(static_cast<std::size_t>(mostPositions));
    return {};
}

void DraftModel::State::setPositions(std::int64_t first, std::int64_t count) {
    std::iota(hostPositions.begin(), hostPositions.begin() + count,
              static_cast<std::int32_t>(first));
    backend.copyIn(std::as_bytes(std::span(hostPositions).first(static_cast<std::size_t>(count))),
                   positions.rowRange(0, count));
}

void DraftModel::State::storeKeys(int layer, KvCache& cache, Tensor ks, Tensor vs, Tensor at) {
    const DraftWeights::Layer& w = weights->layers[static_cast<std::size_t>(layer)];
    const Tensor heads = ks.splitColumns(spec.kvHeads);
    backend.rmsNorm(heads, w.kNorm->vector(), spec.eps, heads);
    backend.rope(ks, at, rope());
    backend.kvWrite(cache.layer(layer), ks, vs, at);
}

bool DraftModel::State::appendRows(Tensor taps, std::int64_t first, KvCache& cache,
                                   const std::stop_token& stop) {
    const Tensor context = fused.rowRange(first, taps.rows);
    const Tensor ks = k.rowRange(0, taps.rows), vs = v.rowRange(0, taps.rows);
    backend.quantize(taps, *activations);
    const MatmulJob fuse[] = {{weights->fuse.get(), context}};
    backend.matmul(fuse, *activations);
    backend.rmsNorm(context, weights->fuseNorm->vector(), spec.eps, context);

    // Keys and values of the context come from the fused rows as they are, without attn_norm.
    backend.quantize(context, *activations);
    for (int layer = 0; layer < spec.layers; ++layer) {
        const DraftWeights::Layer& w = weights->layers[static_cast<std::size_t>(layer)];
        if (stop.stop_requested()) return false;
        const MatmulJob jobs[] = {{w.k.get(), ks}, {w.v.get(), vs}};
        backend.matmul(jobs, *activations);
        storeKeys(layer, cache, ks, vs, positions.rowRange(first, taps.rows));
    }
    return true;
}

// The activations hold the normed input of the half layer, and afterwards that of the next one.
void DraftModel::State::attentionHalf(int layer, KvCache& cache) {
    const DraftWeights::Layer& w = weights->layers[static_cast<std::size_t>(layer)];
    const std::int64_t block = spec.blockSize;
    const RopeSpec turn = rope();

    AttentionStep step;
    step.q = w.q.get();
    step.k = w.k.get();
    step.v = w.v.get();
    step.qNorm = {w.qNorm->vector(), spec.eps};
    step.kNorm = {w.kNorm->vector(), spec.eps};
    step.rope = &turn;
    step.positions = positions.rowRange(0, block);
    step.cache = cache.layer(layer);
    step.shape = {spec.heads, spec.kvHeads, spec.headSize};
    // The window counts in both directions and includes its ends, unlike the target's.
    const std::int64_t reach = spec.sliding[static_cast<std::size_t>(layer)]
                                   ? spec.slidingWindow
                                   : AttentionSpan::kUnlimited;
    step.span = {reach, reach};
    step.qRows = q;
    step.outRows = o;
    step.kRows = k.rowRange(0, block);
    step.vRows = v.rowRange(0, block);
    backend.attend(step, *activations, *activations);

    const NormSpec next{w.ffnNorm->vector(), spec.eps};
    backend.matmulAdd(*w.attnOutput, *activations, nullptr, x, y, &next, *activations, {});
}

void DraftModel::State::ffnHalf(int layer) {
    const DraftWeights::Layer& w = weights->layers[static_cast<std::size_t>(layer)];
    backend.matmulSwiglu(*w.ffnGate, *w.ffnUp, *activations, ffnGate, ffnUp, *activations);

    const bool last = layer + 1 == spec.layers;
    const DraftWeights::Layer& following = last ? w : weights->layers[std::size_t(layer) + 1];
    const NormSpec next{following.attnNorm->vector(), spec.eps};
    backend.matmulAdd(*w.ffnDown, *activations, nullptr, x, y, last ? nullptr : &next, *activations,
                      {});
}

DraftModel::DraftModel() = default;
DraftModel::~DraftModel() = default;

Result<std::unique_ptr<DraftModel>> DraftModel::make(Backend& backend, DraftSpec spec,
                                                     std::shared_ptr<const DraftWeights> weights,
                                                     TextModel& target, int maxContextRows,
                                                     SharedMemory* shared) {
    CHECK(maxContextRows > 0 && weights->layers.size() == static_cast<std::size_t>(spec.layers));
    CHECK(spec.width == target.spec().width && spec.blockSize - 1 <= TextModel::kMaxLogitRows);
    std::unique_ptr<DraftModel> model(new DraftModel);
    model->m = std::make_unique<State>(backend, std::move(spec), std::move(weights), target,
                                       maxContextRows);
    if (auto made = model->m->makeBuffers(shared); !made) return made.error();
    return model;
}

KvShape DraftModel::kvShape(const DraftSpec& spec, std::int64_t contextTokens, int maxContextRows,
                            KvType type) {
    KvShape shape;
    shape.kvHeads = spec.kvHeads;
    shape.headSize = spec.headSize;
    shape.sliding = spec.sliding;
    shape.window = spec.slidingWindow + 1; // the own position and slidingWindow before it
    shape.context = contextTokens + spec.blockSize;
    shape.maxBatch = maxContextRows + spec.blockSize;
    shape.type = type;
    return shape;
}

const DraftSpec& DraftModel::spec() const {
    return m->spec;
}

Result<void> DraftModel::appendContext(Tensor taps, std::int64_t firstPosition, KvCache& cache,
                                       std::stop_token stop) {
    CHECK(taps.rows > 0 && taps.rows <= m->maxContextRows && firstPosition == cache.length());
    State& s = *m;
    s.contextRows = taps.rows;
    cache.aboutToWrite(taps.rows);
    s.setPositions(firstPosition, taps.rows);
    for (std::int64_t first = 0; first < taps.rows; first += kFuseRows) {
        const std::int64_t count = std::min<std::int64_t>(kFuseRows, taps.rows - first);
        const auto append = [&] {
            return s.appendRows(taps.rowRange(first, count), first, cache, stop);
        };
        bool complete = false;
        if (taps.rows <= s.spec.blockSize) {
            std::ostringstream key;
            key << "append " << this << ' ' << &cache << ' ' << taps.data << ' ' << taps.rows;
            complete = s.backend.replay(key.str(), append);
        } else {
            complete = append();
        }
        if (!complete) return Error{ErrorCode::Cancelled, "stopped"};
    }
    cache.commit(firstPosition + taps.rows);
    return {};
}

// Empty tokens: the raw head rows.
Result<void> DraftModel::State::run(std::int32_t anchor, KvCache& cache,
                                    const std::stop_token& stop, int wanted, Tensor tokens) {
    cache.aboutToWrite(spec.blockSize);
    hostIds[0] = anchor;
    backend.copyIn(std::as_bytes(std::span(hostIds)), ids);
    setPositions(cache.length(), spec.blockSize);
    std::ostringstream key;
    key << "draft " << this << ' ' << &cache << ' ' << wanted << ' ' << tokens.data;
    const bool complete = backend.replay(key.str(), [&] {
        backend.embed(*target.weights().embedding, ids, x); // raw: without the norm
        backend.normQuantize(x, weights->layers.front().attnNorm->vector(), spec.eps, y,
                             *activations);
        for (int layer = 0; layer < spec.layers; ++layer) {
            if (stop.stop_requested()) return false;
            attentionHalf(layer, cache);
            ffnHalf(layer);
        }
        backend.rmsNorm(x, weights->outputNorm->vector(), spec.eps, normed);
        const Tensor rows = normed.rowRange(1, wanted);
        if (tokens.empty())
            target.rawHead(rows);
        else
            target.rawHeadArgmax(rows, tokens);
        return true;
    });
    if (!complete) return Error{ErrorCode::Cancelled, "stopped"};
    return {};
}

Result<Tensor> DraftModel::draft(std::int32_t anchor, KvCache& cache, std::stop_token stop,
                                 int rows) {
    State& s = *m;
    CHECK(rows >= 0 && rows < s.spec.blockSize);
    const int wanted = rows == kAllRows ? s.spec.blockSize - 1 : rows;
    if (auto done = s.run(anchor, cache, stop, wanted, {}); !done) return done.error();
    return s.target.rawHeadRows(wanted);
}

Result<void> DraftModel::draftTokens(std::int32_t anchor, KvCache& cache, std::stop_token stop,
                                     Tensor tokens) {
    CHECK(tokens.rows > 0 && tokens.rows < m->spec.blockSize && tokens.columns == 1);
    return m->run(anchor, cache, stop, int(tokens.rows), tokens);
}

Tensor DraftModel::fusedContext() const {
    return m->fused.rowRange(0, m->contextRows);
}
Tensor DraftModel::hidden() const {
    return m->normed;
}

} // namespace engine

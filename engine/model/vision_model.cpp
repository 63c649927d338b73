#include "engine/model/vision_model.h"

#include "engine/model/buffer_layout.h"
#include "engine/model/weights.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace engine {

namespace {

// Everything but attention works on at most this many rows at a time: the wide rows of the
// feed-forward and of the projector then fit where queries, keys and values are during attention.
constexpr int kChunkPatches = 2048;
constexpr int kChunkCells = 512;

// Rows of each chunk when `total` rows are cut into as few as possible, all about equally large.
std::int64_t chunkRows(std::int64_t total, std::int64_t most) {
    const std::int64_t chunks = (total + most - 1) / most, each = (total + chunks - 1) / chunks;
    return std::min(most, (each + 63) / 64 * 64); // whole tiles of a matrix product
}

// A linear mix of two rows (or columns) of the position table.
struct Tap {
    int first = 0;
    double weight[2] = {}; // of first and first + 1; zero outside the table
};

// Bilinear with half-pixel centres; what lies outside the table counts as zero and is not made up
// for.
std::vector<Tap> resampleTaps(int count, int side) {
    std::vector<Tap> taps(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        const double source = (i + 0.5) * side / count - 0.5;
        const double floor = std::floor(source);
        Tap& tap = taps[static_cast<std::size_t>(i)];
        tap.first = static_cast<int>(floor);
        tap.weight[0] = tap.first >= 0 && tap.first < side ? 1 - (source - floor) : 0;
        tap.weight[1] = tap.first + 1 >= 0 && tap.first + 1 < side ? source - floor : 0;
    }
    return taps;
}

} // namespace

struct VisionModel::State {
    State(Backend& backendIn, VisionSpec specIn, std::shared_ptr<const VisionWeights> weightsIn,
          float textEpsIn, int maxCellsIn)
        : backend(backendIn), spec(specIn), weights(std::move(weightsIn)), textEps(textEpsIn),
          maxCells(maxCellsIn) {}

    Backend& backend;
    VisionSpec spec;
    std::shared_ptr<const VisionWeights> weights;
    float textEps = 0;
    int maxCells = 0;

    Buffer memory;
    std::unique_ptr<Activations> activations; // of the layers
    std::unique_ptr<Activations> patchActivations, cellActivations;
    Tensor x, q, k, v; // [patches, width]
    Tensor o;          // [patches, width] what the attention makes of the queries, in their place
    Tensor positions;  // I32 [patches, 2]: column + 1, row + 1
    Tensor cellRows;   // I32 [maxCells, mergeSize^2]: rows of x that make a cell
    Tensor y;          // [kChunkPatches, width] a normed input, or what is added to x
    // The following take memory of q, k and v while that is not in use.
    Tensor rows;             // [maxCells, projectionWidth] the result
    Tensor pixels;           // [kChunkPatches, 3 * patchSize^2]
    Tensor added;            // [kChunkPatches, width] what the attention adds to x
    Tensor ffn;              // [kChunkPatches, ffnWidth]
    Tensor merged;           // [kChunkCells, mergeSize^2 * width]
    Tensor middle0, middle1; // [kChunkCells, rows of project0, of project1]

    // Of the picture being encoded.
    std::int64_t patches = 0;
    std::vector<std::int32_t> order;        // raster index of each row
    std::vector<std::int32_t> windowStarts; // rows at which windows begin, then the number of rows
    std::vector<float> hostRows;
    std::vector<std::int32_t> hostIndices;

    int mergedPatches() const { return spec.mergeSize * spec.mergeSize; }
    AttentionShape attentionShape() const { return {spec.heads, spec.heads, spec.headSize}; }

    Result<void> makeBuffers(SharedMemory* shared);
    void placeRows(const PatchedImage& image);
    void placeCells(const PatchedImage& image);
    void embedPatches(const PatchedImage& image, const Trace& trace);
    Result<void> makeActivations(std::int64_t patchRows, std::int64_t cellRowsAtOnce);
    void linear(Tensor in, Activations& prepared, const Weight& weight, Tensor out);
    void queriesKeysValues(const VisionWeights::Layer& w);
    void addAttention(const VisionWeights::Layer& w);
    void addFfn(const VisionWeights::Layer& w);
    void project(std::int64_t cells, const Trace& trace);
    template<class Body> // body(first row, number of rows)
    void eachChunk(Body&& body) const {
        const std::int64_t each = chunkRows(patches, kChunkPatches);
        for (std::int64_t first = 0; first < patches; first += each)
            body(first, std::min(each, patches - first));
    }
};

Result<void> VisionModel::State::makeBuffers(SharedMemory* shared) {
    const std::int64_t most = std::int64_t(maxCells) * mergedPatches();
    const std::int64_t pixelColumns = weights->patchEmbedding->columns;
    const std::int64_t mergedColumns = weights->project0->columns;
    const std::int64_t patchRows = std::min<std::int64_t>(kChunkPatches, most);
    const std::int64_t cellRowsAtOnce = std::min(kChunkCells, maxCells);
    auto allocated = allocateOrShare(
        backend, "working memory of the vision part", shared, SharedMemory::Phase::Pictures,
        [this, most, pixelColumns, mergedColumns, patchRows, cellRowsAtOnce](BufferLayout& layout) {
            const auto f32 = [&](std::int64_t n, std::int64_t columns) {
                return layout.add(ElementType::F32, n, columns);
            };
            x = f32(most, spec.width);
            positions = layout.add(ElementType::I32, most, 2);
            cellRows = layout.add(ElementType::I32, maxCells, mergedPatches());
            y = f32(patchRows, spec.width);

            const std::int64_t queries = layout.offset();
            q = f32(most, spec.width);
            o = q;
            const std::int64_t keys = layout.offset();
            k = f32(most, spec.width);
            v = f32(most, spec.width);
            layout.goBackTo(keys);
            added = f32(patchRows, spec.width);
            layout.goBackTo(queries);
            pixels = f32(patchRows, pixelColumns);
            layout.goBackTo(queries);
            ffn = f32(patchRows, spec.ffnWidth);
            layout.goBackTo(queries);
            rows = f32(maxCells, spec.projectionWidth);
            merged = f32(cellRowsAtOnce, mergedColumns);
            middle0 = f32(cellRowsAtOnce, weights->project0->rows);
            middle1 = f32(cellRowsAtOnce, weights->project1->rows);
        });
    if (!allocated) return allocated.error();
    memory = std::move(*allocated);

    if (auto made = makeActivations(patchRows, cellRowsAtOnce); !made) return made.error();
    hostRows.reserve(
        static_cast<std::size_t>(patchRows * std::max<std::int64_t>(pixelColumns, spec.width)));
    return {};
}

Result<void> VisionModel::State::makeActivations(std::int64_t patchRows,
                                                 std::int64_t cellRowsAtOnce) {
    const auto make = [&](std::int64_t n, std::int64_t columns,
                          const std::vector<const Weight*>& users,
                          std::unique_ptr<Activations>& to) -> Result<void> {
        auto made = backend.makeActivations(n, columns, users);
        if (!made) return made.error();
        to = std::move(*made);
        return {};
    };
    std::vector<const Weight*> users;
    for (const VisionWeights::Layer& w : weights->layers)
        for (const WeightPtr* each : {&w.q, &w.k, &w.v, &w.out, &w.ffnUp, &w.ffnDown})
            users.push_back(each->get());
    const std::int64_t widest = std::max(spec.width, spec.ffnWidth);
    if (auto made = make(patchRows, widest, users, activations); !made) return made;
    if (auto made = make(patchRows, weights->patchEmbedding->columns,
                         {weights->patchEmbedding.get()}, patchActivations);
        !made)
        return made;
    const std::int64_t widestCell = std::max(
        {weights->project0->columns, weights->project1->columns, weights->project2->columns});
    return make(cellRowsAtOnce, widestCell,
                {weights->project0.get(), weights->project1.get(), weights->project2.get()},
                cellActivations);
}

std::vector<std::int32_t> VisionModel::windowOrder(int gridRows, int gridColumns, int windowSide) {
    std::vector<std::int32_t> order;
    order.reserve(static_cast<std::size_t>(gridRows) * static_cast<std::size_t>(gridColumns));
    for (int top = 0; top < gridRows; top += windowSide)
        for (int left = 0; left < gridColumns; left += windowSide)
            for (int r = top; r < std::min(top + windowSide, gridRows); ++r)
                for (int c = left; c < std::min(left + windowSide, gridColumns); ++c)
                    order.push_back(r * gridColumns + c);
    return order;
}

// Rows are ordered by attention window, so that every window is a run of consecutive rows.
void VisionModel::State::placeRows(const PatchedImage& image) {
    const int side = spec.gridSide;
    order = windowOrder(image.gridRows, image.gridColumns, side);
    windowStarts.clear();
    std::int32_t start = 0;
    for (int top = 0; top < image.gridRows; top += side)
        for (int left = 0; left < image.gridColumns; left += side) {
            windowStarts.push_back(start);
            start +=
                std::min(side, image.gridRows - top) * std::min(side, image.gridColumns - left);
        }
    windowStarts.push_back(start);

    hostIndices.clear();
    for (const std::int32_t raster : order) {
        hostIndices.push_back(raster % image.gridColumns + 1);
        hostIndices.push_back(raster / image.gridColumns + 1);
    }
    backend.copyIn(std::as_bytes(std::span(hostIndices)), positions.rowRange(0, patches));
}

void VisionModel::State::placeCells(const PatchedImage& image) {
    std::vector<std::int32_t> rowOfRaster(order.size());
    for (std::size_t row = 0; row < order.size(); ++row)
        rowOfRaster[static_cast<std::size_t>(order[row])] = static_cast<std::int32_t>(row);
    const int merge = spec.mergeSize;
    hostIndices.clear();
    for (int top = 0; top < image.gridRows; top += merge)
        for (int left = 0; left < image.gridColumns; left += merge)
            for (int dy = 0; dy < merge; ++dy)
                for (int dx = 0; dx < merge; ++dx)
                    hostIndices.push_back(rowOfRaster[static_cast<std::size_t>(
                        (top + dy) * image.gridColumns + left + dx)]);
    backend.copyIn(std::as_bytes(std::span(hostIndices)),
                   cellRows.rowRange(0, patches / mergedPatches()));
}

void VisionModel::State::embedPatches(const PatchedImage& image, const Trace& trace) {
    const std::vector<Tap> down = resampleTaps(image.gridRows, spec.gridSide);
    const std::vector<Tap> across = resampleTaps(image.gridColumns, spec.gridSide);
    const auto pixelColumns = static_cast<std::size_t>(pixels.columns);
    const auto width = static_cast<std::size_t>(spec.width);

    const auto addPosition = [&](std::int32_t raster) {
        const Tap& ty = down[static_cast<std::size_t>(raster / image.gridColumns)];
        const Tap& tx = across[static_cast<std::size_t>(raster % image.gridColumns)];
        const std::size_t at = hostRows.size();
        hostRows.resize(at + width);
        for (std::size_t c = 0; c < width; ++c) {
            double sum = 0;
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) {
                    const double weight = ty.weight[i] * tx.weight[j];
                    if (weight == 0) continue; // may lie outside the table
                    const auto entry =
                        static_cast<std::size_t>((ty.first + i) * spec.gridSide + tx.first + j);
                    sum += weight * weights->positionTable[entry * width + c];
                }
            hostRows[at + c] = static_cast<float>(sum);
        }
    };

    eachChunk([&](std::int64_t first, std::int64_t count) {
        const auto ids = std::span(order).subspan(static_cast<std::size_t>(first),
                                                  static_cast<std::size_t>(count));
        const Tensor xs = x.rowRange(first, count), ys = y.rowRange(0, count);
        hostRows.clear();
        for (const std::int32_t raster : ids) {
            const float* patch =
                image.patches.data() + static_cast<std::size_t>(raster) * pixelColumns;
            hostRows.insert(hostRows.end(), patch, patch + pixelColumns);
        }
        backend.copyIn(std::as_bytes(std::span(hostRows)), pixels.rowRange(0, count));
        linear(pixels.rowRange(0, count), *patchActivations, *weights->patchEmbedding, xs);

        hostRows.clear();
        for (const std::int32_t raster : ids) addPosition(raster);
        backend.copyIn(std::as_bytes(std::span(hostRows)), ys);
        if (trace) trace("pos", ys);
        backend.add(xs, ys);
        if (trace) trace("embed", xs);
        backend.layerNorm(xs, weights->preNorm->vector(), weights->preNormBias->vector(), spec.eps,
                          xs);
        if (trace) trace("ln_pre", xs);
    });
}

void VisionModel::State::linear(Tensor in, Activations& prepared, const Weight& weight,
                                Tensor out) {
    backend.quantize(in, prepared);
    const MatmulJob job[] = {{&weight, out, {}}};
    backend.matmul(job, prepared);
}

void VisionModel::State::queriesKeysValues(const VisionWeights::Layer& w) {
    const RopeSpec rope{RopePairing::Adjacent, spec.ropeTheta, spec.headSize, 2};
    eachChunk([&](std::int64_t first, std::int64_t count) {
        const Tensor ys = y.rowRange(0, count);
        const Tensor qs = q.rowRange(first, count), ks = k.rowRange(first, count);
        const Tensor vs = v.rowRange(first, count), at = positions.rowRange(first, count);
        backend.layerNormQuantize(x.rowRange(first, count), w.norm1->vector(),
                                  w.norm1Bias->vector(), spec.eps, ys, *activations);
        const MatmulJob jobs[] = {{w.q.get(), qs, w.qBias->vector()},
                                  {w.k.get(), ks, w.kBias->vector()},
                                  {w.v.get(), vs, w.vBias->vector()}};
        backend.matmul(jobs, *activations);
        backend.rope(qs, at, rope);
        backend.rope(ks, at, rope);
    });
}

void VisionModel::State::addAttention(const VisionWeights::Layer& w) {
    eachChunk([&](std::int64_t first, std::int64_t count) {
        const Tensor out = added.rowRange(0, count);
        backend.quantize(o.rowRange(first, count), *activations);
        const MatmulJob job[] = {{w.out.get(), out, w.outBias->vector()}};
        backend.matmul(job, *activations);
        backend.add(x.rowRange(first, count), out);
    });
}

void VisionModel::State::addFfn(const VisionWeights::Layer& w) {
    eachChunk([&](std::int64_t first, std::int64_t count) {
        const Tensor xs = x.rowRange(first, count), ys = y.rowRange(0, count);
        const Tensor wide = ffn.rowRange(0, count);
        backend.layerNormQuantize(xs, w.norm2->vector(), w.norm2Bias->vector(), spec.eps, ys,
                                  *activations);
        const MatmulJob up[] = {{w.ffnUp.get(), wide, w.ffnUpBias->vector()}};
        backend.matmul(up, *activations);
        backend.geluQuantize(wide, *activations);
        const MatmulJob down[] = {{w.ffnDown.get(), ys, w.ffnDownBias->vector()}};
        backend.matmul(down, *activations);
        backend.add(xs, ys);
    });
}

// Cells of mergeSize x mergeSize patches become rows with the channel as the outer index.
void VisionModel::State::project(std::int64_t cells, const Trace& trace) {
    const std::int64_t each = chunkRows(cells, kChunkCells);
    for (std::int64_t first = 0; first < cells; first += each) {
        const std::int64_t count = std::min(each, cells - first);
        const Tensor in = merged.rowRange(0, count), out = rows.rowRange(first, count);
        const Tensor a = middle0.rowRange(0, count), b = middle1.rowRange(0, count);
        backend.gatherRows(x.rowRange(0, patches), cellRows.rowRange(first, count), in);
        if (trace) trace("shuffled", in);
        linear(in, *cellActivations, *weights->project0, a);
        backend.gelu(a);
        linear(a, *cellActivations, *weights->project1, b);
        backend.gelu(b);
        linear(b, *cellActivations, *weights->project2, out);
        if (trace) trace("projected", out);
        backend.rmsNorm(out, {}, textEps, out); // what the text model does to a token's embedding
    }
}

VisionModel::VisionModel() = default;
VisionModel::~VisionModel() = default;

Result<std::unique_ptr<VisionModel>> VisionModel::make(Backend& backend, VisionSpec spec,
                                                       std::shared_ptr<const VisionWeights> weights,
                                                       float textEps, int maxCells,
                                                       SharedMemory* shared) {
    CHECK(maxCells > 0 && weights->layers.size() == static_cast<std::size_t>(spec.layers));
    std::unique_ptr<VisionModel> model(new VisionModel);
    model->m = std::make_unique<State>(backend, spec, std::move(weights), textEps, maxCells);
    if (auto made = model->m->makeBuffers(shared); !made) return made.error();
    return model;
}

const VisionSpec& VisionModel::spec() const {
    return m->spec;
}

Result<Tensor> VisionModel::encode(const PatchedImage& image, std::stop_token stop) {
    return encode(image, std::move(stop), {});
}

Result<Tensor> VisionModel::encode(const PatchedImage& image, std::stop_token stop,
                                   const Trace& trace) {
    State& s = *m;
    s.patches = std::int64_t(image.gridRows) * image.gridColumns;
    const std::int64_t cells = s.patches / s.mergedPatches();
    CHECK(image.gridRows > 0 && image.gridRows % s.spec.mergeSize == 0);
    CHECK(image.gridColumns > 0 && image.gridColumns % s.spec.mergeSize == 0);
    CHECK(cells <= s.maxCells);
    CHECK(std::int64_t(image.patches.size()) == s.patches * s.pixels.columns);

    s.placeRows(image);
    s.placeCells(image);
    s.embedPatches(image, trace);
    const std::int32_t whole[] = {0, static_cast<std::int32_t>(s.patches)};
    const auto rowsOf = [&](const Tensor& t) { return t.rowRange(0, s.patches); };
    for (int i = 0; i < s.spec.layers; ++i) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "stopped"};
        const VisionWeights::Layer& w = s.weights->layers[static_cast<std::size_t>(i)];
        s.queriesKeysValues(w);
        const std::span<const std::int32_t> groups =
            s.spec.fullAttention(i) ? std::span<const std::int32_t>(whole) : s.windowStarts;
        s.backend.groupAttention(rowsOf(s.q), rowsOf(s.k), rowsOf(s.v), s.attentionShape(), groups,
                                 rowsOf(s.o));
        s.addAttention(w);
        s.addFfn(w);
        if (trace) trace("block." + std::to_string(i), rowsOf(s.x));
    }
    s.eachChunk([&](std::int64_t first, std::int64_t count) {
        const Tensor xs = s.x.rowRange(first, count);
        s.backend.layerNorm(xs, s.weights->postNorm->vector(), s.weights->postNormBias->vector(),
                            s.spec.eps, xs);
        if (trace) trace("ln_post", xs);
    });
    s.project(cells, trace);
    return s.rows.rowRange(0, cells);
}

} // namespace engine

#include "cuda/row_ops.h"

#include "cuda/kernels/row_args.h"
#include "engine/quant/quant_table.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace cuda {

namespace {

using engine::ElementType;
using engine::NormSpec;
using engine::Tensor;

constexpr unsigned kThreads = 256;

static_assert(kMaxTopValues == engine::Backend::kMaxTop);

bool isF32(const Tensor& t) {
    return t.type == ElementType::F32 && t.strideBytes % 4 == 0;
}
bool isI32(const Tensor& t) {
    return t.type == ElementType::I32 && t.strideBytes % 4 == 0;
}
bool sameShape(const Tensor& a, const Tensor& b) {
    return a.rows == b.rows && a.columns == b.columns;
}
bool gapless(const Tensor& t) {
    return t.strideBytes == t.rowBytes();
}
float* floats(const Tensor& t) {
    return reinterpret_cast<float*>(t.data);
}
std::int32_t* numbers(const Tensor& t) {
    return reinterpret_cast<std::int32_t*>(t.data);
}
std::int64_t stride(const Tensor& t) { // in elements of 4 bytes
    return t.strideBytes / 4;
}
// Weights of a norm: one row; null for none.
const float* vector(const Tensor& t, std::int64_t columns) {
    if (t.empty()) return nullptr;
    CHECK(isF32(t) && t.columns == columns);
    return floats(t);
}

unsigned pieces(std::int64_t count, std::int64_t each) {
    constexpr std::int64_t kMostY = 65535; // blocks go on with what lies beyond
    return static_cast<unsigned>(std::clamp<std::int64_t>((count + each - 1) / each, 1, kMostY));
}

std::int64_t unitsOfRow(std::int64_t columns) {
    CHECK(columns > 0 && columns <= std::int64_t(kMaxNormUnits) * kUnitColumns);
    return unitsOf(columns);
}

// Warps of a block that norms a row: all that find work while there are few rows, since then only
// the time of one row counts.
unsigned normThreads(std::int64_t rows, std::int64_t columns) {
    const std::int64_t most = rows <= 64 ? 32 : 8;
    return static_cast<unsigned>(32 * std::min(unitsOfRow(columns), most));
}

LaunchShape logitShape(std::int64_t columns, std::int64_t rows, std::int64_t part) {
    LaunchShape shape;
    shape.gridX = static_cast<unsigned>((columns + part - 1) / part);
    CHECK(shape.gridX <= unsigned(kMaxLogitParts));
    shape.gridY = static_cast<unsigned>(rows);
    shape.threads = kLogitThreads;
    return shape;
}

RecordRows recordsOf(const QuantizedRows& out, std::int64_t rows, std::int64_t columns) {
    CHECK(reinterpret_cast<std::uintptr_t>(out.tiles) % 16 == 0);
    RecordRows records;
    records.tiles = out.tiles;
    records.floats = out.floats;
    records.floatStride = out.floatStride;
    records.rows = rows;
    records.columns = columns;
    records.tilesPerUnit = (rows + kTileRows - 1) / kTileRows;
    return records;
}

} // namespace

const std::int64_t RowOps::kScratchBytes = sizeof(LogitScratch);
const std::int64_t RowOps::kMaxGlueColumns = std::int64_t(kMaxGlueUnits) * kUnitColumns;

RowOps::RowOps(Launcher& launcher, engine::Buffer scratch)
    : m_launcher(launcher), m_scratch(std::move(scratch)) {
    CHECK(m_scratch.bytes() >= kScratchBytes);
}

void RowOps::embed(const EmbeddingTable& table, Tensor ids, Tensor out) {
    const engine::QuantFormat& format = engine::quantFormat(table.type);
    CHECK(isI32(ids) && isF32(out) && ids.rows == out.rows && out.columns == table.columns);
    CHECK(table.columns % format.blockWeights == 0 && kUnitColumns % format.blockWeights == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(table.data) % 4 == 0);
    if (out.rows == 0) return;
    RowEmbedArgs args;
    args.table = static_cast<const std::uint8_t*>(table.data);
    args.ids = numbers(ids);
    args.out = floats(out);
    args.idStride = stride(ids);
    args.outStride = stride(out);
    args.tableRows = table.rows;
    args.rowBytes = format.rowBytes(table.columns);
    args.columns = static_cast<std::int32_t>(table.columns);
    args.type = static_cast<std::uint32_t>(table.type);
    args.unitBytes = static_cast<std::int32_t>(format.rowBytes(kUnitColumns));
    LaunchShape shape;
    shape.gridX = static_cast<unsigned>(out.rows);
    shape.gridY = static_cast<unsigned>(unitsOfRow(table.columns));
    shape.threads = kThreads;
    m_launcher.run(KernelId::rows_embed, shape, args);
}

void RowOps::gatherRows(Tensor x, Tensor indices, Tensor out) {
    const std::int64_t n = indices.columns;
    CHECK(isF32(x) && isF32(out) && isI32(indices) && indices.rows == out.rows);
    CHECK(n > 0 && n <= std::numeric_limits<std::int32_t>::max() && x.columns * n == out.columns);
    if (out.rows == 0 || out.columns == 0) return;
    RowGatherArgs args;
    args.x = floats(x);
    args.indices = numbers(indices);
    args.out = floats(out);
    args.xStride = stride(x);
    args.indexStride = stride(indices);
    args.outStride = stride(out);
    args.xRows = x.rows;
    args.rows = out.rows;
    args.columns = x.columns;
    args.group = static_cast<std::int32_t>(n);
    LaunchShape shape;
    shape.gridX = static_cast<unsigned>(out.rows);
    shape.gridY = pieces(out.columns, kThreads);
    shape.threads = kThreads;
    m_launcher.run(KernelId::rows_gather, shape, args);
}

void RowOps::copy(Tensor from, Tensor to) {
    CHECK(from.type == to.type && sameShape(from, to));
    const std::int64_t rowBytes = from.rowBytes();
    if (from.rows == 0 || rowBytes == 0) return;
    RowCopyArgs args;
    args.from = reinterpret_cast<const std::uint8_t*>(from.data);
    args.to = reinterpret_cast<std::uint8_t*>(to.data);
    args.fromStride = from.strideBytes;
    args.toStride = to.strideBytes;
    args.rows = from.rows;
    args.rowBytes = rowBytes;
    if (gapless(from) && gapless(to)) {
        args.rows = 1;
        args.rowBytes = from.rows * rowBytes;
    }
    const auto all = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(from.data)) |
                     static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(to.data)) |
                     static_cast<std::uint64_t>(args.rowBytes) |
                     (args.rows == 1 ? 0
                                     : static_cast<std::uint64_t>(args.fromStride) |
                                           static_cast<std::uint64_t>(args.toStride));
    CHECK(all % 2 == 0); // every element type has an even number of bytes
    args.wordBytes = all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : 2;
    LaunchShape shape;
    shape.gridX = static_cast<unsigned>(args.rows);
    shape.gridY = pieces(args.rowBytes / args.wordBytes, 4 * kThreads);
    shape.threads = kThreads;
    m_launcher.run(KernelId::rows_copy, shape, args);
}

void RowOps::normalize(KernelId wide, KernelId narrow, Tensor x, Tensor gamma, Tensor beta,
                       float eps, Tensor out) {
    CHECK(isF32(x) && isF32(out) && sameShape(x, out));
    if (x.rows == 0) return;
    RowNormArgs args;
    args.x = floats(x);
    args.gamma = vector(gamma, x.columns);
    args.beta = vector(beta, x.columns);
    args.out = floats(out);
    args.xStride = stride(x);
    args.outStride = stride(out);
    args.rows = x.rows;
    args.columns = static_cast<std::int32_t>(x.columns);
    args.eps = eps;
    LaunchShape shape;
    if (narrow != wide && unitsOfRow(x.columns) == 1) {
        shape.threads = kThreads;
        shape.gridX = static_cast<unsigned>((x.rows + kThreads / 32 - 1) / (kThreads / 32));
        m_launcher.run(narrow, shape, args);
    } else {
        shape.threads = normThreads(x.rows, x.columns);
        shape.gridX = static_cast<unsigned>(x.rows);
        m_launcher.run(wide, shape, args);
    }
}

void RowOps::rmsNorm(Tensor x, Tensor gamma, float eps, Tensor out) {
    normalize(KernelId::rows_rms_norm, KernelId::rows_rms_norm_short, x, gamma, {}, eps, out);
}

void RowOps::layerNorm(Tensor x, Tensor gamma, Tensor beta, float eps, Tensor out) {
    normalize(KernelId::rows_layer_norm, KernelId::rows_layer_norm, x, gamma, beta, eps, out);
}

void RowOps::postNormAdd(Tensor x, Tensor y, Tensor gamma, float eps) {
    normalize(KernelId::rows_post_norm_add, KernelId::rows_post_norm_add, y, gamma, {}, eps, x);
}

void RowOps::quantizeEach(KernelId kernel, Tensor x, Tensor y, const QuantizedRows& out) {
    CHECK(isF32(x) && x.columns > 0);
    if (x.rows == 0) return;
    RowQuantizeArgs args;
    args.x = floats(x);
    args.xStride = stride(x);
    if (y.data) {
        CHECK(isF32(y) && sameShape(x, y));
        args.y = floats(y);
        args.yStride = stride(y);
    }
    args.out = recordsOf(out, x.rows, x.columns);
    LaunchShape shape;
    shape.gridX = static_cast<unsigned>(args.out.tilesPerUnit);
    shape.gridY = static_cast<unsigned>(unitsOfRow(x.columns));
    shape.threads = 32 * kTileRows;
    m_launcher.run(kernel, shape, args);
}

void RowOps::quantize(Tensor x, const QuantizedRows& out) {
    quantizeEach(KernelId::rows_quantize, x, {}, out);
}
void RowOps::geluQuantize(Tensor x, const QuantizedRows& out) {
    quantizeEach(KernelId::rows_gelu_quantize, x, {}, out);
}
void RowOps::swigluQuantize(Tensor gate, Tensor up, const QuantizedRows& out) {
    quantizeEach(KernelId::rows_swiglu_quantize, gate, up, out);
}
void RowOps::gateQuantize(Tensor x, Tensor gate, const QuantizedRows& out) {
    quantizeEach(KernelId::rows_gate_quantize, x, gate, out);
}

const std::int64_t RowOps::kMaxResidualColumns = std::int64_t(kMaxResidualUnits) * kUnitColumns;

void RowOps::residual(Tensor y, const NormSpec* post, Tensor x, const NormSpec* next,
                      const QuantizedRows& out) {
    CHECK(isF32(x) && isF32(y) && sameShape(x, y) && x.columns > 0 &&
          x.columns <= kMaxResidualColumns);
    if (x.rows == 0) return;
    RowResidualArgs args;
    args.x = floats(x);
    args.y = floats(y);
    args.xStride = stride(x);
    args.yStride = stride(y);
    args.rows = x.rows;
    args.columns = static_cast<std::int32_t>(x.columns);
    LaunchShape shape;
    shape.gridX = static_cast<unsigned>(x.rows);
    shape.threads = static_cast<unsigned>(32 * unitsOfRow(x.columns));
    if (post) {
        args.hasPost = 1;
        args.postGamma = vector(post->gamma, x.columns);
        args.postEps = post->eps;
    }
    if (next) {
        args.hasNext = 1;
        args.nextGamma = vector(next->gamma, x.columns);
        args.nextEps = next->eps;
        args.out = recordsOf(out, x.rows, x.columns);
    }
    m_launcher.run(KernelId::rows_residual, shape, args);
}

void RowOps::layerNormQuantize(Tensor x, Tensor gamma, Tensor beta, float eps,
                               const QuantizedRows& out) {
    CHECK(isF32(x));
    if (x.rows == 0) return;
    RowNormQuantizeArgs args;
    args.x = floats(x);
    args.gamma = vector(gamma, x.columns);
    args.beta = vector(beta, x.columns);
    args.xStride = stride(x);
    args.out = recordsOf(out, x.rows, x.columns);
    args.eps = eps;
    LaunchShape shape;
    shape.gridX = static_cast<unsigned>(x.rows);
    shape.threads = normThreads(x.rows, x.columns);
    m_launcher.run(KernelId::rows_layer_norm_quantize, shape, args);
}

void RowOps::normQuantize(Tensor x, Tensor gamma, float eps, const QuantizedRows& out) {
    CHECK(isF32(x));
    if (x.rows == 0) return;
    RowNormQuantizeArgs args;
    args.x = floats(x);
    args.gamma = vector(gamma, x.columns);
    args.xStride = stride(x);
    args.out = recordsOf(out, x.rows, x.columns);
    args.eps = eps;
    LaunchShape shape;
    shape.gridX = static_cast<unsigned>(x.rows);
    shape.threads = normThreads(x.rows, x.columns);
    m_launcher.run(KernelId::rows_norm_quantize, shape, args);
}

// ---- element by element

void RowOps::elementwise(KernelId kernel, Tensor x, Tensor y, Tensor out, float scale, float cap) {
    CHECK(isF32(x) && isF32(out) && sameShape(x, out));
    if (x.rows == 0 || x.columns == 0) return;
    RowElementArgs args;
    args.x = floats(x);
    args.out = floats(out);
    args.xStride = stride(x);
    args.outStride = stride(out);
    args.rows = x.rows;
    args.columns = x.columns;
    args.scale = scale;
    args.cap = cap;
    bool whole = gapless(x) && gapless(out);
    if (!y.empty()) {
        CHECK(isF32(y) && y.columns == x.columns && (y.rows == x.rows || y.rows == 1));
        args.y = floats(y);
        args.yStride = y.rows == 1 ? 0 : stride(y);
        whole = whole && sameShape(x, y) && gapless(y);
    }
    if (whole) { // one long row
        args.columns = x.rows * x.columns;
        args.rows = 1;
    }
    LaunchShape shape;
    shape.gridX = static_cast<unsigned>(args.rows);
    shape.gridY = pieces(args.columns, 4 * kThreads);
    shape.threads = kThreads;
    m_launcher.run(kernel, shape, args);
}

void RowOps::sigmoidGate(Tensor x, Tensor gate) {
    CHECK(sameShape(x, gate));
    elementwise(KernelId::rows_sigmoid_gate, x, gate, x);
}

void RowOps::swiglu(Tensor gate, Tensor up, Tensor out) {
    CHECK(sameShape(gate, up));
    elementwise(KernelId::rows_swiglu, gate, up, out);
}

void RowOps::gelu(Tensor x) {
    elementwise(KernelId::rows_gelu, x, {}, x);
}

void RowOps::add(Tensor x, Tensor y) {
    elementwise(KernelId::rows_add, x, y, x);
}

void RowOps::softcap(Tensor z, float scale, float cap) {
    elementwise(KernelId::rows_softcap, z, {}, z, scale, cap);
}

// ---- fused steps

// With the blocks spread over all multiprocessors. Where kernels overlap, blocks start as soon as a
// multiprocessor has room, and those that get free first would take most of them and fetch their
// sums one after the other; so a block asks for so much shared memory that no more fit than must.
// Not with few rows: there a block is so small that it starts beside the product before it.
// cluster: blocks that must fit the same group of multiprocessors at a time, so that a few of a
// group may be of no use.
void RowOps::runEvenly(KernelId kernel, LaunchShape shape, std::int64_t rows, unsigned cluster,
                       const auto& args) {
    const unsigned blocks = shape.gridX * shape.gridY;
    auto usable = static_cast<unsigned>(m_launcher.multiprocessors());
    if (cluster > 1) usable = std::max(1u, usable / 4 * 3);
    const unsigned perMultiprocessor = (blocks + usable - 1) / usable;
    // The card adds 1 KiB to what a block asks for, so one more than that does not fit.
    if (m_launcher.computeCapability() >= 90 && rows > kTileRows)
        shape.sharedBytes =
            static_cast<unsigned>(m_launcher.sharedBytesPerBlock()) / (perMultiprocessor + 1);
    m_launcher.run(kernel, shape, args);
}

void RowOps::residualGlue(const PartialSums& y, const NormSpec* post, Tensor x,
                          const NormSpec* next, const QuantizedRows& out, Tensor tap) {
    CHECK(isF32(x) && x.columns > 0 && x.columns <= kMaxGlueColumns);
    CHECK(x.rows > 0 && x.rows <= kMaxStepRows && y.columns == x.rows && y.segments > 0);
    CHECK(y.rowTiles == (x.columns + 15) / 16);
    GlueResidualArgs args;
    args.y = y;
    args.x = floats(x);
    args.xStride = stride(x);
    args.out = recordsOf(next ? out : QuantizedRows(), x.rows, x.columns);
    if (post) {
        args.hasPost = 1;
        args.postGamma = vector(post->gamma, x.columns);
        args.postEps = post->eps;
    }
    if (next) {
        args.hasNext = 1;
        args.nextGamma = vector(next->gamma, x.columns);
        args.nextEps = next->eps;
    }
    if (!tap.empty()) {
        CHECK(isF32(tap) && sameShape(tap, x));
        args.tap = floats(tap);
        args.tapStride = stride(tap);
    }
    const auto units = static_cast<unsigned>(unitsOf(x.columns));
    const auto rows = static_cast<unsigned>(x.rows);
    LaunchShape shape;
    if (m_launcher.computeCapability() >= 90) {
        shape.gridX = kGlueCluster;
        shape.gridY = rows;
        shape.threads = 32 * ((units + kGlueCluster - 1) / kGlueCluster);
        runEvenly(KernelId::glue_residual_cluster, shape, x.rows, kGlueCluster, args);
    } else {
        shape.gridX = rows;
        shape.threads = 32 * units;
        m_launcher.run(KernelId::glue_residual, shape, args);
    }
}

void RowOps::swigluGlue(const PartialSums& gate, const PartialSums& up, std::int64_t columns,
                        const QuantizedRows& out) {
    CHECK(gate.columns > 0 && gate.columns <= kMaxStepRows && gate.segments > 0 && up.segments > 0);
    CHECK(up.columns == gate.columns && gate.rowTiles == (columns + 15) / 16 &&
          up.rowTiles == gate.rowTiles);
    GlueSwigluArgs args;
    args.gate = gate;
    args.up = up;
    args.out = recordsOf(out, gate.columns, columns);
    LaunchShape shape;
    shape.gridX = static_cast<unsigned>(args.out.tilesPerUnit);
    shape.gridY = static_cast<unsigned>(unitsOfRow(columns));
    shape.threads = 32 * static_cast<unsigned>(std::min<std::int64_t>(gate.columns, kTileRows));
    runEvenly(KernelId::glue_swiglu, shape, gate.columns, 1, args);
}

// ---- logits

// All but z; for at most kLogitRows rows.
LogitArgs RowOps::logitArgs(std::int64_t columns, Tensor values, Tensor ids) const {
    CHECK(isI32(ids) && ids.columns > 0 && columns >= ids.columns);
    LogitArgs args;
    args.ids = numbers(ids);
    args.scratch = reinterpret_cast<LogitScratch*>(m_scratch.data());
    args.idStride = stride(ids);
    args.columns = static_cast<std::int32_t>(columns);
    args.n = static_cast<std::int32_t>(ids.columns);
    if (!values.empty()) {
        CHECK(isF32(values) && sameShape(values, ids) && ids.columns <= kMaxTopValues);
        args.values = floats(values);
        args.valueStride = stride(values);
    }
    return args;
}

void RowOps::fromLogits(KernelId kernel, Tensor z, Tensor values, Tensor ids) {
    CHECK(isF32(z) && ids.rows == z.rows);
    for (std::int64_t first = 0; first < z.rows; first += kLogitRows) {
        const std::int64_t count = std::min<std::int64_t>(kLogitRows, z.rows - first);
        const Tensor some = values.empty() ? values : values.rowRange(first, count);
        LogitArgs args = logitArgs(z.columns, some, ids.rowRange(first, count));
        args.z = floats(z.rowRange(first, count));
        args.zStride = stride(z);
        m_launcher.run(kernel, logitShape(z.columns, count, kLogitPart), args);
    }
}

const std::int64_t RowOps::kMaxHeadColumns = std::int64_t(kMaxLogitParts) * kHeadPart;

void RowOps::headLargest(const PartialSums& sums, std::int64_t columns, float scale, float cap,
                         Tensor values, Tensor ids) {
    CHECK(sums.columns == ids.rows && ids.rows > 0 && ids.rows <= kLogitRows && sums.segments > 0);
    CHECK(sums.rowTiles == (columns + 15) / 16);
    CHECK(!values.empty() || ids.columns == 1);
    HeadArgs args;
    args.logits = logitArgs(columns, values, ids);
    args.sums = sums;
    args.scale = scale;
    args.cap = cap;
    m_launcher.run(values.empty() ? KernelId::head_argmax : KernelId::head_largest,
                   logitShape(columns, ids.rows, kHeadPart), args);
}

void RowOps::argmax(Tensor z, Tensor ids) {
    CHECK(ids.columns == 1);
    fromLogits(KernelId::logits_argmax, z, {}, ids);
}

void RowOps::largest(Tensor z, Tensor values, Tensor ids) {
    CHECK(!values.empty());
    fromLogits(KernelId::logits_largest, z, values, ids);
}

} // namespace cuda

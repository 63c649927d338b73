// Importing weights, and the activations that meet them.

#include "cuda/cuda_backend.h"
#include "engine/base/check.h"
#include "engine/quant/quant_table.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace cuda {

using engine::Activations;
using engine::ElementType;
using engine::Error;
using engine::ErrorCode;
using engine::Result;
using engine::Weight;
using engine::WeightSource;
using engine::WeightUse;

namespace {

constexpr std::int64_t kSumAlign = 256; // bytes

std::int64_t sumBytes(const UnitLayout& layout) {
    const std::int64_t bytes = GemmRows::sumFloats(layout, kMaxStepRows) * 4;
    return (bytes + kSumAlign - 1) / kSumAlign * kSumAlign;
}

} // namespace

Result<WeightUpload*> CudaBackend::upload() {
    if (!m_upload) {
        auto made = WeightUpload::make(*m_context, m_launcher->stream());
        if (!made) return made.error();
        m_upload = std::move(*made);
    }
    return m_upload.get();
}

Result<std::unique_ptr<Weight>> CudaBackend::importWeight(const WeightSource& source,
                                                          WeightUse use) {
    const engine::QuantFormat& format = engine::quantFormat(source.type);
    CHECK(source.rows > 0 && source.columns > 0 && source.columns % format.blockWeights == 0);
    CHECK(std::int64_t(source.bytes.size()) == source.rows * format.rowBytes(source.columns));
    CHECK(!m_graphs->recording());
    if (m_context->failed()) return m_context->error();

    auto weight = std::make_unique<CudaWeight>();
    weight->rows = source.rows;
    weight->columns = source.columns;
    weight->type = source.type;
    Result<void> imported;
    if (use == WeightUse::Vector) {
        imported = importVector(source, *weight);
    } else if (use == WeightUse::Embedding) {
        imported = importTable(source, *weight);
    } else if (unitBytes(source.type) > 0) {
        imported = importUnits(source, *weight);
    } else {
        imported = importFloats(source, *weight);
    }
    if (!imported) return imported.error();
    if (m_context->failed()) return m_context->error();
    weight->guard = GraphGuard(*m_graphs);
    m_launcher->finishBeforeNext();
    return std::unique_ptr<Weight>(std::move(weight));
}

Result<void> CudaBackend::importVector(const WeightSource& source, CudaWeight& weight) {
    weight.form = WeightForm::Vector;
    std::vector<float> values(std::size_t(source.rows * source.columns));
    engine::dequantizeRow(source.type, source.bytes.data(), std::int64_t(values.size()),
                          values.data());
    weight.deviceBytes = std::int64_t(values.size()) * 4;
    auto memory = m_arena.take(*m_context, weight.deviceBytes, source.name);
    if (!memory) return memory.error();
    weight.memory = std::move(*memory);
    weight.data = weight.memory.data();
    const auto count = std::int64_t(values.size());
    m_copies->copyIn(std::as_bytes(std::span(values)),
                     {weight.memory.data(), ElementType::F32, 1, count, count * 4});
    return {};
}

Result<void> CudaBackend::importTable(const WeightSource& source, CudaWeight& weight) {
    weight.form = WeightForm::Table;
    auto path = upload();
    if (!path) return path.error();
    const auto bytes = std::int64_t(source.bytes.size());
    auto pinned = PinnedBuffer::make(*m_context, bytes, source.name);
    if (pinned) {
        weight.pinned = std::move(*pinned);
        weight.data = reinterpret_cast<const void*>(weight.pinned.deviceAddress());
        (*path)->read(source.bytes, weight.pinned.data());
        return {};
    }
    // Systems limit how much memory may be pinned; then the table lies beside the other weights.
    return importFloats(source, weight);
}

Result<void> CudaBackend::importUnits(const WeightSource& source, CudaWeight& weight) {
    weight.form = WeightForm::Units;
    weight.layout = unitLayout(source.type, source.rows, source.columns);
    weight.deviceBytes = weight.layout.bytes();
    const std::int64_t rowBytes = engine::quantFormat(source.type).rowBytes(source.columns);
    if (rowBytes * kUnitRows > WeightUpload::kPieceBytes) {
        return Error{ErrorCode::Unsupported, std::string(source.name) + " has rows of " +
                                                 std::to_string(source.columns) +
                                                 " weights, too wide for the graphics card's part"};
    }
    auto path = upload();
    if (!path) return path.error();
    auto memory = m_arena.take(*m_context, weight.deviceBytes, source.name);
    if (!memory) return memory.error();
    weight.memory = std::move(*memory);
    weight.data = weight.memory.data();
    (*path)->send(source.bytes, rowBytes * kUnitRows, [&](const WeightUpload::Piece& piece) {
        m_launcher->finishBeforeNext();
        m_gemmRows->repack(weight.layout, reinterpret_cast<const std::byte*>(piece.data),
                           int(piece.first / rowBytes / kUnitRows), piece.bytes / rowBytes,
                           weight.memory.data());
    });
    return growSums(weight.layout);
}

// Rows as in the file: of float matrices, and of tables that found no pinned memory.
Result<void> CudaBackend::importFloats(const WeightSource& source, CudaWeight& weight) {
    const bool matrix = weight.form != WeightForm::Table;
    if (matrix) weight.form = WeightForm::Floats;
    weight.deviceBytes = std::int64_t(source.bytes.size());
    auto path = upload();
    if (!path) return path.error();
    auto memory = m_arena.take(*m_context, weight.deviceBytes, source.name);
    if (!memory) return memory.error();
    weight.memory = std::move(*memory);
    weight.data = weight.memory.data();
    const Driver& driver = m_context->driver();
    (*path)->send(source.bytes, 256, [&](const WeightUpload::Piece& piece) {
        m_context->check(driver.cuMemcpyDtoDAsync(weight.memory.address + CUdeviceptr(piece.first),
                                                  piece.data, std::size_t(piece.bytes),
                                                  m_launcher->stream()),
                         "loading weights");
    });
    if (matrix) m_hasFloatWeights = true;
    return {};
}

Result<void> CudaBackend::growSums(const UnitLayout& layout) {
    const std::int64_t bytes = sumBytes(layout);
    if (bytes > m_largestSums.back()) {
        m_largestSums.back() = bytes;
        std::sort(m_largestSums.begin(), m_largestSums.end(), std::greater<>());
    }
    const std::int64_t needed =
        std::accumulate(m_largestSums.begin(), m_largestSums.end(), std::int64_t(0));
    if (needed <= m_sums.bytes()) return {};
    m_sumsGuard = {};
    m_sums = {};
    auto memory = DeviceBuffer::make(*m_context, needed, "memory for products");
    if (!memory) return memory.error();
    m_sums = std::move(*memory);
    m_sumsGuard = GraphGuard(*m_graphs);
    return {};
}

Result<std::unique_ptr<Activations>>
CudaBackend::makeActivations(std::int64_t maxRows, std::int64_t maxColumns,
                             std::span<const Weight* const> users) {
    CHECK(maxRows > 0 && maxColumns > 0 && !m_graphs->recording());
    if (m_context->failed()) return m_context->error();

    auto made = std::make_unique<CudaActivations>();
    made->maxRows = maxRows;
    made->maxColumns = maxColumns;
    const std::int64_t tiles = (maxRows + kTileRows - 1) / kTileRows;
    auto memory = DeviceBuffer::make(
        *m_context, engine::unitCount(maxColumns) * tiles * std::int64_t(sizeof(ActivationTile)),
        "memory for activations");
    if (!memory) return memory.error();
    made->tileMemory = std::move(*memory);
    const bool floatUser = std::any_of(users.begin(), users.end(), [](const Weight* user) {
        return static_cast<const CudaWeight*>(user)->form == WeightForm::Floats;
    });
    if (users.empty() ? m_hasFloatWeights : floatUser) {
        auto floats =
            DeviceBuffer::make(*m_context, maxRows * maxColumns * 4, "memory for activations");
        if (!floats) return floats.error();
        made->floatMemory = std::move(*floats);
    }
    made->guard = GraphGuard(*m_graphs);
    return std::unique_ptr<Activations>(std::move(made));
}

} // namespace cuda

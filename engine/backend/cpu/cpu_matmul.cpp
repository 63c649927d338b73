// Weights and matrix products of the CPU backend.

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/for_rows.h"
#include "engine/backend/cpu/tensor_rows.h"
#include "engine/backend/cpu/weight_layout.h"
#include "engine/quant/quant_table.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace engine {

namespace {

class CpuWeight final : public Weight {
public:
    Tensor vector() const override {
        return use == WeightUse::Vector
                   ? Tensor{memory.data(), ElementType::F32, 1, rows * columns, rows * columns * 4}
                   : Tensor{};
    }
    WeightUse use = WeightUse::Matmul;
    CpuMemory memory;                    // tiles, copied rows, or the vector
    const std::byte* fileRows = nullptr; // Embedding: in the mapped file
    Int8TileFn int8Tile = nullptr;       // null: rows are decoded to floats
    std::int64_t tileBytes = 0;
    std::int64_t rowBytes = 0;
};

class CpuActivations final : public Activations {
public:
    std::int64_t maxRows = 0;
    std::int64_t maxColumns = 0;
    std::int64_t floatStride = 0; // floats between rows
    bool hasFloats = false;       // forms of the last quantize
    bool hasUnits = false;
    CpuMemory floatMemory;
    CpuMemory unitMemory;

    float* floats() const { return reinterpret_cast<float*>(floatMemory.data()); }
    // Rows are held in blocks of 16, in a block unit by unit: unit u of column c at u * blockRows +
    // c.
    ActivationUnit* block(std::int64_t firstRow) const {
        return reinterpret_cast<ActivationUnit*>(unitMemory.data()) + firstRow * unitCount(columns);
    }
    std::int64_t blockRows(std::int64_t firstRow) const {
        return std::min<std::int64_t>(kTileColumns, rows - firstRow);
    }
};

// Weight rows that are decoded together: they stay in the second-level cache while columns stream.
std::int64_t floatBlockRows(std::int64_t columns) {
    return std::clamp<std::int64_t>((384 << 10) / (columns * 4) / 4 * 4, 4, 64);
}

// Tiles that one task takes: enough to stream, few enough to balance the threads, and for prefill
// so few that they stay in the second-level cache while blocks of activations pass.
std::int64_t tilesPerTask(std::int64_t tileBytes) {
    return std::max<std::int64_t>(1, (256 << 10) / tileBytes);
}

} // namespace

Result<std::unique_ptr<Weight>> CpuBackend::importWeight(const WeightSource& source,
                                                         WeightUse use) {
    const QuantFormat& format = quantFormat(source.type);
    CHECK(source.rows > 0 && source.columns > 0 && source.columns % format.blockWeights == 0);
    const std::int64_t rowBytes = format.rowBytes(source.columns);
    CHECK(static_cast<std::int64_t>(source.bytes.size()) == source.rows * rowBytes);

    auto weight = std::make_unique<CpuWeight>();
    weight->rows = source.rows;
    weight->columns = source.columns;
    weight->type = source.type;
    weight->use = use;
    weight->rowBytes = rowBytes;

    if (use == WeightUse::Embedding) {
        weight->fileRows = source.bytes.data();
        return std::unique_ptr<Weight>(std::move(weight));
    }
    if (use == WeightUse::Vector) {
        const std::int64_t count = source.rows * source.columns;
        auto memory = CpuMemory::take(count * 4, false, source.name);
        if (!memory.ok()) return memory.error();
        weight->memory = std::move(*memory);
        dequantizeRow(source.type, source.bytes.data(), count,
                      reinterpret_cast<float*>(weight->memory.data()));
        weight->deviceBytes = count * 4;
        return std::unique_ptr<Weight>(std::move(weight));
    }

    const WeightLayout* layout =
        m_options.math == CpuMath::Int8 ? weightLayout(source.type) : nullptr;
    if (!layout) {
        auto memory = CpuMemory::take(source.rows * rowBytes, true, source.name);
        if (!memory.ok()) return memory.error();
        weight->memory = std::move(*memory);
        constexpr std::int64_t kPart = 1 << 20;
        const auto bytes = static_cast<std::int64_t>(source.bytes.size());
        m_pool.run((bytes + kPart - 1) / kPart, [&](std::int64_t part) {
            const std::int64_t at = part * kPart;
            std::memcpy(weight->memory.data() + at, source.bytes.data() + at,
                        static_cast<std::size_t>(std::min(kPart, bytes - at)));
        });
        weight->deviceBytes = weight->memory.bytes();
        m_hasFloatWeights = true;
        if (source.type != QuantType::F32)
            for (auto& rows : m_decoded) {
                const auto needed =
                    static_cast<std::size_t>(floatBlockRows(source.columns) * source.columns);
                if (rows.size() < needed) rows.resize(needed);
            }
        return std::unique_ptr<Weight>(std::move(weight));
    }

    const std::int64_t units = unitCount(source.columns),
                       tiles = (source.rows + kTileRows - 1) / kTileRows;
    weight->int8Tile = m_kernels.int8Tile(source.type);
    weight->tileBytes = layout->tileBytes(units);
    auto memory = CpuMemory::take(tiles * weight->tileBytes, true, source.name);
    if (!memory.ok()) return memory.error();
    weight->memory = std::move(*memory);
    m_pool.run(tiles, [&](std::int64_t tile) {
        const std::int64_t first = tile * kTileRows;
        const int rows = static_cast<int>(std::min<std::int64_t>(kTileRows, source.rows - first));
        packTile(*layout, source.bytes.data() + first * rowBytes, rowBytes, rows,
                 source.columns / layout->blockWeights, units,
                 reinterpret_cast<std::uint8_t*>(weight->memory.data()) + tile * weight->tileBytes);
    });
    weight->deviceBytes = weight->memory.bytes();
    m_hasInt8Weights = true;
    return std::unique_ptr<Weight>(std::move(weight));
}

Result<std::unique_ptr<Activations>> CpuBackend::makeActivations(std::int64_t maxRows,
                                                                 std::int64_t maxColumns,
                                                                 std::span<const Weight* const>) {
    auto made = std::make_unique<CpuActivations>();
    made->maxRows = maxRows;
    made->maxColumns = maxColumns;
    made->floatStride = (maxColumns + 15) / 16 * 16;
    // Pages that no product needs are never touched, so both forms are taken always.
    auto floats = CpuMemory::take(maxRows * made->floatStride * 4, false, "activations");
    if (!floats.ok()) return floats.error();
    made->floatMemory = std::move(*floats);
    if (m_options.math == CpuMath::Int8) {
        const std::int64_t bytes =
            maxRows * unitCount(maxColumns) * static_cast<std::int64_t>(sizeof(ActivationUnit));
        auto units = CpuMemory::take(bytes, false, "activations");
        if (!units.ok()) return units.error();
        made->unitMemory = std::move(*units);
    }
    return std::unique_ptr<Activations>(std::move(made));
}

void CpuBackend::quantize(Tensor x, Activations& out) {
    auto& a = static_cast<CpuActivations&>(out);
    CHECK(x.type == ElementType::F32 && x.rows <= a.maxRows && x.columns <= a.maxColumns);
    a.rows = x.rows;
    a.columns = x.columns;
    a.hasFloats = m_hasFloatWeights;
    a.hasUnits = m_hasInt8Weights;
    if (a.hasFloats)
        forRows(x.rows, x.columns, [&](std::int64_t r) {
            std::memcpy(a.floats() + r * a.floatStride, floatRow(x, r),
                        static_cast<std::size_t>(x.columns) * 4);
        });
    if (!a.hasUnits) return;

    constexpr std::int64_t kUnits = 16; // per task
    const std::int64_t units = unitCount(x.columns), parts = (units + kUnits - 1) / kUnits;
    const auto part = [&](std::int64_t task) {
        const std::int64_t row = task / parts, first = task % parts * kUnits;
        const std::int64_t block = row / kTileColumns * kTileColumns, stride = a.blockRows(block);
        m_kernels.quantizeRow(
            floatRow(x, row) + first * kUnitWeights, x.columns - first * kUnitWeights,
            a.block(block) + first * stride + row - block, stride, std::min(kUnits, units - first));
    };
    if (x.rows * parts < 2 || m_pool.threads() == 1)
        for (std::int64_t task = 0; task < x.rows * parts; ++task) part(task);
    else
        m_pool.run(x.rows * parts, part);
}

void CpuBackend::matmul(std::span<const MatmulJob> jobs, const Activations& x) {
    const auto& a = static_cast<const CpuActivations&>(x);
    constexpr std::size_t kMostJobs = 16;
    CHECK(!jobs.empty() && jobs.size() <= kMostJobs);

    // Tasks of all jobs, numbered through.
    std::int64_t firstTask[kMostJobs + 1] = {};
    std::int64_t rowsPerTask[kMostJobs] = {};
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const auto& w = static_cast<const CpuWeight&>(*jobs[j].weight);
        const Tensor& out = jobs[j].out;
        CHECK(w.use == WeightUse::Matmul && w.columns == a.columns);
        CHECK(out.type == ElementType::F32 && out.rows == a.rows && out.columns == w.rows &&
              out.strideBytes % 4 == 0);
        CHECK(w.int8Tile ? a.hasUnits : a.hasFloats);
        rowsPerTask[j] =
            w.int8Tile ? tilesPerTask(w.tileBytes) * kTileRows : floatBlockRows(w.columns);
        firstTask[j + 1] = firstTask[j] + (w.rows + rowsPerTask[j] - 1) / rowsPerTask[j];
    }

    const auto int8Task = [&](const CpuWeight& w, const Tensor& out, std::int64_t first,
                              std::int64_t end) {
        Int8Tile tile{};
        tile.units = unitCount(a.columns);
        tile.outStride = out.strideBytes / 4;
        for (std::int64_t column = 0; column < a.rows; column += kTileColumns) {
            tile.x = a.block(column);
            tile.columns = static_cast<int>(a.blockRows(column));
            for (std::int64_t row = first; row < end; row += kTileRows) {
                tile.weights = reinterpret_cast<const std::uint8_t*>(w.memory.data()) +
                               row / kTileRows * w.tileBytes;
                tile.out = floatRow(out, column) + row;
                tile.rows = static_cast<int>(std::min<std::int64_t>(kTileRows, w.rows - row));
                w.int8Tile(tile);
            }
        }
    };
    const auto floatTask = [&](const CpuWeight& w, const Tensor& out, std::int64_t first,
                               std::int64_t end, float* decoded) {
        const std::byte* from = w.memory.data() + first * w.rowBytes;
        FloatBlock block{};
        block.rows = static_cast<int>(end - first);
        block.weightStride = w.columns;
        block.weights = decoded;
        const std::int64_t count = (end - first) * w.columns;
        switch (w.type) {
        case QuantType::F32: block.weights = reinterpret_cast<const float*>(from); break;
        case QuantType::F16:
            m_kernels.halfToFloatRow(reinterpret_cast<const std::uint16_t*>(from), count, decoded);
            break;
        case QuantType::BF16:
            m_kernels.bfloatToFloatRow(reinterpret_cast<const std::uint16_t*>(from), count,
                                       decoded);
            break;
        default: dequantizeRow(w.type, from, count, decoded);
        }
        block.x = a.floats();
        block.xStride = a.floatStride;
        block.columns = a.rows;
        block.k = w.columns;
        block.out = floatRow(out, 0) + first;
        block.outStride = out.strideBytes / 4;
        m_kernels.floatBlock(block);
    };

    std::atomic<std::int64_t> next{0};
    m_pool.parallel([&](int thread, int) {
        for (;;) {
            const std::int64_t task = next.fetch_add(1, std::memory_order_relaxed);
            if (task >= firstTask[jobs.size()]) return;
            std::size_t j = 0;
            while (task >= firstTask[j + 1]) ++j;
            const auto& w = static_cast<const CpuWeight&>(*jobs[j].weight);
            const std::int64_t first = (task - firstTask[j]) * rowsPerTask[j];
            const std::int64_t end = std::min(w.rows, first + rowsPerTask[j]);
            if (w.int8Tile)
                int8Task(w, jobs[j].out, first, end);
            else
                floatTask(w, jobs[j].out, first, end,
                          m_decoded[static_cast<std::size_t>(thread)].data());
        }
    });
    for (const MatmulJob& job : jobs)
        if (job.bias.data) add(job.out, job.bias);
}

void CpuBackend::embed(const Weight& table, Tensor ids, Tensor out) {
    const auto& w = static_cast<const CpuWeight&>(table);
    CHECK(w.use == WeightUse::Embedding && out.type == ElementType::F32 && ids.rows == out.rows &&
          out.columns == w.columns);
    forRows(out.rows, out.columns, [&](std::int64_t r) {
        const std::int64_t id = *intRow(ids, r);
        CHECK(id >= 0 && id < w.rows);
        dequantizeRow(w.type, w.fileRows + id * w.rowBytes, w.columns, floatRow(out, r));
    });
}

} // namespace engine

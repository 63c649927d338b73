// Attention of the CPU backend.
//
// Canonical order, per query row: cached positions in tiles of 64 and splits of 256 (limited span)
// or 512, both aligned by absolute position. Inside a split the tiles follow each other with a
// running maximum; the splits are merged in ascending order. A split in which a row sees nothing is
// skipped. So the result depends on the position and the keys it sees, not on how the work was
// divided. Keys and values become floats first (Q8_0: scale * q, rounded once); scores are 32-lane
// dot products with the query already scaled; the sum of a tile's weights is a 32-lane sum by
// position, values are added ascending by position.

#include "engine/backend/cpu/cpu_attention.h"

#include "engine/backend/cpu/for_rows.h"
#include "engine/backend/cpu/tensor_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

namespace engine {
namespace {

constexpr std::int64_t kQueryBlock = 16; // positions handled together
constexpr std::int64_t kWave = 32;       // splits whose states are held before they are merged
constexpr std::int64_t kGroupQueries = 48;

std::int64_t padded(int headSize) {
    return (headSize + 31) / 32 * 32;
}

void fit(std::vector<float>& v, std::int64_t count) {
    if (static_cast<std::int64_t>(v.size()) < count) v.resize(static_cast<std::size_t>(count));
}

float scoreScale(int headSize) {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(headSize)));
}

} // namespace

void SoftmaxState::reset(std::int64_t rows, std::int64_t headStride) {
    fit(maximum, rows);
    fit(sum, rows);
    fit(out, rows * headStride);
    std::fill_n(maximum.begin(), rows, -std::numeric_limits<float>::infinity());
    std::fill_n(sum.begin(), rows, 0.0f);
    std::fill_n(out.begin(), rows * headStride, 0.0f);
}

void CpuBackend::kvWrite(const KvLayer& layer, Tensor k, Tensor v, Tensor positions) {
    CHECK(k.rows == v.rows && positions.rows == k.rows && k.columns == layer.keys.columns &&
          v.columns == layer.values.columns);
    const auto put = [&](const Tensor& cache, const float* row, std::int64_t slot, std::int64_t n) {
        std::byte* to = cache.data + slot * cache.strideBytes;
        switch (cache.type) {
        case ElementType::F32: std::memcpy(to, row, static_cast<std::size_t>(n) * 4); break;
        case ElementType::F16:
            m_kernels.floatToHalfRow(row, n, reinterpret_cast<std::uint16_t*>(to));
            break;
        case ElementType::Q8_0:
            m_kernels.floatToQ8Row(row, n, reinterpret_cast<std::uint8_t*>(to));
            break;
        case ElementType::I32: CHECK(false);
        }
    };
    forRows(k.rows, k.columns + v.columns, [&](std::int64_t r) {
        const std::int64_t position = *intRow(positions, r);
        CHECK(position >= 0);
        const std::int64_t slot = position % layer.capacity;
        put(layer.keys, floatRow(k, r), slot, k.columns);
        put(layer.values, floatRow(v, r), slot, v.columns);
    });
}

void CpuBackend::attention(Tensor q, const KvLayer& layer, Tensor positions,
                           const AttentionShape& shape, const AttentionSpan& span, Tensor out) {
    CHECK(q.type == ElementType::F32 && out.type == ElementType::F32 && positions.rows == q.rows &&
          out.rows == q.rows);
    CHECK(shape.kvHeads > 0 && shape.heads % shape.kvHeads == 0 &&
          q.columns == std::int64_t(shape.heads) * shape.headSize && out.columns == q.columns);
    if (q.rows == 0) return;
    const int perGroup = shape.heads / shape.kvHeads;
    const std::int64_t size = shape.headSize, stride = padded(shape.headSize);
    const std::int64_t firstPosition = *intRow(positions, 0);
    for (std::int64_t r = 0; r < q.rows; ++r) CHECK(*intRow(positions, r) == firstPosition + r);
    const std::int64_t keyEnd = firstPosition + q.rows;
    const std::int64_t splitSize = span.left < AttentionSpan::kUnlimited ? 256 : 512;
    const float scale = scoreScale(shape.headSize);
    AttentionScratch& scratch = *m_attention;
    scratch.threads.resize(static_cast<std::size_t>(m_pool.threads()));
    for (auto& t : scratch.threads) {
        fit(t.keys, kKeyTile * stride);
        fit(t.values, kKeyTile * stride);
    }

    // Rows of one key/value head's part of a cached position, as floats.
    const auto decode = [&](const Tensor& cache, std::int64_t position, int head, float* to) {
        const std::byte* row = cache.data + position % layer.capacity * cache.strideBytes +
                               elementBytes(cache.type, head * size);
        switch (cache.type) {
        case ElementType::F32: std::memcpy(to, row, static_cast<std::size_t>(size) * 4); break;
        case ElementType::F16:
            m_kernels.halfToFloatRow(reinterpret_cast<const std::uint16_t*>(row), size, to);
            break;
        case ElementType::Q8_0:
            m_kernels.q8ToFloatRow(reinterpret_cast<const std::uint8_t*>(row), size, to);
            break;
        case ElementType::I32: CHECK(false);
        }
        std::fill(to + size, to + stride, 0.0f);
    };

    for (std::int64_t block = 0; block < q.rows; block += kQueryBlock) {
        const std::int64_t queries = std::min(kQueryBlock, q.rows - block);
        const std::int64_t rowsPerHead = queries * perGroup, rows = rowsPerHead * shape.kvHeads;
        const std::int64_t blockFirst = firstPosition + block, blockLast = blockFirst + queries - 1;
        const std::int64_t seenFirst = std::max<std::int64_t>(0, blockFirst - span.left);
        const std::int64_t seenEnd = std::min(keyEnd, blockLast + span.right + 1);
        CHECK(seenEnd - seenFirst <= layer.capacity);

        // Row of (key/value head, position, head of its group).
        fit(scratch.queries, rows * stride);
        for (int head = 0; head < shape.kvHeads; ++head)
            for (std::int64_t i = 0; i < queries; ++i)
                for (int h = 0; h < perGroup; ++h) {
                    float* to =
                        scratch.queries.data() + ((head * queries + i) * perGroup + h) * stride;
                    m_kernels.scale(floatRow(q, block + i) + (head * perGroup + h) * size, scale,
                                    size, to);
                    std::fill(to + size, to + stride, 0.0f);
                }
        scratch.running.reset(rows, stride);

        const std::int64_t firstSplit = seenFirst / splitSize,
                           splitEnd = (seenEnd - 1) / splitSize + 1;
        for (std::int64_t wave = firstSplit; wave < splitEnd; wave += kWave) {
            const std::int64_t splits = std::min(kWave, splitEnd - wave);
            if (static_cast<std::int64_t>(scratch.splits.size()) < splits)
                scratch.splits.resize(static_cast<std::size_t>(splits));

            for (std::int64_t s = 0; s < splits; ++s)
                scratch.splits[static_cast<std::size_t>(s)].reset(rows, stride);
            std::atomic<std::int64_t> next{0};
            m_pool.parallel([&](int thread, int) {
                auto& mine = scratch.threads[static_cast<std::size_t>(thread)];
                for (std::int64_t task = next.fetch_add(1); task < splits * shape.kvHeads;
                     task = next.fetch_add(1)) {
                    const std::int64_t split = task / shape.kvHeads;
                    const int head = static_cast<int>(task % shape.kvHeads);
                    SoftmaxState& state = scratch.splits[static_cast<std::size_t>(split)];
                    const std::int64_t begin = (wave + split) * splitSize;
                    for (std::int64_t tile = begin; tile < begin + splitSize; tile += kKeyTile) {
                        const std::int64_t from = std::max(tile, seenFirst),
                                           to = std::min(tile + kKeyTile, seenEnd);
                        if (from >= to) continue;
                        std::int32_t ranges[2][kQueryBlock];
                        for (std::int64_t i = 0; i < queries; ++i) {
                            const std::int64_t p = blockFirst + i;
                            const std::int64_t a = std::max(from, p - span.left);
                            const std::int64_t b = std::min(to, p + span.right + 1);
                            ranges[0][i] = static_cast<std::int32_t>(
                                std::min(a - tile, kKeyTile + std::int64_t(0)));
                            ranges[1][i] =
                                static_cast<std::int32_t>(std::max<std::int64_t>(b - tile, 0));
                        }
                        for (std::int64_t p = from; p < to; ++p) {
                            decode(layer.keys, p, head, mine.keys.data() + (p - tile) * stride);
                            decode(layer.values, p, head, mine.values.data() + (p - tile) * stride);
                        }
                        AttentionTile work{};
                        work.keys = mine.keys.data();
                        work.values = mine.values.data();
                        work.headStride = stride;
                        work.queries = scratch.queries.data() + head * rowsPerHead * stride;
                        work.ranges = static_cast<int>(queries);
                        work.rowsPerRange = perGroup;
                        work.begin = ranges[0];
                        work.end = ranges[1];
                        work.maximum = state.maximum.data() + head * rowsPerHead;
                        work.sum = state.sum.data() + head * rowsPerHead;
                        work.out = state.out.data() + head * rowsPerHead * stride;
                        m_kernels.attentionTile(work);
                    }
                }
            });
            SoftmaxState& running = scratch.running;
            forRows(rows, splits * stride, [&](std::int64_t row) {
                const auto r = static_cast<std::size_t>(row);
                for (std::int64_t s = 0; s < splits; ++s) {
                    const SoftmaxState& later = scratch.splits[static_cast<std::size_t>(s)];
                    if (later.maximum[r] == -std::numeric_limits<float>::infinity()) continue;
                    m_kernels.mergeSplit(&running.maximum[r], &running.sum[r],
                                         running.out.data() + row * stride, later.maximum[r],
                                         later.sum[r], later.out.data() + row * stride, stride);
                }
            });
        }

        for (int head = 0; head < shape.kvHeads; ++head)
            for (std::int64_t i = 0; i < queries; ++i)
                for (int h = 0; h < perGroup; ++h) {
                    const std::int64_t row = (head * queries + i) * perGroup + h;
                    const float share = 1.0f / scratch.running.sum[static_cast<std::size_t>(row)];
                    m_kernels.scale(scratch.running.out.data() + row * stride, share, size,
                                    floatRow(out, block + i) + (head * perGroup + h) * size);
                }
    }
}

void CpuBackend::groupAttention(Tensor q, Tensor k, Tensor v, const AttentionShape& shape,
                                std::span<const std::int32_t> groupStarts, Tensor out) {
    CHECK(shape.heads == shape.kvHeads && q.columns == std::int64_t(shape.heads) * shape.headSize);
    CHECK(q.rows == k.rows && q.rows == v.rows && q.rows == out.rows && k.columns == q.columns &&
          v.columns == q.columns && out.columns == q.columns);
    CHECK(!groupStarts.empty() && groupStarts.front() == 0 && groupStarts.back() == q.rows);
    const std::int64_t size = shape.headSize, stride = padded(shape.headSize);
    const float scale = scoreScale(shape.headSize);
    AttentionScratch& scratch = *m_attention;
    scratch.threads.resize(static_cast<std::size_t>(m_pool.threads()));
    for (auto& t : scratch.threads) {
        fit(t.keys, kKeyTile * stride);
        fit(t.values, kKeyTile * stride);
        fit(t.queries, kGroupQueries * stride);
    }

    const auto copyRow = [&](const Tensor& from, std::int64_t row, int head, float* to) {
        std::memcpy(to, floatRow(from, row) + head * size, static_cast<std::size_t>(size) * 4);
        std::fill(to + size, to + stride, 0.0f);
    };
    for (std::size_t g = 0; g + 1 < groupStarts.size(); ++g) {
        const std::int64_t start = groupStarts[g], rows = groupStarts[g + 1] - start;
        CHECK(rows >= 0);
        const std::int64_t blocks = (rows + kGroupQueries - 1) / kGroupQueries;
        std::atomic<std::int64_t> next{0};
        m_pool.parallel([&](int thread, int) {
            auto& mine = scratch.threads[static_cast<std::size_t>(thread)];
            for (std::int64_t task = next.fetch_add(1); task < blocks * shape.heads;
                 task = next.fetch_add(1)) {
                const int head = static_cast<int>(task / blocks);
                const std::int64_t first = start + task % blocks * kGroupQueries;
                const std::int64_t count = std::min(kGroupQueries, start + rows - first);
                for (std::int64_t i = 0; i < count; ++i) {
                    float* to = mine.queries.data() + i * stride;
                    m_kernels.scale(floatRow(q, first + i) + head * size, scale, size, to);
                    std::fill(to + size, to + stride, 0.0f);
                }
                mine.state.reset(count, stride);
                for (std::int64_t tile = 0; tile < rows; tile += kKeyTile) {
                    const std::int32_t begin = 0;
                    const auto end =
                        static_cast<std::int32_t>(std::min<std::int64_t>(kKeyTile, rows - tile));
                    for (std::int32_t i = 0; i < end; ++i) {
                        copyRow(k, start + tile + i, head, mine.keys.data() + i * stride);
                        copyRow(v, start + tile + i, head, mine.values.data() + i * stride);
                    }
                    AttentionTile work{};
                    work.keys = mine.keys.data();
                    work.values = mine.values.data();
                    work.headStride = stride;
                    work.queries = mine.queries.data();
                    work.ranges = 1;
                    work.rowsPerRange = static_cast<int>(count);
                    work.begin = &begin;
                    work.end = &end;
                    work.maximum = mine.state.maximum.data();
                    work.sum = mine.state.sum.data();
                    work.out = mine.state.out.data();
                    m_kernels.attentionTile(work);
                }
                for (std::int64_t i = 0; i < count; ++i) {
                    const float share = 1.0f / mine.state.sum[static_cast<std::size_t>(i)];
                    m_kernels.scale(mine.state.out.data() + i * stride, share, size,
                                    floatRow(out, first + i) + head * size);
                }
            }
        });
    }
}

} // namespace engine

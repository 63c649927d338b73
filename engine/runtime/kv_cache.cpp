#include "engine/runtime/kv_cache.h"

#include <algorithm>

namespace engine {

namespace {

constexpr std::int64_t kRingRounding = 256;
constexpr std::int64_t kTensorAlignment = 256; // bytes; serves vector loads and GPU copies

std::int64_t roundUp(std::int64_t value, std::int64_t step) {
    return (value + step - 1) / step * step;
}

std::int64_t tensorBytes(const KvShape& shape, std::size_t layer) {
    return roundUp(shape.layerRows(layer) * (shape.rowBytes() / 2), kTensorAlignment);
}

} // namespace

std::int64_t KvShape::ringRows() const {
    return std::min(context, roundUp(std::int64_t(window) + maxBatch, kRingRounding));
}

std::int64_t KvShape::rowBytes() const {
    return 2 * elementBytes(elementType(type), std::int64_t(kvHeads) * headSize);
}

std::int64_t KvShape::totalBytes() const {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < sliding.size(); ++i) bytes += 2 * tensorBytes(*this, i);
    return bytes;
}

Result<std::unique_ptr<KvCache>> KvCache::make(Backend& backend, const KvShape& shape) {
    CHECK(shape.kvHeads > 0 && shape.headSize > 0 && shape.window > 0 && shape.context > 0 &&
          shape.maxBatch > 0);
    if (shape.type == KvType::Q8_0 && shape.headSize % 32 != 0)
        return Error{
            ErrorCode::Unsupported,
            "8-bit keys and values need heads whose size is a multiple of 32; this model's have " +
                std::to_string(shape.headSize)};
    std::unique_ptr<KvCache> cache(new KvCache(backend, shape));
    auto memory = backend.allocate(shape.totalBytes(), "keys and values of the conversation");
    if (!memory) return memory.error();
    cache->m_memory = std::move(*memory);

    const ElementType type = elementType(shape.type);
    const std::int64_t columns = std::int64_t(shape.kvHeads) * shape.headSize;
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < shape.sliding.size(); ++i) {
        const std::int64_t rows = shape.layerRows(i);
        KvLayer layer;
        layer.keys = cache->m_memory.tensor(type, rows, columns, offset);
        offset += tensorBytes(shape, i);
        layer.values = cache->m_memory.tensor(type, rows, columns, offset);
        offset += tensorBytes(shape, i);
        layer.capacity = rows;
        cache->m_layers.push_back(layer);
    }
    return cache;
}

bool KvCache::hasRings() const {
    return std::find(m_shape.sliding.begin(), m_shape.sliding.end(), true) != m_shape.sliding.end();
}

// The query at position `length` sees window - 1 positions before its own.
std::int64_t KvCache::firstNeeded(std::int64_t length) const {
    return std::max<std::int64_t>(0, length - (m_shape.window - 1));
}

void KvCache::aboutToWrite(std::int64_t rows) {
    CHECK(rows > 0 && rows <= m_shape.maxBatch && m_length + rows <= m_shape.context);
    m_written = m_length + rows;
    m_ringFirst = std::max(m_ringFirst, m_written - m_shape.ringRows());
}

void KvCache::commit(std::int64_t length) {
    CHECK(length >= m_length && length <= m_written);
    m_length = length;
    m_longest = std::max(m_longest, length);
}

bool KvCache::canRewind(std::int64_t length) const {
    if (length < 0 || length > m_length) return false;
    return length == 0 || !hasRings() || firstNeeded(length) >= m_ringFirst;
}

void KvCache::rewind(std::int64_t length) {
    CHECK(canRewind(length));
    m_length = length;
    m_written = length;
    if (length == 0) m_ringFirst = 0;
}

// Calls copy(rows of a ring tensor) for the rows of positions first .. end-1, keys and values of
// every sliding layer, in an order that depends on the arguments only. A range that passes the
// ring's end comes in two parts.
template<class Copy> void KvCache::eachRingPart(std::int64_t first, std::int64_t end, Copy&& copy) {
    const std::int64_t capacity = m_shape.ringRows();
    for (std::size_t i = 0; i < m_layers.size(); ++i) {
        if (!m_shape.sliding[i]) continue;
        for (const Tensor& ring : {m_layers[i].keys, m_layers[i].values}) {
            for (std::int64_t p = first; p < end;) {
                const std::int64_t row = p % capacity;
                const std::int64_t count = std::min(end - p, capacity - row);
                copy(ring.rowRange(row, count));
                p += count;
            }
        }
    }
}

Result<KvCache::Snapshot> KvCache::snapshot() {
    Snapshot snapshot;
    snapshot.length = m_length;
    snapshot.firstRow = firstNeeded(m_length);
    CHECK(canRewind(m_length));
    std::int64_t bytes = 0;
    eachRingPart(snapshot.firstRow, m_length,
                 [&](Tensor part) { bytes += part.rows * part.rowBytes(); });
    if (bytes == 0) return snapshot;

    auto memory = m_backend.allocate(bytes, "a place to return to in the conversation");
    if (!memory) return memory.error();
    snapshot.rings = std::move(*memory);
    std::int64_t offset = 0;
    eachRingPart(snapshot.firstRow, m_length, [&](Tensor part) {
        m_backend.copy(part, snapshot.rings.tensor(part.type, part.rows, part.columns, offset));
        offset += part.rows * part.rowBytes();
    });
    return snapshot;
}

void KvCache::restore(const Snapshot& snapshot) {
    CHECK(snapshot.length <= m_longest);
    std::int64_t offset = 0;
    eachRingPart(snapshot.firstRow, snapshot.length, [&](Tensor part) {
        m_backend.copy(snapshot.rings.tensor(part.type, part.rows, part.columns, offset), part);
        offset += part.rows * part.rowBytes();
    });
    m_length = snapshot.length;
    m_written = snapshot.length;
    m_ringFirst = snapshot.firstRow;
}

void KvCache::clear() {
    m_length = 0;
    m_written = 0;
    m_longest = 0;
    m_ringFirst = 0;
}

} // namespace engine

#pragma once
// Keys and values of one conversation: every row for full layers, a ring for sliding ones. Position
// p lies in row p % capacity of its layer. Rows are written by the models during a forward pass;
// here is the bookkeeping: how many positions are valid, how far back one may go, snapshots of the
// rings.
//
// Engine thread. The backend outlives the cache.

#include "engine/backend/backend.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace engine {

enum class KvType { F32, F16, Q8_0 };

constexpr ElementType elementType(KvType type) {
    switch (type) {
    case KvType::F32: return ElementType::F32;
    case KvType::F16: return ElementType::F16;
    case KvType::Q8_0: break;
    }
    return ElementType::Q8_0;
}

struct KvShape {
    int kvHeads = 0;
    int headSize = 0;
    std::vector<bool> sliding; // per layer
    int window = 0;            // positions that a sliding layer looks back, own included
    std::int64_t context = 0;  // positions a full layer holds
    int maxBatch = 0;          // most rows written ahead of the oldest row still needed
    KvType type = KvType::F16;

    // Rows of a sliding layer's ring: window + maxBatch, rounded up to 256, at most context.
    std::int64_t ringRows() const;
    std::int64_t layerRows(std::size_t layer) const {
        return sliding[layer] ? ringRows() : context;
    }
    std::int64_t rowBytes() const;   // keys and values of one position of one layer
    std::int64_t totalBytes() const; // all layers
};

class KvCache {
public:
    // Takes all memory now, zeroed.
    static Result<std::unique_ptr<KvCache>> make(Backend& backend, const KvShape& shape);

    const KvShape& shape() const { return m_shape; }
    const KvLayer& layer(int index) const { return m_layers[static_cast<std::size_t>(index)]; }

    // Positions 0 .. length()-1 are committed.
    std::int64_t length() const { return m_length; }
    // A model says this before it writes rows length() .. length()+rows-1: they may overwrite the
    // oldest rows of the rings, also if the pass is then cancelled. rows <= maxBatch; within the
    // context.
    void aboutToWrite(std::int64_t rows);
    // Rows up to length were written by a forward pass and are kept.
    void commit(std::int64_t length);
    // True if the rows needed to continue from `length` are all still there.
    bool canRewind(std::int64_t length) const;
    void rewind(std::int64_t length); // CHECKs canRewind

    // A copy of the ring rows that are needed to continue at length(), so that one can return there
    // after they were overwritten. Full layers need no copy. Lives in backend memory. It stays good
    // until the cache is cleared or rewound below its length, which is the owner's to notice: what
    // is written afterwards belongs to another text.
    struct Snapshot {
        std::int64_t length = 0;
        std::int64_t firstRow = 0; // oldest position copied
        Buffer rings;
        std::int64_t bytes() const { return rings.bytes(); }
    };
    Result<Snapshot> snapshot();
    void restore(
        const Snapshot& snapshot); // snapshot.length <= the longest committed length since clear
    void clear();

private:
    KvCache(Backend& backend, KvShape shape) : m_backend(backend), m_shape(std::move(shape)) {}
    bool hasRings() const;
    std::int64_t firstNeeded(std::int64_t length) const;
    template<class Copy> void eachRingPart(std::int64_t first, std::int64_t end, Copy&& copy);

    Backend& m_backend;
    KvShape m_shape;
    Buffer m_memory;
    std::vector<KvLayer> m_layers;
    std::int64_t m_length = 0;
    std::int64_t m_written = 0;   // end of the rows that a pass has written or is writing
    std::int64_t m_longest = 0;   // largest length committed since clear
    std::int64_t m_ringFirst = 0; // the rings hold positions m_ringFirst .. m_length-1
};

} // namespace engine

#pragma once
// Cosines and sines of rotary positions, kept for the last few sets of positions: all layers of a
// pass ask for the same. Angles are computed in double precision, as the reference does. Engine
// thread.

#include "engine/backend/backend.h"
#include "engine/base/thread_pool.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace engine {

class RopeTables {
public:
    // Rows of headSize values, one per position: the cosine of the element's pair, and the sine
    // with the sign of the element's place, so that turned = x * cosine + partner * sine.
    struct Table {
        std::vector<float> cosine;
        std::vector<float> sine;
    };
    // positions: spec.axes per row. Valid until the next call.
    const Table& find(const RopeSpec& spec, std::span<const std::int32_t> positions,
                      ThreadPool& pool);

private:
    struct Entry {
        RopeSpec spec;
        std::vector<std::int32_t> positions;
        Table table;
        std::int64_t lastUse = 0;
    };
    std::array<Entry, 4> m_entries; // target, drafter's block, drafter's context, picture
    std::int64_t m_uses = 0;
};

} // namespace engine

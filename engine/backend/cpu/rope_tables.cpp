#include "engine/backend/cpu/rope_tables.h"

#include <algorithm>
#include <cmath>

namespace engine {
namespace {

bool same(const RopeSpec& a, const RopeSpec& b) {
    return a.pairing == b.pairing && a.theta == b.theta && a.headSize == b.headSize &&
           a.axes == b.axes;
}

} // namespace

const RopeTables::Table&
RopeTables::find(const RopeSpec& spec, std::span<const std::int32_t> positions, ThreadPool& pool) {
    ++m_uses;
    for (Entry& entry : m_entries)
        if (entry.lastUse > 0 && same(entry.spec, spec) &&
            std::ranges::equal(entry.positions, positions)) {
            entry.lastUse = m_uses;
            return entry.table;
        }

    Entry& entry = *std::ranges::min_element(m_entries, {}, &Entry::lastUse);
    entry.lastUse = m_uses;
    entry.spec = spec;
    entry.positions.assign(positions.begin(), positions.end());
    const int size = spec.headSize, pairs = size / 2, pairsPerAxis = pairs / spec.axes;
    const auto rows = static_cast<std::int64_t>(positions.size()) / spec.axes;
    entry.table.cosine.resize(static_cast<std::size_t>(rows * size));
    entry.table.sine.resize(static_cast<std::size_t>(rows * size));

    std::vector<double> frequency(static_cast<std::size_t>(pairsPerAxis));
    const double width = static_cast<double>(size) / spec.axes;
    for (int j = 0; j < pairsPerAxis; ++j)
        frequency[static_cast<std::size_t>(j)] = std::pow(spec.theta, -2.0 * j / width);

    const auto fillRow = [&](std::int64_t row) {
        float* cosine = entry.table.cosine.data() + row * size;
        float* sine = entry.table.sine.data() + row * size;
        for (int pair = 0; pair < pairs; ++pair) {
            const int axis = pair / pairsPerAxis;
            const double position = positions[static_cast<std::size_t>(row * spec.axes + axis)];
            const double angle =
                position * frequency[static_cast<std::size_t>(pair % pairsPerAxis)];
            const auto c = static_cast<float>(std::cos(angle)),
                       s = static_cast<float>(std::sin(angle));
            const bool adjacent = spec.pairing == RopePairing::Adjacent;
            const int first = adjacent ? 2 * pair : pair,
                      second = adjacent ? first + 1 : pair + pairs;
            cosine[first] = cosine[second] = c;
            sine[first] = -s;
            sine[second] = s;
        }
    };
    if (rows < 8)
        for (std::int64_t row = 0; row < rows; ++row) fillRow(row);
    else
        pool.run(rows, fillRow);
    return entry.table;
}

} // namespace engine

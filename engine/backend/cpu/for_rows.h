#pragma once
// How CpuBackend divides row-wise operations; for its own files.

#include "engine/backend/cpu/cpu_backend.h"

#include <algorithm>

namespace engine {

// Work below this many elements is done by the calling thread: handing it out would cost as much.
inline constexpr std::int64_t kAlone = 16384;
inline constexpr std::int64_t kPiece = 8192;

template<class Fn> void CpuBackend::forPieces(std::int64_t rows, std::int64_t columns, Fn&& fn) {
    if (rows * columns < kAlone) {
        for (std::int64_t r = 0; r < rows; ++r) fn(r, std::int64_t(0), columns);
        return;
    }
    const std::int64_t perRow = (columns + kPiece - 1) / kPiece;
    m_pool.run(rows * perRow, [&](std::int64_t task) {
        const std::int64_t first = task % perRow * kPiece;
        fn(task / perRow, first, std::min(kPiece, columns - first));
    });
}

template<class Fn> void CpuBackend::forRows(std::int64_t rows, std::int64_t columns, Fn&& fn) {
    if (rows < 2 || rows * columns < kAlone) {
        for (std::int64_t r = 0; r < rows; ++r) fn(r);
        return;
    }
    // Short rows are handed out by the handful.
    const std::int64_t each =
        std::clamp<std::int64_t>(kPiece / std::max<std::int64_t>(columns, 1), 1, rows);
    m_pool.run((rows + each - 1) / each, [&](std::int64_t task) {
        const std::int64_t end = std::min(rows, (task + 1) * each);
        for (std::int64_t r = task * each; r < end; ++r) fn(r);
    });
}

} // namespace engine

#include "cuda/unit_layout.h"

#include "engine/base/check.h"

#include <algorithm>
#include <limits>

namespace cuda {

UnitLayout unitLayout(QuantType type, std::int64_t rows, std::int64_t columns) {
    CHECK(unitBytes(type) > 0 && rows > 0 && columns > 0);
    const std::int64_t units = engine::unitCount(columns);
    const std::int64_t rowTiles = (rows + kUnitRows - 1) / kUnitRows;
    CHECK(units <= std::numeric_limits<int>::max() && rowTiles <= std::numeric_limits<int>::max());
    const auto padded = [](int bytes) {
        return (bytes + kItemAlign - 1) / kItemAlign * kItemAlign;
    };
    UnitLayout layout;
    layout.type = type;
    layout.rows = rows;
    layout.columns = columns;
    layout.rowTiles = static_cast<int>(rowTiles);
    layout.units = static_cast<int>(units);
    layout.segmentUnits = std::min(engine::segmentUnits(units), layout.units);
    layout.segments = (layout.units + layout.segmentUnits - 1) / layout.segmentUnits;
    layout.lastSegmentUnits = layout.units - (layout.segments - 1) * layout.segmentUnits;
    layout.unitBytes = unitBytes(type);
    layout.itemBytes = padded(layout.segmentUnits * layout.unitBytes);
    layout.lastItemBytes = padded(layout.lastSegmentUnits * layout.unitBytes);
    layout.rowTileBytes =
        std::int64_t(layout.segments - 1) * layout.itemBytes + layout.lastItemBytes;
    return layout;
}

} // namespace cuda

#pragma once
// CudaActivations: rows prepared for matmul in the card's memory.
//
// What float weights need, the rows themselves, is kept only where float matrices were imported
// before these activations were made: a model imports its weights first, and makes its activations
// then.

#include "cuda/graph_cache.h"
#include "cuda/handles.h"
#include "cuda/kernels/formats.h"
#include "engine/backend/backend.h"

#include <cstdint>

namespace cuda {

struct CudaActivations final : engine::Activations {
    DeviceBuffer tileMemory;
    DeviceBuffer floatMemory; // empty: without the rows themselves
    std::int64_t maxRows = 0;
    std::int64_t maxColumns = 0;
    engine::Tensor rowsAsTheyAre; // of the last quantize, for float weights
    GraphGuard guard;             // goes first, before the memory

    // [unit][tile], ceil(rows / 8) tiles.
    ActivationTile* tiles() const { return reinterpret_cast<ActivationTile*>(tileMemory.data()); }
    bool keepsFloats() const { return bool(floatMemory); }
    // F32 [rows, columns] of the last quantize: what was quantized, or floatMemory.
    engine::Tensor floats() const { return rowsAsTheyAre; }
};

} // namespace cuda

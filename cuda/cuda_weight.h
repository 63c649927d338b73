#pragma once
// CudaWeight: an imported weight in one of four forms, by its use and type:
//   units   matmul with the integer arithmetic: the card's memory, in the order of unit_layout.h
//   floats  matmul with F32, F16 or BF16: the card's memory, rows as in the file
//   table   embedding: rows as in the file, in the computer's pinned memory, which kernels read
//           (a look-up takes a few rows of it); in the card's memory where pinned memory is refused
//   vector  F32 in the card's memory

#include "cuda/device_arena.h"
#include "cuda/graph_cache.h"
#include "cuda/unit_layout.h"
#include "engine/backend/backend.h"

namespace cuda {

enum class WeightForm { Units, Floats, Table, Vector };

struct CudaWeight final : engine::Weight {
    WeightForm form = WeightForm::Vector;
    DeviceArena::Piece memory;
    PinnedBuffer pinned;        // Table only
    const void* data = nullptr; // as the card sees it
    UnitLayout layout;          // Units only
    GraphGuard guard;           // goes first, before the memory

    engine::Tensor vector() const override {
        if (form != WeightForm::Vector) return {};
        return {memory.data(), engine::ElementType::F32, 1, columns, columns * 4};
    }
};

} // namespace cuda

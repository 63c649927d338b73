#pragma once
// Working memory of the CPU backend's attention; for its own files. It grows to what the model
// needs during the first calls and stays.

#include "engine/backend/cpu/cpu_backend.h"

#include <vector>

namespace engine {

// The softmax state of a number of query rows: maximum and sum of weights, weighted sum of values.
struct SoftmaxState {
    std::vector<float> maximum, sum, out;
    void reset(std::int64_t rows, std::int64_t headStride);
};

struct CpuBackend::AttentionScratch {
    struct PerThread {
        std::vector<float> keys, values; // one tile, decoded
        std::vector<float> queries;      // groupAttention
        SoftmaxState state;              // groupAttention
    };
    std::vector<PerThread> threads;
    std::vector<float> queries; // scaled rows of a block of positions, by key/value head
    SoftmaxState running;       // merged so far
    std::vector<SoftmaxState> splits;
};

} // namespace engine

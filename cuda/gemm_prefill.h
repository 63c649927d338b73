#pragma once
// The GEMMs of prompts and pictures: quantised weights in the layout of unit_layout.h times many
// rows of activations (more than 16; fewer work too, and are slower than GemmRows). The bits are
// those of engine/backend/int8_format.h, so a row gets what it gets from GemmRows. Kernels:
// kernels/gemm_prefill.cu.
//
// Every address is in device memory and borrowed. Errors are latched by the launcher. Engine
// thread.

#include "cuda/kernels/formats.h"
#include "cuda/launcher.h"
#include "cuda/unit_layout.h"
#include "engine/backend/tensor.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cuda {

class GemmPrefill {
public:
    // Memory in which the blocks of a launch divide the work: kTurnBytes, zeroed once, for this
    // object alone. Every launch leaves it as it was.
    static constexpr std::int64_t kTurnBytes = 64 << 10;
    GemmPrefill(Launcher& launcher, std::byte* turns) : m_launcher(launcher), m_turns(turns) {}

    struct Job {
        const UnitLayout* layout = nullptr;
        const std::byte* units = nullptr; // layout->bytes(), 128-byte aligned
        engine::Tensor out;               // F32 [rows, layout->rows], any stride
        engine::Tensor bias = {};         // F32 [1, layout->rows], added at the end; empty: none
    };

    // out of each job = its weights times the rows, + bias; any number of jobs, all with the same
    // number of columns. Jobs of one type share a launch. activations: [unit][tile], ceil(rows / 8)
    // tiles.
    void run(std::span<const Job> jobs, const ActivationTile* activations, std::int64_t rows);

private:
    void runGroup(std::span<const Job> jobs, const ActivationTile* activations, std::int64_t rows);

    Launcher& m_launcher;
    std::byte* m_turns;
};

} // namespace cuda

#pragma once
// The GEMMs of decode and verify: quantised weights in the layout of unit_layout.h times 1..16 rows
// of activations, and the repacking of weights into that layout. The bits are those of
// engine/backend/int8_format.h. Kernels: kernels/gemm_rows.cu, kernels/repack.cu.
//
// Every address is in device memory and borrowed. Errors are latched by the launcher. Engine
// thread.

#include "cuda/kernels/formats.h"
#include "cuda/launcher.h"
#include "cuda/unit_layout.h"
#include "engine/backend/tensor.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace cuda {

class GemmRows {
public:
    // ringBytes: most shared memory for weights on their way; other values are for measurements.
    static constexpr int kRingBytes = 184 << 10;
    explicit GemmRows(Launcher& launcher, int ringBytes = kRingBytes)
        : m_launcher(launcher), m_ringBytes(ringBytes) {}

    static constexpr int kMaxJobs = 4;

    struct Job {
        const UnitLayout* layout = nullptr;
        const std::byte* units = nullptr; // layout->bytes(), 128-byte aligned
        float* sums = nullptr;            // room for sumFloats(*layout, rows), 16-byte aligned
    };

    // The most that run() writes for a job.
    static std::int64_t sumFloats(const UnitLayout& layout, int rows) {
        return std::int64_t(layout.segments) * layout.rowTiles * rows * kUnitRows;
    }

    // sums of each job = its weights times `rows` (1..16) rows; sums[i] says what lies there. At
    // most kMaxJobs, all with the same number of columns. Jobs of one type share a launch, and so
    // do jobs of Q4_K and Q6_K.
    void run(std::span<const Job> jobs, const ActivationTile* activations, int rows,
             std::span<PartialSums> sums);

    // out[column][r] = the segments' sums; out F32 [sums.columns, weight rows], any stride.
    void reduce(const PartialSums& sums, engine::Tensor out);

    // Rows as the file has them become units: `rawRows` holds the rows of the matrix from
    // 16 * firstTile on, `rawRowCount` of them (whole tiles, or to the end of the matrix).
    void repack(const UnitLayout& layout, const std::byte* rawRows, int firstTile,
                std::int64_t rawRowCount, std::byte* units);

private:
    // The jobs of these types, one group each.
    void launch(std::span<const Job> jobs, std::initializer_list<QuantType> types,
                const ActivationTile* activations, int rows, KernelId kernel,
                std::span<PartialSums> sums);

    Launcher& m_launcher;
    int m_ringBytes;
};

} // namespace cuda

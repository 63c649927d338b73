#pragma once
// Operations on rows: look-up, gathering, norms, the 8-bit form, element by element, the fused
// steps between the matrix products of a pass with few rows, and what is drawn from logits. What
// each computes is said at its namesake in engine/backend/backend.h. Kernels: kernels/rows.cu,
// glue.cu, logits.cu.
//
// Tensors lie in device memory, F32 with any stride that is a multiple of 4 bytes unless said
// otherwise. A row's result does not depend on the others, nor on which of the functions made it:
// residualGlue and swigluGlue give the same bits as the separate operations.
//
// Borrows the launcher; owns a scratch buffer for the logits. Engine thread.

#include "cuda/kernels/formats.h"
#include "cuda/launcher.h"
#include "engine/backend/backend.h"
#include "engine/quant/quant_types.h"

#include <cstdint>

namespace cuda {

struct LogitArgs;

// Rows of a table as the file stores them, in memory that the card can read (device memory, or the
// host's mapped into the device's addresses). Aligned to 4 bytes at least.
struct EmbeddingTable {
    const void* data = nullptr;
    engine::QuantType type = engine::QuantType::F32;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
};

// Where quantised rows go, in device memory.
struct QuantizedRows {
    // Records [unit][tile] for rounded-up rows / 8 tiles, aligned to 16 bytes; null: not wanted.
    ActivationTile* tiles = nullptr;
    // The rows as they are, for float weights; null: not wanted. May be the rows that are
    // quantised.
    float* floats = nullptr;
    std::int64_t floatStride = 0; // floats between rows
};

class RowOps {
public:
    // Of the scratch buffer; it is zeroed when made.
    static const std::int64_t kScratchBytes;

    RowOps(Launcher& launcher, engine::Buffer scratch);

    // An id that the table does not have gives a row of NaN.
    void embed(const EmbeddingTable& table, engine::Tensor ids, engine::Tensor out);
    void gatherRows(engine::Tensor x, engine::Tensor indices, engine::Tensor out);
    void rmsNorm(engine::Tensor x, engine::Tensor gamma, float eps, engine::Tensor out);
    void layerNorm(engine::Tensor x, engine::Tensor gamma, engine::Tensor beta, float eps,
                   engine::Tensor out);
    void quantize(engine::Tensor x, const QuantizedRows& out);
    void normQuantize(engine::Tensor x, engine::Tensor gamma, float eps, const QuantizedRows& out);
    void layerNormQuantize(engine::Tensor x, engine::Tensor gamma, engine::Tensor beta, float eps,
                           const QuantizedRows& out);
    void geluQuantize(engine::Tensor x, const QuantizedRows& out);
    void swigluQuantize(engine::Tensor gate, engine::Tensor up, const QuantizedRows& out);
    void gateQuantize(engine::Tensor x, engine::Tensor gate, const QuantizedRows& out);
    // The end of Backend::matmulAdd for any number of rows, y being the product; as residualGlue
    // otherwise, for up to kMaxResidualColumns.
    static const std::int64_t kMaxResidualColumns;
    void residual(engine::Tensor y, const engine::NormSpec* post, engine::Tensor x,
                  const engine::NormSpec* next, const QuantizedRows& out);
    void postNormAdd(engine::Tensor x, engine::Tensor y, engine::Tensor gamma, float eps);
    void sigmoidGate(engine::Tensor x, engine::Tensor gate);
    void swiglu(engine::Tensor gate, engine::Tensor up, engine::Tensor out);
    void gelu(engine::Tensor x);
    void add(engine::Tensor x, engine::Tensor y);
    void softcap(engine::Tensor z, float scale, float cap);
    void copy(engine::Tensor from, engine::Tensor to); // any element type

    // ---- fused steps; at most kMaxStepRows rows

    // Widest row that residualGlue takes.
    static const std::int64_t kMaxGlueColumns;
    // The end of Backend::matmulAdd, y being what the product wrote: x += norm(y), `post` null:
    // without the norm; then, unless `next` is null, out = the 8-bit form of norm(x). tap: as
    // there.
    void residualGlue(const PartialSums& y, const engine::NormSpec* post, engine::Tensor x,
                      const engine::NormSpec* next, const QuantizedRows& out, engine::Tensor tap);
    // The end of Backend::matmulSwiglu: out = the 8-bit form of swiglu(gate, up). columns: rows of
    // either weight.
    void swigluGlue(const PartialSums& gate, const PartialSums& up, std::int64_t columns,
                    const QuantizedRows& out);

    // ---- logits
    void argmax(engine::Tensor z, engine::Tensor ids);
    void largest(engine::Tensor z, engine::Tensor values, engine::Tensor ids);
    // The same of z = softcap(sums, scale, cap), which is not written; `columns` of it, at most
    // kMaxHeadColumns. Values empty: argmax.
    static const std::int64_t kMaxHeadColumns;
    void headLargest(const PartialSums& sums, std::int64_t columns, float scale, float cap,
                     engine::Tensor values, engine::Tensor ids);

private:
    void runEvenly(KernelId kernel, LaunchShape shape, std::int64_t rows, unsigned cluster,
                   const auto& args);
    void normalize(KernelId wide, KernelId narrow, engine::Tensor x, engine::Tensor gamma,
                   engine::Tensor beta, float eps, engine::Tensor out);
    void quantizeEach(KernelId kernel, engine::Tensor x, engine::Tensor y,
                      const QuantizedRows& out);
    void elementwise(KernelId kernel, engine::Tensor x, engine::Tensor y, engine::Tensor out,
                     float scale = 0, float cap = 0);
    LogitArgs logitArgs(std::int64_t columns, engine::Tensor values, engine::Tensor ids) const;
    void fromLogits(KernelId kernel, engine::Tensor z, engine::Tensor values, engine::Tensor ids);

    Launcher& m_launcher;
    engine::Buffer m_scratch; // one LogitScratch
};

} // namespace cuda

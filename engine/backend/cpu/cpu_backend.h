#pragma once
// The processor as a backend. It is always there, and with `reference` instructions it is the
// oracle for every other implementation. All instruction sets and thread counts give the same bits
// (int8_format.h).
//
// Memory: matmul weights are repacked while they are imported (weight_layout.h), tensor by tensor,
// so that the caller can let the file's pages go; embedding rows are read from the mapped file,
// which must outlive the backend's use of them. Matmul weights in float arithmetic, and F32, F16
// and BF16 ones always, are copied as they are and become floats on the way.
//
// Engine thread; the pool's threads work inside an operation only.

#include "engine/backend/backend.h"
#include "engine/backend/cpu/cpu_memory.h"
#include "engine/backend/cpu/kernel_table.h"
#include "engine/backend/cpu/rope_tables.h"
#include "engine/base/thread_pool.h"

#include <memory>
#include <string>
#include <vector>

namespace engine {

enum class CpuMath {
    Float, // weights become floats: slow, the reference
    Int8,  // 8-bit activations against quantised weights
};

enum class CpuInstructions { Automatic, Reference, Avx2, AvxVnni, Avx512, Amx };

struct CpuOptions {
    CpuMath math = CpuMath::Int8;
    int threads = 0; // 0: one per physical core
    CpuInstructions instructions = CpuInstructions::Automatic;
};

class CpuBackend final : public Backend {
public:
    // Unsupported if this processor lacks the instructions asked for.
    static Result<std::unique_ptr<CpuBackend>> make(const CpuOptions& options);
    ~CpuBackend() override;

    const CpuOptions& options() const { return m_options; } // threads as chosen
    const KernelTable& kernels() const { return m_kernels; }

    std::string name() const override;
    MemoryState memory() const override;

    Result<Buffer> allocate(std::int64_t bytes, std::string_view what) override;
    Result<std::unique_ptr<Weight>> importWeight(const WeightSource& source,
                                                 WeightUse use) override;
    Result<std::unique_ptr<Activations>>
    makeActivations(std::int64_t maxRows, std::int64_t maxColumns,
                    std::span<const Weight* const> users = {}) override;
    void copyIn(std::span<const std::byte> host, Tensor to) override;
    Result<void> copyOut(Tensor from, std::span<std::byte> host) override;
    void copy(Tensor from, Tensor to) override;
    Result<void> synchronize() override { return {}; }

    void embed(const Weight& table, Tensor ids, Tensor out) override;
    void gatherRows(Tensor x, Tensor indices, Tensor out) override;
    void rmsNorm(Tensor x, Tensor gamma, float eps, Tensor out) override;
    void layerNorm(Tensor x, Tensor gamma, Tensor beta, float eps, Tensor out) override;
    void quantize(Tensor x, Activations& out) override;
    void matmul(std::span<const MatmulJob> jobs, const Activations& x) override;
    void rope(Tensor x, Tensor positions, const RopeSpec& spec) override;
    void kvWrite(const KvLayer& layer, Tensor k, Tensor v, Tensor positions) override;
    void attention(Tensor q, const KvLayer& layer, Tensor positions, const AttentionShape& shape,
                   const AttentionSpan& span, Tensor out) override;
    void groupAttention(Tensor q, Tensor k, Tensor v, const AttentionShape& shape,
                        std::span<const std::int32_t> groupStarts, Tensor out) override;
    void sigmoidGate(Tensor x, Tensor gate) override;
    void swiglu(Tensor gate, Tensor up, Tensor out) override;
    void gelu(Tensor x) override;
    void add(Tensor x, Tensor y) override;
    void softcap(Tensor z, float scale, float cap) override;
    void argmax(Tensor z, Tensor ids) override;
    void largest(Tensor z, Tensor values, Tensor ids) override;

private:
    CpuBackend(const CpuOptions& options, const KernelTable& kernels);
    void release(std::byte* data, std::int64_t bytes) override;

    // fn(row, firstColumn, columns) over all rows, in pieces when that pays.
    template<class Fn> void forPieces(std::int64_t rows, std::int64_t columns, Fn&& fn);
    // fn(row), on the pool when the rows hold enough work.
    template<class Fn> void forRows(std::int64_t rows, std::int64_t columns, Fn&& fn);

    struct AttentionScratch;

    CpuOptions m_options;
    const KernelTable& m_kernels;
    ThreadPool m_pool;
    RopeTables m_rope;
    std::unique_ptr<AttentionScratch> m_attention;
    std::vector<std::vector<float>> m_decoded; // per thread: weight rows as floats
    bool m_hasInt8Weights = false;
    bool m_hasFloatWeights = false;
};

} // namespace engine

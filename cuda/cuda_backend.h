#pragma once
// The graphics card as a backend. Opened at run time; nothing of CUDA is linked. Kernels run one
// after the other on one stream. GEMMs give the processor's bits (int8_format.h); a row's result is
// the same for any number of rows, whether through the kernels for few rows or those for many.
//
// Memory: matmul weights are brought into the order of the tensor cores while they are imported
// (unit_layout.h); embedding tables lie in the computer's memory. Import weights before making
// activations (cuda_activations.h). Nothing is allocated inside an operation: the scratch that the
// kernels for few rows need grows while weights are imported.
//
// Engine thread: the one that made it.

#include "cuda/attention.h"
#include "cuda/context.h"
#include "cuda/cuda_activations.h"
#include "cuda/cuda_weight.h"
#include "cuda/device_arena.h"
#include "cuda/gemm_float.h"
#include "cuda/gemm_prefill.h"
#include "cuda/gemm_rows.h"
#include "cuda/graph_cache.h"
#include "cuda/host_copies.h"
#include "cuda/row_ops.h"
#include "cuda/stream_launcher.h"
#include "cuda/weight_upload.h"
#include "engine/backend/backend.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

namespace cuda {

struct CudaOptions {
    int device = 0;
    // ---- for tests
    FaultPlan* faults = nullptr;         // outlives the backend
    std::span<const KernelImage> images; // empty: what the program has
    CardLimits limits;
    bool selfTest = true;
};

class CudaBackend final : public engine::Backend {
public:
    // In words: Unsupported without a driver or a card, when either is too old or the program has
    // no code for the card; Device when the card does not start or computes wrongly; OutOfMemory.
    static engine::Result<std::unique_ptr<CudaBackend>> make(const CudaOptions& options);
    ~CudaBackend() override;

    Launcher& launcher() { return *m_launcher; } // for measurements and tests of single kernels
    std::size_t recordedSteps() const { return m_graphs->size(); } // that replay holds

    std::string name() const override; // "NVIDIA H200, 139 GiB"
    engine::MemoryState memory() const override;
    bool sharesFileMemory() const override { return false; }
    int rowsPerRead() const override { return 512; }

    engine::Result<engine::Buffer> allocate(std::int64_t bytes, std::string_view what) override;
    engine::Result<std::unique_ptr<engine::Weight>> importWeight(const engine::WeightSource& source,
                                                                 engine::WeightUse use) override;
    engine::Result<std::unique_ptr<engine::Activations>>
    makeActivations(std::int64_t maxRows, std::int64_t maxColumns,
                    std::span<const engine::Weight* const> users = {}) override;
    engine::Result<void> prepareAttention(const engine::AttentionShape& shape,
                                          std::int64_t positions) override;
    void copyIn(std::span<const std::byte> host, engine::Tensor to) override;
    engine::Result<void> copyOut(engine::Tensor from, std::span<std::byte> host) override;
    void copy(engine::Tensor from, engine::Tensor to) override;
    engine::Result<void> synchronize() override;

    void embed(const engine::Weight& table, engine::Tensor ids, engine::Tensor out) override;
    void gatherRows(engine::Tensor x, engine::Tensor indices, engine::Tensor out) override;
    void rmsNorm(engine::Tensor x, engine::Tensor gamma, float eps, engine::Tensor out) override;
    void layerNorm(engine::Tensor x, engine::Tensor gamma, engine::Tensor beta, float eps,
                   engine::Tensor out) override;
    void quantize(engine::Tensor x, engine::Activations& out) override;
    void matmul(std::span<const engine::MatmulJob> jobs, const engine::Activations& x) override;
    void rope(engine::Tensor x, engine::Tensor positions, const engine::RopeSpec& spec) override;
    void kvWrite(const engine::KvLayer& layer, engine::Tensor k, engine::Tensor v,
                 engine::Tensor positions) override;
    void attention(engine::Tensor q, const engine::KvLayer& layer, engine::Tensor positions,
                   const engine::AttentionShape& shape, const engine::AttentionSpan& span,
                   engine::Tensor out) override;
    void groupAttention(engine::Tensor q, engine::Tensor k, engine::Tensor v,
                        const engine::AttentionShape& shape,
                        std::span<const std::int32_t> groupStarts, engine::Tensor out) override;
    void sigmoidGate(engine::Tensor x, engine::Tensor gate) override;
    void swiglu(engine::Tensor gate, engine::Tensor up, engine::Tensor out) override;
    void gelu(engine::Tensor x) override;
    void add(engine::Tensor x, engine::Tensor y) override;
    void softcap(engine::Tensor z, float scale, float cap) override;
    void argmax(engine::Tensor z, engine::Tensor ids) override;
    void largest(engine::Tensor z, engine::Tensor values, engine::Tensor ids) override;

    void normQuantize(engine::Tensor x, engine::Tensor gamma, float eps, engine::Tensor scratch,
                      engine::Activations& out) override;
    void layerNormQuantize(engine::Tensor x, engine::Tensor gamma, engine::Tensor beta, float eps,
                           engine::Tensor scratch, engine::Activations& out) override;
    void geluQuantize(engine::Tensor x, engine::Activations& out) override;
    void swigluQuantize(engine::Tensor gate, engine::Tensor up, engine::Activations& out) override;
    void gateQuantize(engine::Tensor x, engine::Tensor gate, engine::Activations& out) override;
    void postNormAdd(engine::Tensor x, engine::Tensor y, engine::Tensor postGamma,
                     float postEps) override;
    void matmulAdd(const engine::Weight& weight, const engine::Activations& in,
                   const engine::NormSpec* post, engine::Tensor x, engine::Tensor scratch,
                   const engine::NormSpec* next, engine::Activations& out,
                   engine::Tensor tap) override;
    void matmulSwiglu(const engine::Weight& gate, const engine::Weight& up,
                      const engine::Activations& in, engine::Tensor gateRows, engine::Tensor upRows,
                      engine::Activations& out) override;
    void attend(const engine::AttentionStep& step, const engine::Activations& in,
                engine::Activations& out) override;
    void matmulLargest(const engine::Weight& weight, const engine::Activations& in, float scale,
                       float cap, engine::Tensor zRows, engine::Tensor values,
                       engine::Tensor ids) override;
    bool replay(std::string_view key, const std::function<bool()>& fn) override;

private:
    struct Allocation {
        DeviceBuffer memory;
        GraphGuard guard;
    };

    CudaBackend() = default;
    engine::Result<void> open(const CudaOptions& options);
    void release(std::byte* data, std::int64_t bytes) override;
    void latch(const engine::Result<void>& done);
    engine::Result<void> state() const; // the first error

    // ---- importing (cuda_weights.cpp)
    engine::Result<WeightUpload*> upload();
    engine::Result<void> importVector(const engine::WeightSource& source, CudaWeight& weight);
    engine::Result<void> importTable(const engine::WeightSource& source, CudaWeight& weight);
    engine::Result<void> importUnits(const engine::WeightSource& source, CudaWeight& weight);
    engine::Result<void> importFloats(const engine::WeightSource& source, CudaWeight& weight);
    engine::Result<void> growSums(const UnitLayout& layout);

    // ---- products (cuda_matmul.cpp)
    // Where the sums of these weights go for `rows` rows; false when there is no room for all of
    // them, or one of them is not in the form of units.
    bool placeSums(std::span<const CudaWeight* const> weights, std::int64_t rows,
                   std::span<GemmRows::Job> jobs);
    bool runStep(std::span<const CudaWeight* const> weights, const CudaActivations& in,
                 std::span<PartialSums> sums);
    void multiplyFewRows(std::span<const engine::MatmulJob> jobs, const CudaActivations& in);

    // In the order of construction; what comes later uses what comes earlier.
    std::unique_ptr<Context> m_context;
    std::unique_ptr<StreamLauncher> m_launcher;
    std::unique_ptr<GraphCache> m_graphs;
    std::unordered_map<std::byte*, Allocation> m_allocations;
    DeviceArena m_arena;
    std::optional<HostCopies> m_copies;
    std::unique_ptr<WeightUpload> m_upload; // while weights are loaded

    // Partial sums of the products with few rows: room for the four matrices with the most.
    DeviceBuffer m_sums;
    GraphGuard m_sumsGuard;
    std::array<std::int64_t, GemmRows::kMaxJobs> m_largestSums{}; // bytes, descending

    bool m_hasFloatWeights = false; // decides for activations made from then on

    engine::Buffer m_turns; // of m_gemmPrefill
    std::optional<GemmRows> m_gemmRows;
    std::optional<GemmPrefill> m_gemmPrefill;
    std::optional<GemmFloat> m_gemmFloat;
    std::optional<RowOps> m_rowOps;
    std::optional<Attention> m_attention;
};

} // namespace cuda

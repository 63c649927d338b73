#include "cuda/cuda_backend.h"

#include "cuda/self_test.h"
#include "engine/base/check.h"

namespace cuda {

using engine::Buffer;
using engine::Result;
using engine::Tensor;

Result<std::unique_ptr<CudaBackend>> CudaBackend::make(const CudaOptions& options) {
    std::unique_ptr<CudaBackend> backend(new CudaBackend);
    if (auto opened = backend->open(options); !opened) return opened.error();
    if (options.selfTest) {
        if (auto right = testSelf(*backend); !right) return right.error();
    }
    return backend;
}

Result<void> CudaBackend::open(const CudaOptions& options) {
    auto context = Context::make(options.device, options.faults);
    if (!context) return context.error();
    m_context = std::move(*context);
    auto launcher = StreamLauncher::make(
        *m_context, options.images.empty() ? builtinImages() : options.images, options.limits);
    if (!launcher) return launcher.error();
    m_launcher = std::move(*launcher);
    m_graphs = std::make_unique<GraphCache>(*m_context, m_launcher->stream());
    auto copies = HostCopies::make(*m_context, m_launcher->stream());
    if (!copies) return copies.error();
    m_copies.emplace(std::move(*copies));

    auto logits = allocate(RowOps::kScratchBytes, "memory for choosing tokens");
    if (!logits) return logits.error();
    auto attentionMemory = allocate(Attention::kLeastScratchBytes, "memory for attention");
    if (!attentionMemory) return attentionMemory.error();
    auto turns = allocate(GemmPrefill::kTurnBytes, "memory for products");
    if (!turns) return turns.error();
    m_turns = std::move(*turns);
    m_gemmRows.emplace(*m_launcher);
    m_gemmPrefill.emplace(*m_launcher, m_turns.data());
    m_gemmFloat.emplace(*m_launcher);
    m_rowOps.emplace(*m_launcher, std::move(*logits));
    m_attention.emplace(*m_launcher, std::move(*attentionMemory));
    return {};
}

CudaBackend::~CudaBackend() {
    if (m_launcher) m_context->driver().cuStreamSynchronize(m_launcher->stream());
}

std::string CudaBackend::name() const {
    const std::int64_t gibibytes = (m_context->totalBytes() + (std::int64_t(1) << 29)) >> 30;
    return m_context->cardName() + ", " + std::to_string(gibibytes) + " GiB";
}

engine::MemoryState CudaBackend::memory() const {
    const std::int64_t free = m_context->freeBytes(), total = m_context->totalBytes();
    return {usableBytes(free, kReserveBytes), total, free > 0 ? total - free : 0};
}

void CudaBackend::latch(const Result<void>& done) {
    if (!done) m_context->fail(done.error());
}

// ---- memory

Result<Buffer> CudaBackend::allocate(std::int64_t bytes, std::string_view what) {
    CHECK(bytes >= 0 && !m_graphs->recording());
    if (m_context->failed()) return m_context->error();
    auto memory = DeviceBuffer::make(*m_context, std::max<std::int64_t>(bytes, 1), what);
    if (!memory) return memory.error();
    std::byte* data = memory->data();
    const CUresult zeroed = m_context->driver().cuMemsetD8Async(
        memory->address(), 0, std::size_t(memory->bytes()), m_launcher->stream());
    if (zeroed != CUDA_SUCCESS) return m_context->driver().error(zeroed, what);
    m_launcher->finishBeforeNext();
    m_allocations.emplace(data, Allocation{std::move(*memory), GraphGuard(*m_graphs)});
    return Buffer(*this, data, bytes);
}

Result<void> CudaBackend::prepareAttention(const engine::AttentionShape& shape,
                                           std::int64_t positions) {
    const std::int64_t needed = Attention::scratchBytes(shape, positions);
    if (needed <= m_attention->scratchBytes()) return {};
    auto memory = allocate(needed, "memory for attention");
    if (!memory) return memory.error();
    m_attention->useScratch(std::move(*memory));
    return {};
}

// The driver waits for what still uses the memory.
void CudaBackend::release(std::byte* data, std::int64_t) {
    CHECK(m_allocations.erase(data) == 1);
}

void CudaBackend::copyIn(std::span<const std::byte> host, Tensor to) {
    CHECK(!m_graphs->recording());
    m_copies->copyIn(host, to);
    m_launcher->finishBeforeNext();
}

Result<void> CudaBackend::copyOut(Tensor from, std::span<std::byte> host) {
    CHECK(!m_graphs->recording());
    m_upload.reset();              // loading is over, for now
    m_copies->copyOut(from, host); // waits
    return state();
}

Result<void> CudaBackend::synchronize() {
    m_upload.reset();
    if (!m_context->failed())
        m_context->check(m_context->driver().cuStreamSynchronize(m_launcher->stream()),
                         "computing");
    return state();
}

Result<void> CudaBackend::state() const {
    if (m_context->failed()) return m_context->error();
    return {};
}

void CudaBackend::copy(Tensor from, Tensor to) {
    m_rowOps->copy(from, to);
}

bool CudaBackend::replay(std::string_view key, const std::function<bool()>& fn) {
    return m_graphs->replay(key, fn);
}

// ---- primitive operations

void CudaBackend::gatherRows(Tensor x, Tensor indices, Tensor out) {
    m_rowOps->gatherRows(x, indices, out);
}

void CudaBackend::rmsNorm(Tensor x, Tensor gamma, float eps, Tensor out) {
    m_rowOps->rmsNorm(x, gamma, eps, out);
}

void CudaBackend::layerNorm(Tensor x, Tensor gamma, Tensor beta, float eps, Tensor out) {
    m_rowOps->layerNorm(x, gamma, beta, eps, out);
}

void CudaBackend::rope(Tensor x, Tensor positions, const engine::RopeSpec& spec) {
    latch(m_attention->rope(x, positions, spec));
}

void CudaBackend::kvWrite(const engine::KvLayer& layer, Tensor k, Tensor v, Tensor positions) {
    latch(m_attention->kvWrite(layer, k, v, positions));
}

void CudaBackend::attention(Tensor q, const engine::KvLayer& layer, Tensor positions,
                            const engine::AttentionShape& shape, const engine::AttentionSpan& span,
                            Tensor out) {
    latch(m_attention->attention(q, layer, positions, shape, span, out));
}

void CudaBackend::groupAttention(Tensor q, Tensor k, Tensor v, const engine::AttentionShape& shape,
                                 std::span<const std::int32_t> groupStarts, Tensor out) {
    latch(m_attention->groupAttention(q, k, v, shape, groupStarts, out));
}

void CudaBackend::sigmoidGate(Tensor x, Tensor gate) {
    m_rowOps->sigmoidGate(x, gate);
}

void CudaBackend::swiglu(Tensor gate, Tensor up, Tensor out) {
    m_rowOps->swiglu(gate, up, out);
}

void CudaBackend::gelu(Tensor x) {
    m_rowOps->gelu(x);
}

void CudaBackend::add(Tensor x, Tensor y) {
    m_rowOps->add(x, y);
}

void CudaBackend::softcap(Tensor z, float scale, float cap) {
    m_rowOps->softcap(z, scale, cap);
}

void CudaBackend::argmax(Tensor z, Tensor ids) {
    m_rowOps->argmax(z, ids);
}

void CudaBackend::largest(Tensor z, Tensor values, Tensor ids) {
    m_rowOps->largest(z, values, ids);
}

void CudaBackend::postNormAdd(Tensor x, Tensor y, Tensor postGamma, float postEps) {
    m_rowOps->postNormAdd(x, y, postGamma, postEps);
}

} // namespace cuda

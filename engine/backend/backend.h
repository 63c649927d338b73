#pragma once
// Backend: where tensors live and where operations run. The mathematics of the models is written
// once, in engine/model, as calls on this interface; the CPU and the GPU implement it.
//
// Threads: a backend belongs to the engine thread. Operations are ordered; on a GPU they run later,
// and copyOut and synchronize wait for them.
//
// Errors: what can fail while working (a driver, a lost card) is remembered by the backend; later
// operations do nothing, and copyOut and synchronize return that error (code Device). Nothing that
// was computed after it is ever handed out. Such a backend stays failed: make a new one.
//
// Exactness, the contract every implementation keeps: what an operation writes to a row depends on
// that row (for attention: on its position and the cached keys) and on nothing else. Not on how
// many rows are computed together, not on threads, not on how a prompt was cut into chunks. Sums
// run in an order that the matrix or the absolute position fixes. Therefore the text is the same
// for every draft length.
//
// No operation allocates device memory: buffers are made by allocate before work starts.

#include "engine/backend/tensor.h"
#include "engine/base/result.h"
#include "engine/quant/quant_types.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace engine {

class Backend;

// Owns a piece of a backend's memory. Move-only; the backend outlives it.
class Buffer {
public:
    Buffer() = default;
    Buffer(Backend& backend, std::byte* data, std::int64_t bytes)
        : m_backend(&backend), m_data(data), m_bytes(bytes) {}
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        Buffer moved(std::move(other));
        swap(moved);
        return *this;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    std::byte* data() const { return m_data; }
    std::int64_t bytes() const { return m_bytes; }

    // A tensor of this shape without gaps, `offsetBytes` into the buffer.
    Tensor tensor(ElementType type, std::int64_t rows, std::int64_t columns,
                  std::int64_t offsetBytes = 0) const {
        const std::int64_t stride = elementBytes(type, columns);
        CHECK(offsetBytes >= 0 && offsetBytes + rows * stride <= m_bytes);
        return {m_data + offsetBytes, type, rows, columns, stride};
    }

private:
    void swap(Buffer& other) noexcept {
        std::swap(m_backend, other.m_backend);
        std::swap(m_data, other.m_data);
        std::swap(m_bytes, other.m_bytes);
    }
    Backend* m_backend = nullptr;
    std::byte* m_data = nullptr;
    std::int64_t m_bytes = 0;
};

// A weight matrix as the file stores it: `rows` rows of `columns` weights, each row whole blocks of
// `type`. The bytes belong to the mapped file and are only needed during importWeight, except for
// Embedding weights, whose rows may be read from there later.
struct WeightSource {
    std::string_view name;
    QuantType type = QuantType::F32;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::span<const std::byte> bytes;
};

enum class WeightUse {
    Matmul,    // operand of matmul; a backend may repack it into its own layout
    Embedding, // looked up by row
    Vector,    // norm weights and biases: becomes F32, read through Weight::vector()
};

// An imported weight. The backend that made it knows the rest.
class Weight {
public:
    virtual ~Weight() = default;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    QuantType type = QuantType::F32;
    std::int64_t deviceBytes = 0; // memory taken in the backend, beyond the mapped file
    virtual Tensor vector() const { return {}; } // F32, 1 row; for WeightUse::Vector only
};

// Rows prepared as the right operand of matmul: the F32 rows, and (for the integer arithmetic)
// their 8-bit form in groups of 64. Made once by makeActivations for the largest shape, filled by
// quantize.
class Activations {
public:
    virtual ~Activations() = default;
    std::int64_t rows = 0;    // of the last quantize
    std::int64_t columns = 0; // of the last quantize
};

struct MatmulJob {
    const Weight* weight = nullptr;
    Tensor out;       // F32 [rows of the activations, weight->rows]
    Tensor bias = {}; // F32 [1, weight->rows], added to every row at the end; empty: none
};

enum class RopePairing {
    Adjacent, // pairs (2j, 2j+1): target, vision tower
    Halves,   // pairs (j, j + headSize/2): drafter
};

// Rotary positions of `headSize`-wide heads. The headSize/2 pairs are divided evenly among `axes`
// (1 for text; 2 for pictures: first column, then row); pair j of an axis turns by
// position * theta^(-2j / (headSize / axes)).
struct RopeSpec {
    RopePairing pairing = RopePairing::Adjacent;
    double theta = 10000;
    int headSize = 0;
    int axes = 1;
};

// A norm with its weights: rms(x, eps) * gamma.
struct NormSpec {
    Tensor gamma;
    float eps = 0;
};

// Keys and values of one layer. Position p lies in row p % capacity, so a full layer has capacity =
// context and a sliding layer a ring. [capacity, kvHeads * headSize], F32, F16 or Q8_0 (32-blocks
// along a head).
struct KvLayer {
    Tensor keys;
    Tensor values;
    std::int64_t capacity = 0;
};

// Which cached positions the query at position p sees: those within [p - left, p + right] that
// exist (0 <= position < keyEnd, keyEnd = last query position of the call + 1). Target, full layer:
// left unlimited, right 0; sliding layer: left = window - 1, right 0; drafter: left = right =
// window.
struct AttentionSpan {
    static constexpr std::int64_t kUnlimited = std::int64_t(1) << 40;
    std::int64_t left = kUnlimited;
    std::int64_t right = 0;
};

struct AttentionShape {
    int heads = 0;
    int kvHeads =
        0; // query heads [g * heads/kvHeads, (g+1) * heads/kvHeads) share key/value head g
    int headSize = 0;
    // Scores are q.k / sqrt(headSize).
};

// An attention half layer between its input norm and its output projection.
struct AttentionStep {
    const Weight* q = nullptr;
    const Weight* k = nullptr;
    const Weight* v = nullptr;
    const Weight* gate = nullptr;   // null: the result is not gated
    NormSpec qNorm, kNorm;          // of each head
    const RopeSpec* rope = nullptr; // null: no position encoding
    Tensor positions;               // I32 [rows, 1], ascending by one
    KvLayer cache;
    AttentionShape shape;
    AttentionSpan span;
    // Scratch, F32: [rows, heads * headSize] and [rows, kvHeads * headSize]. What they hold
    // afterwards is not said.
    Tensor qRows, gateRows, outRows;
    Tensor kRows, vRows;
};

struct MemoryState {
    std::int64_t freeBytes = 0; // what may still be taken
    std::int64_t totalBytes = 0;
    std::int64_t takenBytes = 0; // of a card, now, by all programs; 0: not known
};

class Backend {
public:
    virtual ~Backend() = default;

    virtual std::string name() const = 0;   // for people: "Processor, AVX-512, 2 threads"
    virtual MemoryState memory() const = 0; // of the memory that buffers come from
    // True if embedding rows are read from the mapped file and its pages take the same memory.
    virtual bool sharesFileMemory() const { return true; }
    // Rows that a prompt is best read by.
    virtual int rowsPerRead() const { return 256; }

    // ---- memory
    virtual Result<Buffer> allocate(std::int64_t bytes, std::string_view what) = 0; // zeroed
    virtual Result<std::unique_ptr<Weight>> importWeight(const WeightSource& source,
                                                         WeightUse use) = 0;
    // users: all weights that these will be multiplied with, which may save memory; empty: any.
    virtual Result<std::unique_ptr<Activations>>
    makeActivations(std::int64_t maxRows, std::int64_t maxColumns,
                    std::span<const Weight* const> users = {}) = 0;
    // Attention of this shape over caches of up to `positions` positions is to come, in passes of
    // few rows: a backend may take memory for it. The results are the same without.
    virtual Result<void> prepareAttention(const AttentionShape&, std::int64_t /*positions*/) {
        return {};
    }
    virtual void copyIn(std::span<const std::byte> host,
                        Tensor to) = 0; // rows without gaps on the host
    virtual Result<void> copyOut(Tensor from, std::span<std::byte> host) = 0; // waits
    virtual void copy(Tensor from, Tensor to) = 0; // same type and shape, any strides
    virtual Result<void> synchronize() = 0;

    // ---- primitive operations. x, y and out are F32 [rows, columns] unless said otherwise; out
    // may be x where both have the same shape.

    // out[i] = row ids[i] of the table; ids I32 [rows, 1].
    virtual void embed(const Weight& table, Tensor ids, Tensor out) = 0;
    // Gathers n rows of x into one row of out, interleaved: out[i][c * n + j] =
    // x[indices[i][j]][c]. indices I32 [rows of out, n], out has n * columns of x; n = 1 picks
    // rows, n = 4 merges the 2x2 patches of a picture's cell with the channel as the outer index.
    // out must not be x.
    virtual void gatherRows(Tensor x, Tensor indices, Tensor out) = 0;
    // out = x / sqrt(mean(x^2) + eps) * gamma; gamma F32 [1, columns] or empty for none.
    virtual void rmsNorm(Tensor x, Tensor gamma, float eps, Tensor out) = 0;
    virtual void layerNorm(Tensor x, Tensor gamma, Tensor beta, float eps, Tensor out) = 0;
    // Prepares x for any number of matmuls, during which x stays as it is.
    virtual void quantize(Tensor x, Activations& out) = 0;
    // out[i][r] = sum over k of weight[r][k] * x[i][k], then + bias[r], for each job; the jobs
    // share the activations.
    virtual void matmul(std::span<const MatmulJob> jobs, const Activations& x) = 0;
    // x viewed as [rows, heads, headSize], turned in place; positions I32 [rows, spec.axes].
    virtual void rope(Tensor x, Tensor positions, const RopeSpec& spec) = 0;
    // Stores k and v (F32 [rows, kvHeads * headSize]) at the rows of `positions` (I32 [rows, 1]).
    virtual void kvWrite(const KvLayer& layer, Tensor k, Tensor v, Tensor positions) = 0;
    // q, out F32 [rows, heads * headSize]; positions I32 [rows, 1], ascending by one.
    virtual void attention(Tensor q, const KvLayer& layer, Tensor positions,
                           const AttentionShape& shape, const AttentionSpan& span, Tensor out) = 0;
    // Attention inside groups of consecutive rows, every row of a group seeing the whole group;
    // kvHeads == heads; out may be q. groupStarts: first row of each group, then the number of rows
    // (host memory).
    virtual void groupAttention(Tensor q, Tensor k, Tensor v, const AttentionShape& shape,
                                std::span<const std::int32_t> groupStarts, Tensor out) = 0;
    virtual void sigmoidGate(Tensor x, Tensor gate) = 0;         // x *= sigmoid(gate)
    virtual void swiglu(Tensor gate, Tensor up, Tensor out) = 0; // out = gate * sigmoid(gate) * up
    virtual void gelu(Tensor x) = 0;                             // in place, erf form
    virtual void add(Tensor x, Tensor y) = 0;                    // x += y; y may be one row for all
    // z = cap * tanh(z * scale / cap); cap 0: only the scale.
    virtual void softcap(Tensor z, float scale, float cap) = 0;
    // ids[i] = index of the largest value of row i, the lowest index among equals; I32 [rows, 1].
    virtual void argmax(Tensor z, Tensor ids) = 0;
    // The largest values of each row, largest first, the lower index first among equals: values F32
    // and ids I32, both [rows, n], n <= kMaxTop and <= columns. What is not a number counts as
    // minus infinity.
    static constexpr int kMaxTop = 64;
    virtual void largest(Tensor z, Tensor values, Tensor ids) = 0;

    // ---- fused operations: the defaults (fused_ops.cpp) compose the primitives; a backend
    // overrides one where a profile says so, with the same result.

    // out = activations of rmsNorm(x, gamma, eps); scratch has x's shape.
    virtual void normQuantize(Tensor x, Tensor gamma, float eps, Tensor scratch, Activations& out);
    // out = activations of layerNorm(x, gamma, beta, eps); scratch has x's shape.
    virtual void layerNormQuantize(Tensor x, Tensor gamma, Tensor beta, float eps, Tensor scratch,
                                   Activations& out);
    // out = activations of gelu(x), of swiglu(gate, up), of x * sigmoid(gate). What x and the first
    // gate hold afterwards is not said.
    virtual void geluQuantize(Tensor x, Activations& out);
    virtual void swigluQuantize(Tensor gate, Tensor up, Activations& out);
    virtual void gateQuantize(Tensor x, Tensor gate, Activations& out);
    // x += rmsNorm(y, postGamma, postEps): the end of a sub-layer; y is overwritten.
    virtual void postNormAdd(Tensor x, Tensor y, Tensor postGamma, float postEps);
    // The end of a half layer: x += norm(weight * in), `post` null: without the norm. And the start
    // of the next: out = activations of rmsNorm(x, next), unless `next` is null. `out` may be `in`.
    // scratch F32 of x's shape. tap: a copy of the new x goes there, unless it is empty; F32 of x's
    // shape, any stride.
    virtual void matmulAdd(const Weight& weight, const Activations& in, const NormSpec* post,
                           Tensor x, Tensor scratch, const NormSpec* next, Activations& out,
                           Tensor tap);
    // out = activations of swiglu(gate * in, up * in). gateRows, upRows: scratch F32 [rows, weight
    // rows]. `out` may be `in`.
    virtual void matmulSwiglu(const Weight& gate, const Weight& up, const Activations& in,
                              Tensor gateRows, Tensor upRows, Activations& out);
    // Projections, head norms, rotation, store, attention, gate; out = activations of the result.
    // `out` may be `in`.
    virtual void attend(const AttentionStep& step, const Activations& in, Activations& out);

    // The end of a pass over a vocabulary: of z = softcap(weight * in, scale, cap) the largest of
    // each row, as argmax(z, ids) where values is empty, otherwise as largest(z, values, ids).
    // zRows: scratch F32 [rows, weight rows]; what it holds afterwards is not said.
    virtual void matmulLargest(const Weight& weight, const Activations& in, float scale, float cap,
                               Tensor zRows, Tensor values, Tensor ids);

    // Runs fn, which calls operations only (no copyIn, no copyOut) and returns false if it broke
    // off before its end. A backend that can records what a complete fn did and from then on does
    // the same again for the same key without calling fn; so equal keys promise equal calls on
    // equal memory. Returns false if fn did.
    virtual bool replay(std::string_view key, const std::function<bool()>& fn);

private:
    friend class Buffer;
    virtual void release(std::byte* data, std::int64_t bytes) = 0;
};

inline Buffer::~Buffer() {
    if (m_data) m_backend->release(m_data, m_bytes);
}

} // namespace engine

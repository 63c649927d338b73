// Products and what is fused with them. Up to 16 rows: the row kernels leave partial sums, and the
// kernel that consumes them adds these up. More rows: whole products, and the operations that the
// defaults of the interface are composed of.

#include "cuda/cuda_backend.h"
#include "engine/base/check.h"

#include <algorithm>
#include <vector>

namespace cuda {

using engine::Activations;
using engine::MatmulJob;
using engine::NormSpec;
using engine::Tensor;
using engine::Weight;

namespace {

// The backend meets only what it made.
const CudaWeight& own(const Weight& weight) {
    return static_cast<const CudaWeight&>(weight);
}
const CudaActivations& own(const Activations& activations) {
    return static_cast<const CudaActivations&>(activations);
}

// Where rows of this shape go; the activations then hold them.
QuantizedRows fill(Activations& activations, std::int64_t rows, std::int64_t columns) {
    auto& out = static_cast<CudaActivations&>(activations);
    CHECK(rows > 0 && rows <= out.maxRows && columns > 0 && columns <= out.maxColumns);
    out.rows = rows;
    out.columns = columns;
    QuantizedRows target;
    target.tiles = out.tiles();
    if (out.keepsFloats()) {
        target.floats = reinterpret_cast<float*>(out.floatMemory.data());
        target.floatStride = columns;
        out.rowsAsTheyAre = {out.floatMemory.data(), engine::ElementType::F32, rows, columns,
                             columns * 4};
    }
    return target;
}

// The same for rows that stay where they are: only their 8-bit form is wanted.
QuantizedRows fillFrom(Tensor x, Activations& activations) {
    QuantizedRows target = fill(activations, x.rows, x.columns);
    target.floats = nullptr;
    static_cast<CudaActivations&>(activations).rowsAsTheyAre = x;
    return target;
}

const std::byte* unitsOf(const CudaWeight& weight) {
    return static_cast<const std::byte*>(weight.data);
}

} // namespace

void CudaBackend::embed(const Weight& table, Tensor ids, Tensor out) {
    const CudaWeight& weight = own(table);
    CHECK(weight.form == WeightForm::Table);
    m_rowOps->embed({weight.data, weight.type, weight.rows, weight.columns}, ids, out);
}

void CudaBackend::quantize(Tensor x, Activations& out) {
    m_rowOps->quantize(x, fillFrom(x, out));
}

void CudaBackend::normQuantize(Tensor x, Tensor gamma, float eps, Tensor, Activations& out) {
    m_rowOps->normQuantize(x, gamma, eps, fill(out, x.rows, x.columns));
}

void CudaBackend::layerNormQuantize(Tensor x, Tensor gamma, Tensor beta, float eps, Tensor,
                                    Activations& out) {
    m_rowOps->layerNormQuantize(x, gamma, beta, eps, fill(out, x.rows, x.columns));
}

void CudaBackend::geluQuantize(Tensor x, Activations& out) {
    m_rowOps->geluQuantize(x, fill(out, x.rows, x.columns));
}

void CudaBackend::swigluQuantize(Tensor gate, Tensor up, Activations& out) {
    m_rowOps->swigluQuantize(gate, up, fill(out, gate.rows, gate.columns));
}

void CudaBackend::gateQuantize(Tensor x, Tensor gate, Activations& out) {
    m_rowOps->gateQuantize(x, gate, fill(out, x.rows, x.columns));
}

// ---- products

bool CudaBackend::placeSums(std::span<const CudaWeight* const> weights, std::int64_t rows,
                            std::span<GemmRows::Job> jobs) {
    if (rows > kMaxStepRows || weights.size() > std::size_t(GemmRows::kMaxJobs)) return false;
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const CudaWeight& weight = *weights[i];
        if (weight.form != WeightForm::Units) return false;
        const std::int64_t bytes = GemmRows::sumFloats(weight.layout, int(rows)) * 4;
        if (offset + bytes > m_sums.bytes()) return false;
        jobs[i] = {&weight.layout, unitsOf(weight),
                   reinterpret_cast<float*>(m_sums.data() + offset)};
        offset += (bytes + 255) / 256 * 256;
    }
    return true;
}

bool CudaBackend::runStep(std::span<const CudaWeight* const> weights, const CudaActivations& in,
                          std::span<PartialSums> sums) {
    GemmRows::Job jobs[GemmRows::kMaxJobs];
    if (!placeSums(weights, in.rows, jobs)) return false;
    m_gemmRows->run(std::span(jobs).first(weights.size()), in.tiles(), int(in.rows), sums);
    return true;
}

void CudaBackend::multiplyFewRows(std::span<const MatmulJob> jobs, const CudaActivations& in) {
    while (!jobs.empty()) {
        const std::size_t most = std::min(jobs.size(), std::size_t(GemmRows::kMaxJobs));
        const CudaWeight* weights[GemmRows::kMaxJobs];
        PartialSums sums[GemmRows::kMaxJobs];
        for (std::size_t i = 0; i < most; ++i) weights[i] = &own(*jobs[i].weight);
        std::size_t count = most;
        while (!runStep(std::span(weights).first(count), in, sums)) {
            CHECK(count > 1); // there is room for the largest
            count /= 2;
        }
        for (std::size_t i = 0; i < count; ++i) {
            m_gemmRows->reduce(sums[i], jobs[i].out);
            if (jobs[i].bias.data) m_rowOps->add(jobs[i].out, jobs[i].bias);
        }
        jobs = jobs.subspan(count);
    }
}

void CudaBackend::matmul(std::span<const MatmulJob> jobs, const Activations& x) {
    const CudaActivations& in = own(x);
    std::vector<MatmulJob> few;
    std::vector<GemmPrefill::Job> many;
    for (const MatmulJob& job : jobs) {
        const CudaWeight& weight = own(*job.weight);
        CHECK(weight.columns == in.columns && job.out.rows == in.rows &&
              job.out.columns == weight.rows);
        if (weight.form == WeightForm::Floats) {
            if (!in.keepsFloats()) {
                m_context->fail({engine::ErrorCode::Internal,
                                 "activations were made before the float weights that use them"});
                return;
            }
            m_gemmFloat->multiply({weight.data, weight.type, weight.rows, weight.columns},
                                  in.floats(), job.out);
            if (job.bias.data) m_rowOps->add(job.out, job.bias);
        } else {
            CHECK(weight.form == WeightForm::Units);
            if (in.rows <= kMaxStepRows) {
                few.push_back(job);
            } else {
                many.push_back({&weight.layout, unitsOf(weight), job.out, job.bias});
            }
        }
    }
    if (!few.empty()) multiplyFewRows(few, in);
    if (!many.empty()) m_gemmPrefill->run(many, in.tiles(), in.rows);
}

// ---- fused operations

void CudaBackend::matmulAdd(const Weight& weight, const Activations& in, const NormSpec* post,
                            Tensor x, Tensor scratch, const NormSpec* next, Activations& out,
                            Tensor tap) {
    if (in.rows > kMaxStepRows && x.columns <= RowOps::kMaxResidualColumns) {
        const MatmulJob job[] = {{&weight, scratch}};
        matmul(job, in);
        QuantizedRows target;
        if (next) target = fill(out, x.rows, x.columns);
        m_rowOps->residual(scratch, post, x, next, target);
        if (!tap.empty()) copy(x, tap);
        return;
    }
    const CudaWeight* const weights[] = {&own(weight)};
    PartialSums sums[1];
    if (x.columns > RowOps::kMaxGlueColumns || !runStep(weights, own(in), sums)) {
        Backend::matmulAdd(weight, in, post, x, scratch, next, out, tap);
        return;
    }
    QuantizedRows target;
    if (next) target = fill(out, x.rows, x.columns);
    m_rowOps->residualGlue(sums[0], post, x, next, target, tap);
}

void CudaBackend::matmulSwiglu(const Weight& gate, const Weight& up, const Activations& in,
                               Tensor gateRows, Tensor upRows, Activations& out) {
    const CudaWeight* const weights[] = {&own(gate), &own(up)};
    PartialSums sums[2];
    if (!runStep(weights, own(in), sums)) {
        Backend::matmulSwiglu(gate, up, in, gateRows, upRows, out);
        return;
    }
    m_rowOps->swigluGlue(sums[0], sums[1], gate.rows, fill(out, in.rows, gate.rows));
}

void CudaBackend::attend(const engine::AttentionStep& step, const Activations& in,
                         Activations& out) {
    const CudaWeight* weights[GemmRows::kMaxJobs] = {&own(*step.q), &own(*step.k), &own(*step.v)};
    if (step.gate) weights[3] = &own(*step.gate);
    PartialSums sums[GemmRows::kMaxJobs];
    if (!runStep(std::span(weights).first(step.gate ? 4 : 3), own(in), sums)) {
        Backend::attend(step, in, out);
        return;
    }
    const std::int64_t rows = in.rows;
    latch(
        m_attention->attend(step, {sums[0], sums[1], sums[2], sums[3]},
                            fill(out, rows, std::int64_t(step.shape.heads) * step.shape.headSize)));
}

void CudaBackend::matmulLargest(const Weight& weight, const Activations& in, float scale, float cap,
                                Tensor zRows, Tensor values, Tensor ids) {
    const CudaWeight* const weights[] = {&own(weight)};
    PartialSums sums[1];
    if (weight.rows > RowOps::kMaxHeadColumns || !runStep(weights, own(in), sums)) {
        Backend::matmulLargest(weight, in, scale, cap, zRows, values, ids);
        return;
    }
    m_rowOps->headLargest(sums[0], weight.rows, scale, cap, values, ids);
}

} // namespace cuda

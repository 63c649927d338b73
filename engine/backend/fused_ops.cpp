// The fused operations, composed of primitives. A backend that overrides one gives the same result.

#include "engine/backend/backend.h"

namespace engine {

void Backend::normQuantize(Tensor x, Tensor gamma, float eps, Tensor scratch, Activations& out) {
    rmsNorm(x, gamma, eps, scratch);
    quantize(scratch, out);
}

void Backend::layerNormQuantize(Tensor x, Tensor gamma, Tensor beta, float eps, Tensor scratch,
                                Activations& out) {
    layerNorm(x, gamma, beta, eps, scratch);
    quantize(scratch, out);
}

void Backend::geluQuantize(Tensor x, Activations& out) {
    gelu(x);
    quantize(x, out);
}

void Backend::swigluQuantize(Tensor gate, Tensor up, Activations& out) {
    swiglu(gate, up, gate);
    quantize(gate, out);
}

void Backend::gateQuantize(Tensor x, Tensor gate, Activations& out) {
    sigmoidGate(x, gate);
    quantize(x, out);
}

void Backend::postNormAdd(Tensor x, Tensor y, Tensor postGamma, float postEps) {
    rmsNorm(y, postGamma, postEps, y);
    add(x, y);
}

void Backend::matmulAdd(const Weight& weight, const Activations& in, const NormSpec* post, Tensor x,
                        Tensor scratch, const NormSpec* next, Activations& out, Tensor tap) {
    const MatmulJob job[] = {{&weight, scratch}};
    matmul(job, in);
    if (post) {
        postNormAdd(x, scratch, post->gamma, post->eps);
    } else {
        add(x, scratch);
    }
    if (!tap.empty()) copy(x, tap);
    if (next) normQuantize(x, next->gamma, next->eps, scratch, out);
}

void Backend::matmulSwiglu(const Weight& gate, const Weight& up, const Activations& in,
                           Tensor gateRows, Tensor upRows, Activations& out) {
    const MatmulJob jobs[] = {{&gate, gateRows}, {&up, upRows}};
    matmul(jobs, in);
    swigluQuantize(gateRows, upRows, out);
}

void Backend::attend(const AttentionStep& step, const Activations& in, Activations& out) {
    const MatmulJob jobs[] = {{step.q, step.qRows},
                              {step.k, step.kRows},
                              {step.v, step.vRows},
                              {step.gate, step.gateRows}};
    matmul(std::span(jobs).first(step.gate ? 4 : 3), in);
    const Tensor qHeads = step.qRows.splitColumns(step.shape.heads);
    const Tensor kHeads = step.kRows.splitColumns(step.shape.kvHeads);
    rmsNorm(qHeads, step.qNorm.gamma, step.qNorm.eps, qHeads);
    rmsNorm(kHeads, step.kNorm.gamma, step.kNorm.eps, kHeads);
    if (step.rope) {
        rope(step.qRows, step.positions, *step.rope);
        rope(step.kRows, step.positions, *step.rope);
    }
    kvWrite(step.cache, step.kRows, step.vRows, step.positions);
    attention(step.qRows, step.cache, step.positions, step.shape, step.span, step.outRows);
    if (step.gate)
        gateQuantize(step.outRows, step.gateRows, out);
    else
        quantize(step.outRows, out);
}

void Backend::matmulLargest(const Weight& weight, const Activations& in, float scale, float cap,
                            Tensor zRows, Tensor values, Tensor ids) {
    const MatmulJob job[] = {{&weight, zRows}};
    matmul(job, in);
    if (scale != 1.0f || cap != 0.0f) softcap(zRows, scale, cap);
    if (values.empty())
        argmax(zRows, ids);
    else
        largest(zRows, values, ids);
}

bool Backend::replay(std::string_view, const std::function<bool()>& fn) {
    return fn();
}

} // namespace engine

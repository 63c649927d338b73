#include "cuda/self_test.h"

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/quant/quant_table.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace cuda {

using engine::Backend;
using engine::ElementType;
using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

constexpr std::int64_t kWeightRows = 40, kColumns = 512;

// Reproducible noise.
class Noise {
public:
    std::uint32_t next() {
        m_state = m_state * 6364136223846793005u + 1442695040888963407u;
        return std::uint32_t(m_state >> 33);
    }

private:
    std::uint64_t m_state = 20261130;
};

// Q4_K blocks of noise with ordinary scales.
std::vector<std::byte> weightBytes() {
    const engine::QuantFormat& format = engine::quantFormat(engine::QuantType::Q4_K);
    std::vector<std::byte> bytes(std::size_t(kWeightRows * format.rowBytes(kColumns)));
    Noise noise;
    for (std::byte& byte : bytes) byte = std::byte(noise.next());
    for (std::size_t at = 0; at < bytes.size(); at += std::size_t(format.blockBytes)) {
        const std::uint16_t scales[2] = {0x2c66, 0x2a66}; // about 0.07 and 0.05
        std::memcpy(bytes.data() + at, scales, sizeof(scales));
    }
    return bytes;
}

Result<std::vector<float>> product(Backend& backend, const std::vector<std::byte>& weights,
                                   std::int64_t rows) {
    auto weight =
        backend.importWeight({"self test", engine::QuantType::Q4_K, kWeightRows, kColumns, weights},
                             engine::WeightUse::Matmul);
    if (!weight) return weight.error();
    auto activations = backend.makeActivations(rows, kColumns);
    if (!activations) return activations.error();
    auto x = backend.allocate(rows * kColumns * 4, "self test");
    if (!x) return x.error();
    auto y = backend.allocate(rows * kWeightRows * 4, "self test");
    if (!y) return y.error();

    Noise noise;
    std::vector<float> values(std::size_t(rows * kColumns));
    for (float& value : values) value = float(std::int32_t(noise.next() % 4001) - 2000) / 997.0f;
    const engine::Tensor in = x->tensor(ElementType::F32, rows, kColumns);
    const engine::Tensor out = y->tensor(ElementType::F32, rows, kWeightRows);
    backend.copyIn(std::as_bytes(std::span(values)), in);
    backend.quantize(in, **activations);
    const engine::MatmulJob job[] = {{weight->get(), out}};
    backend.matmul(job, **activations);
    std::vector<float> result(std::size_t(rows * kWeightRows));
    if (auto done = backend.copyOut(out, std::as_writable_bytes(std::span(result))); !done)
        return done.error();
    return result;
}

} // namespace

Result<void> testSelf(Backend& card) {
    auto processor =
        engine::CpuBackend::make({engine::CpuMath::Int8, 1, engine::CpuInstructions::Reference});
    if (!processor) return processor.error();
    const std::vector<std::byte> weights = weightBytes();
    // Both ways of computing: few rows, and many.
    for (const std::int64_t rows : {std::int64_t(3), std::int64_t(21)}) {
        auto expected = product(**processor, weights, rows);
        if (!expected) return expected.error();
        auto computed = product(card, weights, rows);
        if (!computed) return computed.error();
        if (std::memcmp(expected->data(), computed->data(), expected->size() * 4) != 0) {
            return Error{ErrorCode::Device,
                         "the graphics card computes wrongly: its results differ from the "
                         "processor's"};
        }
    }
    return {};
}

} // namespace cuda

#pragma once
// Products on any backend, with rows from the host and results on the host.

#include "card_rows.h"

#include "tests/engine/backend/scalar_int8.h"

#include <memory>
#include <vector>

namespace cuda::test {

using engine::MatmulJob;
using engine::QuantType;
using engine::Weight;
using engine::WeightUse;

struct HostWeight {
    QuantType type = QuantType::F32;
    std::int64_t rows = 0, columns = 0;
    std::vector<std::byte> bytes;

    std::unique_ptr<Weight> on(Backend& backend) const {
        auto made = backend.importWeight({"w", type, rows, columns, bytes}, WeightUse::Matmul);
        EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
        return made.ok() ? std::move(*made) : nullptr;
    }
};

inline HostWeight randomWeight(const engine::test::ScalarType& type, std::int64_t rows,
                               std::int64_t columns, unsigned seed) {
    return {type.type, rows, columns,
            engine::test::randomBlocks(type, rows * columns / type.blockWeights, seed)};
}

inline const engine::test::ScalarType& scalarType(QuantType type) {
    for (const auto& each : engine::test::scalarTypes())
        if (each.type == type) return each;
    CHECK(false);
    return engine::test::scalarTypes()[0];
}

// x times the weights, all in one call; what the products do not write stays poisoned. `gap`:
// columns before each result that must not be touched.
inline std::vector<Rows> multiply(Backend& backend, const std::vector<const Weight*>& weights,
                                  const Rows& x, std::int64_t gap = 0) {
    const CardRows in(backend, x);
    auto activations = backend.makeActivations(x.rows, x.columns);
    EXPECT_TRUE(activations.ok());
    backend.quantize(in.tensor(), **activations);
    std::vector<CardRows> out;
    std::vector<MatmulJob> jobs;
    for (const Weight* weight : weights) {
        out.emplace_back(backend, x.rows, weight->rows, gap);
        jobs.push_back({weight, out.back().tensor()});
    }
    backend.matmul(jobs, **activations);
    std::vector<Rows> results;
    for (const CardRows& each : out) {
        results.push_back(each.read());
        EXPECT_TRUE(each.gapsUntouched());
    }
    return results;
}

inline Rows multiply(Backend& backend, const Weight& weight, const Rows& x, std::int64_t gap = 0) {
    return std::move(multiply(backend, std::vector<const Weight*>{&weight}, x, gap)[0]);
}

} // namespace cuda::test

#pragma once
// Backends of every instruction set that this processor has, and tensors filled with reproducible
// noise.

#include "engine/backend/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace engine::test {

constexpr unsigned kSeed = 20260815;

inline std::unique_ptr<CpuBackend> makeBackend(CpuInstructions instructions, int threads = 1,
                                               CpuMath math = CpuMath::Int8) {
    auto made = CpuBackend::make({math, threads, instructions});
    return made.ok() ? std::move(*made) : nullptr;
}

// Reference first; then what this processor can run.
inline std::vector<CpuInstructions> instructionSets() {
    std::vector<CpuInstructions> sets{CpuInstructions::Reference};
    for (const CpuInstructions set : {CpuInstructions::Avx2, CpuInstructions::AvxVnni,
                                      CpuInstructions::Avx512, CpuInstructions::Amx})
        if (makeBackend(set)) sets.push_back(set);
    return sets;
}

// Host rows with a tensor over them: the CPU's memory is the host's.
struct Rows {
    std::vector<float> values;
    std::int64_t rows, columns;
    Rows(std::int64_t r, std::int64_t c)
        : values(static_cast<std::size_t>(r * c)), rows(r), columns(c) {}
    Tensor tensor() {
        return {reinterpret_cast<std::byte*>(values.data()), ElementType::F32, rows, columns,
                columns * 4};
    }
    float* row(std::int64_t r) { return values.data() + r * columns; }
    const float* row(std::int64_t r) const { return values.data() + r * columns; }
};

struct IntRows {
    std::vector<std::int32_t> values;
    std::int64_t columns;
    explicit IntRows(std::vector<std::int32_t> v, std::int64_t c = 1)
        : values(std::move(v)), columns(c) {}
    Tensor tensor() {
        return {reinterpret_cast<std::byte*>(values.data()), ElementType::I32,
                static_cast<std::int64_t>(values.size()) / columns, columns, columns * 4};
    }
};

inline IntRows ascending(std::int64_t first, std::int64_t count) {
    std::vector<std::int32_t> v;
    for (std::int64_t i = 0; i < count; ++i) v.push_back(static_cast<std::int32_t>(first + i));
    return IntRows(std::move(v));
}

// Mostly near 1, now and then much larger, as activations are.
inline Rows noise(std::int64_t rows, std::int64_t columns, unsigned seed = kSeed,
                  float size = 1.0f) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, size);
    Rows r(rows, columns);
    for (float& v : r.values) v = normal(random) * (random() % 100 == 0 ? 8.0f : 1.0f);
    return r;
}

// The first differing element in words, empty if all bits are the same (any NaN equals any other).
inline std::string difference(const Rows& a, const Rows& b) {
    if (a.rows != b.rows || a.columns != b.columns) return "shapes differ";
    for (std::int64_t r = 0; r < a.rows; ++r)
        for (std::int64_t c = 0; c < a.columns; ++c) {
            const float x = a.row(r)[c], y = b.row(r)[c];
            if (std::memcmp(&x, &y, 4) != 0 && !(std::isnan(x) && std::isnan(y)))
                return "row " + std::to_string(r) + ", column " + std::to_string(c) + ": " +
                       std::to_string(x) + " and " + std::to_string(y);
        }
    return {};
}

inline float largestDifference(const Rows& a, const Rows& b) {
    float m = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i)
        m = std::fmax(m, std::fabs(a.values[i] - b.values[i]));
    return m;
}

} // namespace engine::test

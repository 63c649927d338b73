#pragma once
// A backend on the card, rows in its memory, and comparisons with the processor's.

#include "cuda/cuda_backend.h"
#include "tests/engine/backend/backend_fixture.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace cuda::test {

using engine::Backend;
using engine::Buffer;
using engine::CpuBackend;
using engine::ElementType;
using engine::Tensor;
using engine::test::difference;
using engine::test::IntRows;
using engine::test::kSeed;
using engine::test::noise;
using engine::test::Rows;

inline std::unique_ptr<CudaBackend> makeCard(const CudaOptions& options = {}) {
    auto made = CudaBackend::make(options);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return made.ok() ? std::move(*made) : nullptr;
}

inline std::unique_ptr<CpuBackend> makeProcessor() {
    return engine::test::makeBackend(engine::CpuInstructions::Automatic, 2);
}

// Rows in the card's memory, each after `gap` columns that no operation may touch. Everything is
// poisoned at first.
class CardRows {
public:
    CardRows(Backend& backend, std::int64_t rows, std::int64_t columns, std::int64_t gap = 0)
        : m_backend(backend), m_gap(gap) {
        auto made = backend.allocate(rows * (columns + gap) * 4, "rows of a test");
        EXPECT_TRUE(made.ok());
        m_buffer = std::move(*made);
        m_whole = m_buffer.tensor(ElementType::F32, rows, columns + gap);
        const Rows poison = poisoned();
        backend.copyIn(std::as_bytes(std::span(poison.values)), m_whole);
    }
    CardRows(Backend& backend, const Rows& rows, std::int64_t gap = 0)
        : CardRows(backend, rows.rows, rows.columns, gap) {
        write(rows);
    }
    CardRows(CardRows&&) = default;
    ~CardRows() { (void)m_backend.synchronize(); } // what still reads it has finished

    Tensor tensor() const { return m_whole.columnRange(m_gap, m_whole.columns - m_gap); }
    void write(const Rows& rows) {
        m_backend.copyIn(std::as_bytes(std::span(rows.values)), tensor());
    }
    Rows read() const { return read(tensor()); }
    bool gapsUntouched() const {
        return m_gap == 0 || read(m_whole.columnRange(0, m_gap)).values ==
                                 std::vector<float>(std::size_t(m_whole.rows * m_gap), kPoison);
    }

private:
    static constexpr float kPoison = -1.2345e37f;

    Rows poisoned() const {
        Rows r(m_whole.rows, m_whole.columns);
        std::fill(r.values.begin(), r.values.end(), kPoison);
        return r;
    }
    Rows read(Tensor t) const {
        Rows r(t.rows, t.columns);
        const auto done = m_backend.copyOut(t, std::as_writable_bytes(std::span(r.values)));
        EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
        return r;
    }

    Backend& m_backend;
    std::int64_t m_gap = 0;
    Buffer m_buffer;
    Tensor m_whole;
};

class CardNumbers { // I32
public:
    CardNumbers(Backend& backend, const IntRows& numbers)
        : m_backend(backend), m_columns(numbers.columns) {
        const auto count = std::int64_t(numbers.values.size());
        auto made = backend.allocate(count * 4, "numbers of a test");
        EXPECT_TRUE(made.ok());
        m_buffer = std::move(*made);
        backend.copyIn(std::as_bytes(std::span(numbers.values)), tensor());
    }
    ~CardNumbers() { (void)m_backend.synchronize(); }
    Tensor tensor() const {
        return m_buffer.tensor(ElementType::I32, m_buffer.bytes() / 4 / m_columns, m_columns);
    }
    std::vector<std::int32_t> read() const {
        std::vector<std::int32_t> v(std::size_t(m_buffer.bytes() / 4));
        const auto done = m_backend.copyOut(tensor(), std::as_writable_bytes(std::span(v)));
        EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
        return v;
    }

private:
    Backend& m_backend;
    std::int64_t m_columns;
    Buffer m_buffer;
};

inline Rows rowsOf(const Rows& from, std::int64_t first, std::int64_t count) {
    Rows r(count, from.columns);
    std::copy_n(from.row(first), count * from.columns, r.row(0));
    return r;
}

// The first element that is farther from what is expected than relative * |expected| + absolute, in
// words; empty if there is none. Not-a-numbers and infinities must stand in the same places.
inline std::string tooFar(const Rows& got, const Rows& expected, double relative,
                          double absolute = 0) {
    if (got.rows != expected.rows || got.columns != expected.columns) return "shapes differ";
    for (std::int64_t r = 0; r < got.rows; ++r)
        for (std::int64_t c = 0; c < got.columns; ++c) {
            const double a = got.row(r)[c], b = expected.row(r)[c];
            if (a == b || (std::isnan(a) && std::isnan(b))) continue;
            if (std::isfinite(a) && std::isfinite(b) &&
                std::fabs(a - b) <= relative * std::fabs(b) + absolute)
                continue;
            return "row " + std::to_string(r) + ", column " + std::to_string(c) + ": " +
                   std::to_string(a) + ", expected " + std::to_string(b);
        }
    return {};
}

// Noise with everything that floats can be.
inline Rows wild(std::int64_t rows, std::int64_t columns, unsigned seed) {
    Rows r = noise(rows, columns, seed, 4.0f);
    const float specials[] = {INFINITY, -INFINITY, NAN,    0.0f,     -0.0f,    1e-40f,
                              -1e-45f,  3e38f,     -3e38f, 65504.0f, 65520.0f, 1e-7f};
    std::mt19937 random(seed + 1);
    for (const float special : specials) r.values[random() % r.values.size()] = special;
    return r;
}

} // namespace cuda::test

#pragma once
// A view of rows in a backend's memory. It owns nothing: a Buffer does (backend.h).
// `data` is an address in the memory of the backend that made it; only that backend reads through
// it.

#include "engine/base/check.h"

#include <cstddef>
#include <cstdint>

namespace engine {

enum class ElementType : std::uint8_t { F32, F16, I32, Q8_0 };

// Bytes that `count` consecutive elements take. Q8_0: blocks of 32 in 34 bytes, count a multiple
// of 32.
constexpr std::int64_t elementBytes(ElementType type, std::int64_t count) {
    switch (type) {
    case ElementType::F32:
    case ElementType::I32: return count * 4;
    case ElementType::F16: return count * 2;
    case ElementType::Q8_0: return count / 32 * 34;
    }
    return 0;
}

// Shape [rows, columns]; row r starts at data + r * strideBytes.
struct Tensor {
    std::byte* data = nullptr;
    ElementType type = ElementType::F32;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t strideBytes = 0;

    bool empty() const { return data == nullptr; }
    std::int64_t rowBytes() const { return elementBytes(type, columns); }

    Tensor rowRange(std::int64_t first, std::int64_t count) const {
        CHECK(first >= 0 && count >= 0 && first + count <= rows);
        Tensor t = *this;
        t.data += first * strideBytes;
        t.rows = count;
        return t;
    }
    // Columns first .. first+count-1 of every row; not for Q8_0.
    Tensor columnRange(std::int64_t first, std::int64_t count) const {
        CHECK(type != ElementType::Q8_0 && first >= 0 && count >= 0 && first + count <= columns);
        Tensor t = *this;
        t.data += elementBytes(type, first);
        t.columns = count;
        return t;
    }
    // The same memory as rows * n rows of columns / n; needs rows without gaps.
    Tensor splitColumns(std::int64_t n) const {
        CHECK(columns % n == 0 && strideBytes == rowBytes());
        Tensor t = *this;
        t.rows = rows * n;
        t.columns = columns / n;
        t.strideBytes = strideBytes / n;
        return t;
    }
};

} // namespace engine

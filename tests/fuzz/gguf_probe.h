#pragma once
// Reads everything that a GGUF file offers, so that a wrong bound is met by a sanitizer. Used by
// the fuzz target and by the seeded mutation test.

#include "engine/gguf/gguf_file.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace test {

// A sum over all that was read, so that nothing is optimised away. Only for small files.
inline std::uint64_t probeGguf(std::span<const std::byte> bytes) {
    const auto file = engine::GgufFile::fromBytes(bytes, "probe");
    if (!file) return file.error().message.size();
    std::uint64_t sum = 0;
    for (const engine::GgufKey& key : file->keys()) {
        sum += key.name.size();
        if (const auto value = file->integer(key.name)) sum += static_cast<std::uint64_t>(*value);
        if (const auto value = file->number(key.name)) sum += *value > 0;
        if (const auto value = file->boolean(key.name)) sum += *value;
        if (const auto value = file->text(key.name)) {
            for (const char c : *value) sum += static_cast<unsigned char>(c);
        }
        if (const auto values = file->integers(key.name)) sum += values->size();
        if (const auto values = file->numbers(key.name)) sum += values->size();
        if (const auto values = file->texts(key.name)) {
            for (const std::string_view text : *values) {
                for (const char c : text) sum += static_cast<unsigned char>(c);
            }
        }
    }
    for (const engine::GgufTensor& tensor : file->tensors()) {
        for (const std::byte b : tensor.bytes) sum += std::to_integer<std::uint64_t>(b);
        if (!tensor.format->readable() || tensor.columns() > 65'536 || tensor.bytes.empty())
            continue;
        std::vector<float> row(static_cast<std::size_t>(tensor.columns()));
        engine::dequantizeRow(tensor.type(), tensor.bytes.data(), tensor.columns(), row.data());
        sum += row[0] > 0;
    }
    return sum;
}

} // namespace test

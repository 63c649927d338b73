#include "tests/support/gguf_builder.h"

#include "engine/base/check.h"
#include "engine/quant/quant_table.h"

#include <algorithm>
#include <bit>
#include <fstream>

namespace test {

namespace {

void put(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

std::string string(std::string_view text) {
    std::string out;
    put(out, text.size(), 8);
    out += text;
    return out;
}

std::string number(std::uint64_t value, int bytes) {
    std::string out;
    put(out, value, bytes);
    return out;
}

std::string arrayHead(std::uint32_t type, std::size_t count) {
    return number(type, 4) + number(count, 8);
}

std::size_t padded(std::size_t size, std::size_t alignment) {
    return (size + alignment - 1) / alignment * alignment;
}

} // namespace

GgufBuilder& GgufBuilder::raw(std::string_view key, std::uint32_t valueType,
                              std::string_view bytes) {
    m_keyBytes += string(key);
    put(m_keyBytes, valueType, 4);
    m_keyBytes += bytes;
    ++m_keys;
    return *this;
}

GgufBuilder& GgufBuilder::u8(std::string_view key, std::uint8_t value) {
    return raw(key, 0, number(value, 1));
}
GgufBuilder& GgufBuilder::u32(std::string_view key, std::uint32_t value) {
    return raw(key, 4, number(value, 4));
}
GgufBuilder& GgufBuilder::i32(std::string_view key, std::int32_t value) {
    return raw(key, 5, number(static_cast<std::uint32_t>(value), 4));
}
GgufBuilder& GgufBuilder::u64(std::string_view key, std::uint64_t value) {
    return raw(key, 10, number(value, 8));
}
GgufBuilder& GgufBuilder::f32(std::string_view key, float value) {
    return raw(key, 6, number(std::bit_cast<std::uint32_t>(value), 4));
}
GgufBuilder& GgufBuilder::f64(std::string_view key, double value) {
    return raw(key, 12, number(std::bit_cast<std::uint64_t>(value), 8));
}
GgufBuilder& GgufBuilder::boolean(std::string_view key, bool value) {
    return raw(key, 7, number(value ? 1 : 0, 1));
}
GgufBuilder& GgufBuilder::text(std::string_view key, std::string_view value) {
    return raw(key, 8, string(value));
}

GgufBuilder& GgufBuilder::i32s(std::string_view key, const std::vector<std::int32_t>& values) {
    std::string bytes = arrayHead(5, values.size());
    for (const std::int32_t value : values) put(bytes, static_cast<std::uint32_t>(value), 4);
    return raw(key, 9, bytes);
}

GgufBuilder& GgufBuilder::f32s(std::string_view key, const std::vector<float>& values) {
    std::string bytes = arrayHead(6, values.size());
    for (const float value : values) put(bytes, std::bit_cast<std::uint32_t>(value), 4);
    return raw(key, 9, bytes);
}

GgufBuilder& GgufBuilder::booleans(std::string_view key, const std::vector<bool>& values) {
    std::string bytes = arrayHead(7, values.size());
    for (const bool value : values) put(bytes, value ? 1 : 0, 1);
    return raw(key, 9, bytes);
}

GgufBuilder& GgufBuilder::texts(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes = arrayHead(8, values.size());
    for (const std::string& value : values) bytes += string(value);
    return raw(key, 9, bytes);
}

GgufBuilder& GgufBuilder::tensor(std::string_view name, const std::vector<std::uint64_t>& ne,
                                 std::uint32_t type, std::optional<std::string> bytes) {
    if (!bytes) {
        const engine::QuantFormat* const format = engine::findQuantFormat(type);
        CHECK(format);
        std::uint64_t weights = 1;
        for (const std::uint64_t length : ne) weights *= length;
        bytes = std::string(
            static_cast<std::size_t>(format->rowBytes(static_cast<std::int64_t>(weights))), '\0');
    }
    m_tensors.push_back({std::string(name), ne, type, std::move(*bytes), std::nullopt});
    return *this;
}

GgufBuilder& GgufBuilder::f32Tensor(std::string_view name, const std::vector<std::uint64_t>& ne,
                                    const std::vector<float>& values) {
    std::string bytes;
    for (const float value : values) put(bytes, std::bit_cast<std::uint32_t>(value), 4);
    return tensor(name, ne, 0, std::move(bytes));
}

GgufBuilder& GgufBuilder::magic(std::string_view fourBytes) {
    m_magic = fourBytes;
    return *this;
}
GgufBuilder& GgufBuilder::version(std::uint32_t value) {
    m_version = value;
    return *this;
}
GgufBuilder& GgufBuilder::keyCount(std::uint64_t value) {
    m_keyCount = value;
    return *this;
}
GgufBuilder& GgufBuilder::tensorCount(std::uint64_t value) {
    m_tensorCount = value;
    return *this;
}
GgufBuilder& GgufBuilder::alignment(std::uint32_t value) {
    m_alignment = value;
    return *this;
}

GgufBuilder& GgufBuilder::offsetOf(std::string_view tensorName, std::uint64_t value) {
    const auto at = std::find_if(m_tensors.begin(), m_tensors.end(), [&](const TensorEntry& entry) {
        return entry.name == tensorName;
    });
    CHECK(at != m_tensors.end());
    at->offset = value;
    return *this;
}

std::string GgufBuilder::header() const {
    std::string out = m_magic;
    put(out, m_version, 4);
    put(out, m_tensorCount.value_or(m_tensors.size()), 8);
    put(out, m_keyCount.value_or(m_keys), 8);
    out += m_keyBytes;
    std::size_t offset = 0;
    for (const TensorEntry& entry : m_tensors) {
        out += string(entry.name);
        put(out, entry.ne.size(), 4);
        for (const std::uint64_t length : entry.ne) put(out, length, 8);
        put(out, entry.type, 4);
        put(out, entry.offset.value_or(offset), 8);
        offset += padded(entry.data.size(), m_alignment);
    }
    out.resize(padded(out.size(), m_alignment), '\0');
    return out;
}

std::string GgufBuilder::build() const {
    std::string out = header();
    for (const TensorEntry& entry : m_tensors) {
        out += entry.data;
        out.append(padded(entry.data.size(), m_alignment) - entry.data.size(), '\0');
    }
    return out;
}

std::size_t GgufBuilder::headerBytes() const {
    return header().size();
}

std::vector<std::byte> GgufBuilder::bytes() const {
    const std::string file = build();
    const auto* const data = reinterpret_cast<const std::byte*>(file.data());
    return {data, data + file.size()};
}

void GgufBuilder::write(const std::filesystem::path& path) const {
    const std::string file = build();
    std::ofstream out(path, std::ios::binary);
    out.write(file.data(), static_cast<std::streamsize>(file.size()));
    CHECK(out.good());
}

} // namespace test

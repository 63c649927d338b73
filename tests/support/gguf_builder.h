#pragma once
// Builds GGUF files in memory for tests: sound ones by default, and deliberately broken ones,
// because every count, length, type and offset can be overridden.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace test {

class GgufBuilder {
public:
    GgufBuilder() = default;
    explicit GgufBuilder(std::string_view architecture) {
        text("general.architecture", architecture);
    }

    // ---- metadata, in order of calls
    GgufBuilder& u8(std::string_view key, std::uint8_t value);
    GgufBuilder& u32(std::string_view key, std::uint32_t value);
    GgufBuilder& i32(std::string_view key, std::int32_t value);
    GgufBuilder& u64(std::string_view key, std::uint64_t value);
    GgufBuilder& f32(std::string_view key, float value);
    GgufBuilder& f64(std::string_view key, double value);
    GgufBuilder& boolean(std::string_view key, bool value);
    GgufBuilder& text(std::string_view key, std::string_view value);
    GgufBuilder& i32s(std::string_view key, const std::vector<std::int32_t>& values);
    GgufBuilder& f32s(std::string_view key, const std::vector<float>& values);
    GgufBuilder& booleans(std::string_view key, const std::vector<bool>& values);
    GgufBuilder& texts(std::string_view key, const std::vector<std::string>& values);
    // Any value type number with any bytes after it.
    GgufBuilder& raw(std::string_view key, std::uint32_t valueType, std::string_view bytes);

    // ---- tensors: ne[0] first. Without `bytes` the data is zeros of the size that `type` needs.
    GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& ne,
                        std::uint32_t type = 0, std::optional<std::string> bytes = std::nullopt);
    GgufBuilder& f32Tensor(std::string_view name, const std::vector<std::uint64_t>& ne,
                           const std::vector<float>& values);

    // ---- overrides for broken files
    GgufBuilder& magic(std::string_view fourBytes);
    GgufBuilder& version(std::uint32_t value);
    GgufBuilder& keyCount(std::uint64_t value);
    GgufBuilder& tensorCount(std::uint64_t value);
    GgufBuilder& alignment(std::uint32_t value); // of the layout; the key is not written
    GgufBuilder& offsetOf(std::string_view tensorName, std::uint64_t value);

    // The file.
    std::string build() const;
    // Bytes before the tensor data.
    std::size_t headerBytes() const;
    std::vector<std::byte> bytes() const;
    void write(const std::filesystem::path& path) const;

private:
    struct TensorEntry {
        std::string name;
        std::vector<std::uint64_t> ne;
        std::uint32_t type = 0;
        std::string data;
        std::optional<std::uint64_t> offset;
    };
    std::string header() const;

    std::string m_magic = "GGUF";
    std::uint32_t m_version = 3;
    std::uint32_t m_alignment = 32;
    std::uint64_t m_keys = 0;
    std::string m_keyBytes;
    std::vector<TensorEntry> m_tensors;
    std::optional<std::uint64_t> m_keyCount;
    std::optional<std::uint64_t> m_tensorCount;
};

} // namespace test

#pragma once
// A GGUF file (version 2 or 3), mapped and checked once: afterwards its offsets and shapes are
// trusted. Every count, length and offset is compared with the size of the file before it is used
// or memory is taken for it. A model split into several files is opened whole from any of its
// parts.
//
// Views (keys, texts, tensor names and bytes) point into the mapping and live as long as the
// GgufFile, also when that is moved. Immutable after opening: any thread may read.

#include "engine/base/mapped_file.h"
#include "engine/base/result.h"
#include "engine/quant/quant_table.h"

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace engine {

enum class GgufType : std::uint32_t {
    U8 = 0,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64,
};

// An array of strings, read in place: for (std::string_view token : file.texts(key).value()) ...
// There is no access by index, because the strings lie one after the other with their lengths.
class GgufStrings {
public:
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = std::string_view;
        using difference_type = std::ptrdiff_t;
        using pointer = const std::string_view*;
        using reference = std::string_view;

        Iterator() = default;
        Iterator(const std::byte* at, std::int64_t left) : m_at(at), m_left(left) {}
        std::string_view operator*() const;
        Iterator& operator++();
        Iterator operator++(int) {
            Iterator before = *this;
            ++*this;
            return before;
        }
        bool operator==(const Iterator& other) const { return m_left == other.m_left; }

    private:
        const std::byte* m_at = nullptr;
        std::int64_t m_left = 0;
    };

    GgufStrings() = default;
    GgufStrings(const std::byte* first, std::int64_t count) : m_first(first), m_count(count) {}
    std::int64_t size() const { return m_count; }
    bool empty() const { return m_count == 0; }
    Iterator begin() const { return {m_first, m_count}; }
    Iterator end() const { return {nullptr, 0}; }

private:
    const std::byte* m_first = nullptr;
    std::int64_t m_count = 0;
};

struct GgufKey {
    std::string_view name;
    GgufType type = GgufType::U8; // of the value, for an array of its elements
    bool array = false;
    std::int64_t count = 1;          // elements
    const std::byte* data = nullptr; // first element
};

struct GgufTensor {
    std::string_view name;
    const QuantFormat* format = nullptr; // never null in an opened file
    int dimensions = 0;                  // 1 .. 4
    std::int64_t ne[4] = {1, 1, 1, 1};   // ne[0] is the contiguous row; the unused are 1
    std::span<const std::byte> bytes; // empty where an unfinished file does not reach (openHeader)
    std::int64_t sizeBytes = 0;       // what the header says
    int part = 0;                     // index among the opened files of a split model

    QuantType type() const { return format->type; }
    std::int64_t columns() const { return ne[0]; }
    std::int64_t rows() const { return ne[1] * ne[2] * ne[3]; }
    bool hasShape(std::int64_t n0, std::int64_t n1 = 1, std::int64_t n2 = 1,
                  std::int64_t n3 = 1) const {
        return ne[0] == n0 && ne[1] == n1 && ne[2] == n2 && ne[3] == n3;
    }
};

struct GgufPart;
struct SplitInfo;

class GgufFile {
public:
    // Opens the file and, if it is part of a split model, the parts beside it. Codes: Io (cannot be
    // read), InvalidFile (not GGUF, or damaged), Unfinished (a sound beginning whose end is
    // missing: "the file is not complete: 0.90 of 1.63 GB are here"), Unsupported (a form of GGUF
    // that Glint does not read).
    static Result<GgufFile> open(const std::filesystem::path& path);

    // For telling what a file is: also accepts a file whose header is whole and whose data ends
    // early, and a single part of a split model. Only tensors that are there have bytes.
    static Result<GgufFile> openHeader(const std::filesystem::path& path);

    // Reads from memory that outlives the result; `name` stands for the file in messages.
    static Result<GgufFile> fromBytes(std::span<const std::byte> bytes, std::string name);

    const std::filesystem::path& path() const { return m_path; } // as given to open
    int version() const { return m_version; }
    int parts() const { return m_partCount; }
    std::int64_t presentBytes() const { return m_presentBytes; }   // of all opened parts
    std::int64_t expectedBytes() const { return m_expectedBytes; } // what their headers describe
    std::int64_t dataOffset() const { return m_dataOffset; }       // of the first part
    bool complete() const { return m_complete; } // every tensor described is there
    // File names of the parts of a split model that were not found (openHeader only).
    std::span<const std::string> missingParts() const { return m_missingParts; }

    // ---- metadata (of the first part). Errors name the key: missing, of another kind, out of
    // range.

    std::span<const GgufKey> keys() const { return m_keys; } // in file order
    const GgufKey* find(std::string_view key) const;         // null if absent
    bool has(std::string_view key) const { return find(key) != nullptr; }

    static constexpr std::int64_t kMaxInteger = INT64_MAX;

    // Any integer width is accepted. The ...Or forms give the fallback only when the key is absent.
    Result<std::int64_t> integer(std::string_view key, std::int64_t least = 0,
                                 std::int64_t most = kMaxInteger) const;
    Result<std::int64_t> integerOr(std::string_view key, std::int64_t fallback,
                                   std::int64_t least = 0, std::int64_t most = kMaxInteger) const;
    // F32 or F64, or an integer; finite.
    Result<double> number(std::string_view key, double least = -1e300, double most = 1e300) const;
    Result<double> numberOr(std::string_view key, double fallback, double least = -1e300,
                            double most = 1e300) const;
    Result<bool> boolean(std::string_view key) const; // Bool, or an integer 0 or 1
    Result<bool> booleanOr(std::string_view key, bool fallback) const;
    Result<std::string_view> text(std::string_view key) const;
    Result<std::string_view> textOr(std::string_view key, std::string_view fallback) const;

    // Arrays. A longer one than `mostElements` is refused before memory is taken.
    static constexpr std::int64_t kMaxElements = 16'777'216;
    Result<std::vector<std::int64_t>>
    integers(std::string_view key,
             std::int64_t mostElements = kMaxElements) const; // also Bool
    Result<std::vector<double>> numbers(std::string_view key,
                                        std::int64_t mostElements = kMaxElements) const;
    Result<GgufStrings> texts(std::string_view key) const;

    // ---- tensors (of all parts)

    std::span<const GgufTensor> tensors() const { return m_tensors; } // in file order
    const GgufTensor* tensor(std::string_view name) const;            // null if absent

    // Hints about a tensor's memory, see MappedFile.
    void adviseSequential(const GgufTensor& tensor) const;
    void release(const GgufTensor& tensor) const;

private:
    static Result<GgufFile> open(const std::filesystem::path& path, bool headerOnly);
    Result<void> openSplit(MappedFile given, const SplitInfo& split, bool headerOnly);
    void append(GgufPart part, std::int64_t presentBytes);
    Result<void> finish();

    std::filesystem::path m_path;
    int m_version = 0;
    int m_partCount = 1;
    std::int64_t m_presentBytes = 0;
    std::int64_t m_expectedBytes = 0;
    std::int64_t m_dataOffset = 0;
    bool m_complete = true;
    std::vector<std::string> m_missingParts;
    std::vector<MappedFile> m_maps; // one per part, empty when read from memory
    std::vector<GgufKey> m_keys;
    std::vector<std::int32_t> m_keyOrder; // indices by name
    std::vector<GgufTensor> m_tensors;
    std::vector<std::int32_t> m_tensorOrder;
};

} // namespace engine

#pragma once
// Reads the header of one GGUF file: the only place where its bytes are not trusted. Internal to
// the folder; others use GgufFile.

#include "engine/base/result.h"
#include "engine/gguf/gguf_file.h"

#include <cstdint>
#include <span>
#include <vector>

namespace engine {

// What a sound file stays far below; a header beyond it is damaged or hostile.
inline constexpr std::uint64_t kMaxGgufKeys = 65'536;
inline constexpr std::uint64_t kMaxGgufTensors = 65'536;
inline constexpr std::uint64_t kMaxGgufKeyBytes = 65'535;
inline constexpr std::uint64_t kMaxGgufTensorNameBytes = 1'024;
inline constexpr std::uint64_t kMaxGgufStringBytes = 1ull << 28;
inline constexpr std::uint64_t kMaxGgufArrayCount = 1ull << 28;
inline constexpr std::int64_t kMaxGgufWeights = std::int64_t(1) << 48; // of one tensor

enum class GgufData {
    MustBeThere,
    MayEndEarly, // tensors beyond the end have no bytes
};

struct GgufPart {
    int version = 0;
    std::int64_t dataOffset = 0;
    std::int64_t expectedBytes = 0;
    bool complete = true;
    std::vector<GgufKey> keys;
    std::vector<GgufTensor> tensors;
};

Result<GgufPart> parseGguf(std::span<const std::byte> bytes, GgufData rule);

// Bytes of one element; 0 for strings and arrays.
int ggufTypeBytes(GgufType type);

// Indices of the items ordered by name, or the name that appears twice.
template<class Item>
Result<std::vector<std::int32_t>> orderByName(const std::vector<Item>& items,
                                              std::string_view what);

extern template Result<std::vector<std::int32_t>> orderByName(const std::vector<GgufKey>&,
                                                              std::string_view);
extern template Result<std::vector<std::int32_t>> orderByName(const std::vector<GgufTensor>&,
                                                              std::string_view);

} // namespace engine

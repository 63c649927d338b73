#include "engine/gguf/gguf_parser.h"

#include "engine/base/byte_fields.h"
#include "engine/base/size_text.h"
#include "engine/base/utf8.h"

#include <algorithm>
#include <numeric>

namespace engine {

namespace {

Error damaged(std::string message) {
    return {ErrorCode::InvalidFile, std::move(message)};
}
Error unsupported(std::string message) {
    return {ErrorCode::Unsupported, std::move(message)};
}
Error endsInHeader() {
    return {ErrorCode::Unfinished, "the file is not complete: it ends inside its header"};
}

std::string quoted(std::string_view name) {
    return "'" + printableUtf8(name) + "'";
}

std::int64_t padded(std::int64_t offset, std::int64_t alignment) {
    return (offset + alignment - 1) & ~(alignment - 1);
}

// Walks through the header. Every read is checked against the end of the file.
class Cursor {
public:
    explicit Cursor(std::span<const std::byte> bytes) : m_bytes(bytes) {}

    std::uint64_t left() const { return m_bytes.size() - m_at; }
    std::int64_t position() const { return static_cast<std::int64_t>(m_at); }
    const std::byte* here() const { return m_bytes.data() + m_at; }

    Result<const std::byte*> take(std::uint64_t count) {
        if (count > left()) return endsInHeader();
        const std::byte* const data = here();
        m_at += static_cast<std::size_t>(count);
        return data;
    }
    Result<std::uint32_t> u32() {
        const auto data = take(4);
        if (!data) return data.error();
        return u32At(*data);
    }
    Result<std::uint64_t> u64() {
        const auto data = take(8);
        if (!data) return data.error();
        return u64At(*data);
    }
    // `what` and the key's name, if it is in one, are for the error.
    Result<std::string_view> string(std::uint64_t mostBytes, std::string_view what,
                                    std::string_view key = {}) {
        const auto length = u64();
        if (!length) return length.error();
        if (*length > mostBytes) {
            return damaged(std::string(what) + (key.empty() ? "" : " " + quoted(key)) +
                           " is said to be " + countText(*length) + " bytes long");
        }
        const auto data = take(*length);
        if (!data) return data.error();
        return std::string_view(reinterpret_cast<const char*>(*data),
                                static_cast<std::size_t>(*length));
    }

private:
    std::span<const std::byte> m_bytes;
    std::size_t m_at = 0;
};

Result<void> skipValues(Cursor& cursor, const GgufKey& key) {
    if (key.type == GgufType::String) {
        for (std::int64_t i = 0; i < key.count; ++i) {
            const auto text = cursor.string(kMaxGgufStringBytes, "a text of key", key.name);
            if (!text) return text.error();
        }
        return {};
    }
    const auto data = cursor.take(static_cast<std::uint64_t>(key.count) *
                                  static_cast<std::uint64_t>(ggufTypeBytes(key.type)));
    if (!data) return data.error();
    if (key.type == GgufType::Bool) {
        for (std::int64_t i = 0; i < key.count; ++i) {
            if (byteAt(*data, i) > 1)
                return damaged("key " + quoted(key.name) + " is neither true nor false");
        }
    }
    return {};
}

Result<GgufKey> parseKey(Cursor& cursor) {
    const auto name = cursor.string(kMaxGgufKeyBytes, "the name of a key");
    if (!name) return name.error();
    if (name->empty()) return damaged("a key has no name");
    GgufKey key;
    key.name = *name;
    auto type = cursor.u32();
    if (!type) return type.error();
    if (*type == static_cast<std::uint32_t>(GgufType::Array)) {
        key.array = true;
        type = cursor.u32();
        if (!type) return type.error();
        const auto count = cursor.u64();
        if (!count) return count.error();
        if (*type == static_cast<std::uint32_t>(GgufType::Array)) {
            return unsupported("key " + quoted(key.name) + " holds an array of arrays");
        }
        if (*count > kMaxGgufArrayCount) {
            return damaged("key " + quoted(key.name) + " is said to have " + countText(*count) +
                           " elements");
        }
        key.count = static_cast<std::int64_t>(*count);
    }
    if (*type > static_cast<std::uint32_t>(GgufType::F64)) {
        return damaged("key " + quoted(key.name) + " has the unknown type " +
                       std::to_string(*type));
    }
    key.type = static_cast<GgufType>(*type);
    key.data = cursor.here();
    const auto skipped = skipValues(cursor, key);
    if (!skipped) return skipped.error();
    return key;
}

// Name, shape and type; `offset` is relative to the data section.
Result<GgufTensor> parseTensor(Cursor& cursor, std::uint64_t& offset) {
    const auto name = cursor.string(kMaxGgufTensorNameBytes, "the name of a tensor");
    if (!name) return name.error();
    if (name->empty()) return damaged("a tensor has no name");
    GgufTensor tensor;
    tensor.name = *name;
    const auto dimensions = cursor.u32();
    if (!dimensions) return dimensions.error();
    if (*dimensions < 1 || *dimensions > 4) {
        return damaged("tensor " + quoted(*name) + " has " + countText(*dimensions) +
                       " dimensions");
    }
    tensor.dimensions = static_cast<int>(*dimensions);
    std::int64_t weights = 1;
    for (int i = 0; i < tensor.dimensions; ++i) {
        const auto length = cursor.u64();
        if (!length) return length.error();
        if (*length < 1 || *length > static_cast<std::uint64_t>(kMaxGgufWeights / weights)) {
            return damaged("tensor " + quoted(*name) + " has the impossible length " +
                           countText(*length));
        }
        tensor.ne[i] = static_cast<std::int64_t>(*length);
        weights *= tensor.ne[i];
    }
    const auto type = cursor.u32();
    if (!type) return type.error();
    tensor.format = findQuantFormat(*type);
    if (!tensor.format) {
        return unsupported("tensor " + quoted(*name) + " has the unknown type " + countText(*type));
    }
    if (tensor.ne[0] % tensor.format->blockWeights != 0) {
        return damaged("tensor " + quoted(*name) + ": rows of " +
                       countText(static_cast<std::uint64_t>(tensor.ne[0])) +
                       " weights are not whole blocks of " + std::string(tensor.format->name));
    }
    tensor.sizeBytes = tensor.format->rowBytes(tensor.ne[0]) * tensor.rows();
    const auto at = cursor.u64();
    if (!at) return at.error();
    offset = *at;
    return tensor;
}

Result<std::int64_t> alignmentOf(const std::vector<GgufKey>& keys) {
    constexpr std::int64_t kDefault = 32;
    for (const GgufKey& key : keys) {
        if (key.name != "general.alignment") continue;
        if (key.array || key.type != GgufType::U32)
            return damaged("'general.alignment' is not a number");
        const std::int64_t value = u32At(key.data);
        if (value < 8 || value > (1 << 20) || (value & (value - 1)) != 0) {
            return damaged("'general.alignment' is " + std::to_string(value) +
                           ", not a power of two from 8 on");
        }
        return value;
    }
    return kDefault;
}

// The tensors lie one after the other, each padded to the alignment, in any order. This rules out
// overlaps, and offsets that point far behind the end as if a file were unfinished. Returns the
// bytes of the data section.
Result<std::int64_t> checkLayout(const std::vector<GgufTensor>& tensors,
                                 const std::vector<std::uint64_t>& offsets,
                                 std::int64_t alignment) {
    std::int64_t total = 0;
    for (const GgufTensor& tensor : tensors) {
        total += padded(tensor.sizeBytes, alignment);
        // Sizes are bounded one by one; this bounds their sum.
        if (total > std::int64_t(1) << 60) return damaged("the tensors are larger than any file");
    }
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return offsets[a] < offsets[b]; });
    std::int64_t end = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const GgufTensor& tensor = tensors[order[i]];
        const std::uint64_t offset = offsets[order[i]];
        if (offset % static_cast<std::uint64_t>(alignment) != 0) {
            return damaged("tensor " + quoted(tensor.name) + " is not aligned");
        }
        if (offset > static_cast<std::uint64_t>(total)) {
            return damaged("tensor " + quoted(tensor.name) + " lies outside the file's data");
        }
        if (offset < static_cast<std::uint64_t>(end)) {
            return damaged("tensors " + quoted(tensors[order[i - 1]].name) + " and " +
                           quoted(tensor.name) + " overlap");
        }
        end = static_cast<std::int64_t>(offset) + tensor.sizeBytes;
    }
    // Nothing overlaps, so a gap shows as an end behind the sum of the sizes.
    if (padded(end, alignment) != total) return damaged("there are gaps between the tensors");
    return end;
}

Result<void> checkMagicAndVersion(Cursor& cursor, std::span<const std::byte> bytes, int& version) {
    constexpr std::string_view kMagic = "GGUF";
    if (bytes.empty()) return damaged("the file is empty");
    const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                                 std::min(bytes.size(), kMagic.size()));
    if (start != kMagic.substr(0, start.size())) return damaged("it is not a GGUF file");
    const auto magic = cursor.take(4);
    if (!magic) return magic.error();
    const auto number = cursor.u32();
    if (!number) return number.error();
    if (*number == 2 || *number == 3) {
        version = static_cast<int>(*number);
        return {};
    }
    if (*number != 0 && (*number & 0xFFFFu) == 0) {
        return unsupported("it is written for big-endian computers");
    }
    if (*number == 1)
        return unsupported("it is GGUF version 1, an early form that is no longer in use");
    return unsupported("it is GGUF version " + countText(*number) + "; Glint reads 2 and 3");
}

} // namespace

int ggufTypeBytes(GgufType type) {
    switch (type) {
    case GgufType::U8:
    case GgufType::I8:
    case GgufType::Bool: return 1;
    case GgufType::U16:
    case GgufType::I16: return 2;
    case GgufType::U32:
    case GgufType::I32:
    case GgufType::F32: return 4;
    case GgufType::U64:
    case GgufType::I64:
    case GgufType::F64: return 8;
    case GgufType::String:
    case GgufType::Array: break;
    }
    return 0;
}

template<class Item>
Result<std::vector<std::int32_t>> orderByName(const std::vector<Item>& items,
                                              std::string_view what) {
    std::vector<std::int32_t> order(items.size());
    std::iota(order.begin(), order.end(), 0);
    const auto nameOf = [&](std::int32_t i) { return items[static_cast<std::size_t>(i)].name; };
    std::sort(order.begin(), order.end(),
              [&](std::int32_t a, std::int32_t b) { return nameOf(a) < nameOf(b); });
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (nameOf(order[i]) == nameOf(order[i - 1])) {
            return damaged(std::string(what) + " " + quoted(nameOf(order[i])) + " appears twice");
        }
    }
    return order;
}

template Result<std::vector<std::int32_t>> orderByName(const std::vector<GgufKey>&,
                                                       std::string_view);
template Result<std::vector<std::int32_t>> orderByName(const std::vector<GgufTensor>&,
                                                       std::string_view);

Result<GgufPart> parseGguf(std::span<const std::byte> bytes, GgufData rule) {
    Cursor cursor(bytes);
    GgufPart part;
    const auto begun = checkMagicAndVersion(cursor, bytes, part.version);
    if (!begun) return begun.error();

    const auto tensorCount = cursor.u64();
    if (!tensorCount) return tensorCount.error();
    if (*tensorCount > kMaxGgufTensors) {
        return damaged("it is said to have " + countText(*tensorCount) + " tensors");
    }
    const auto keyCount = cursor.u64();
    if (!keyCount) return keyCount.error();
    if (*keyCount > kMaxGgufKeys)
        return damaged("it is said to have " + countText(*keyCount) + " keys");

    for (std::uint64_t i = 0; i < *keyCount; ++i) {
        const auto key = parseKey(cursor);
        if (!key) return key.error();
        part.keys.push_back(*key);
    }
    const auto alignment = alignmentOf(part.keys);
    if (!alignment) return alignment.error();

    std::vector<std::uint64_t> offsets;
    for (std::uint64_t i = 0; i < *tensorCount; ++i) {
        std::uint64_t offset = 0;
        const auto tensor = parseTensor(cursor, offset);
        if (!tensor) return tensor.error();
        part.tensors.push_back(*tensor);
        offsets.push_back(offset);
    }
    const auto dataBytes = checkLayout(part.tensors, offsets, *alignment);
    if (!dataBytes) return dataBytes.error();

    const std::int64_t size = static_cast<std::int64_t>(bytes.size());
    // The padding after the header belongs to the data: without tensors it may be missing.
    part.dataOffset = padded(cursor.position(), *alignment);
    part.expectedBytes = part.tensors.empty() ? cursor.position() : part.dataOffset + *dataBytes;
    part.complete = part.expectedBytes <= size;
    if (!part.complete && rule == GgufData::MustBeThere) {
        return Error{ErrorCode::Unfinished, "the file is not complete: " +
                                                sizeOfText(size, part.expectedBytes) + " are here"};
    }
    for (std::size_t i = 0; i < part.tensors.size(); ++i) {
        GgufTensor& tensor = part.tensors[i];
        const std::int64_t begin = part.dataOffset + static_cast<std::int64_t>(offsets[i]);
        if (begin + tensor.sizeBytes > size) continue;
        tensor.bytes = bytes.subspan(static_cast<std::size_t>(begin),
                                     static_cast<std::size_t>(tensor.sizeBytes));
    }
    return part;
}

} // namespace engine

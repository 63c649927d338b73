#include "engine/gguf/gguf_file.h"

#include "engine/base/byte_fields.h"
#include "engine/base/path_text.h"
#include "engine/base/utf8.h"
#include "engine/gguf/gguf_parser.h"
#include "engine/gguf/split_name.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

namespace engine {

namespace {

Error keyError(std::string_view key, std::string_view what) {
    return {ErrorCode::InvalidFile, "key '" + printableUtf8(key) + "' " + std::string(what)};
}

Error missingKey(std::string_view key) {
    return keyError(key, "is missing");
}

bool isInteger(GgufType type) {
    return type != GgufType::F32 && type != GgufType::F64 && type != GgufType::Bool &&
           type != GgufType::String && type != GgufType::Array;
}

// An integer or Bool element. A U64 beyond the signed range becomes the largest number, which is
// refused by any sensible limit.
std::int64_t integerAt(GgufType type, const std::byte* p) {
    switch (type) {
    case GgufType::U8:
    case GgufType::Bool: return byteAt(p);
    case GgufType::I8: return signedByteAt(p);
    case GgufType::U16: return u16At(p);
    case GgufType::I16: return static_cast<std::int16_t>(u16At(p));
    case GgufType::U32: return u32At(p);
    case GgufType::I32: return static_cast<std::int32_t>(u32At(p));
    case GgufType::U64:
        return static_cast<std::int64_t>(std::min<std::uint64_t>(u64At(p), INT64_MAX));
    case GgufType::I64: return static_cast<std::int64_t>(u64At(p));
    default: return 0;
    }
}

double numberAt(GgufType type, const std::byte* p) {
    if (type == GgufType::F32) return std::bit_cast<float>(u32At(p));
    if (type == GgufType::F64) return std::bit_cast<double>(u64At(p));
    return static_cast<double>(integerAt(type, p));
}

std::string_view stringAt(const std::byte* p) {
    return {reinterpret_cast<const char*>(p + 8), static_cast<std::size_t>(u64At(p))};
}

std::string numberText(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

// The item of this name, by the order that orderByName made.
template<class Item>
const Item* findByName(const std::vector<Item>& items, const std::vector<std::int32_t>& order,
                       std::string_view name) {
    const auto nameOf = [&](std::int32_t i) { return items[static_cast<std::size_t>(i)].name; };
    const auto at = std::lower_bound(
        order.begin(), order.end(), name,
        [&](std::int32_t i, std::string_view wanted) { return nameOf(i) < wanted; });
    if (at == order.end() || nameOf(*at) != name) return nullptr;
    return &items[static_cast<std::size_t>(*at)];
}

} // namespace

std::string_view GgufStrings::Iterator::operator*() const {
    return stringAt(m_at);
}

GgufStrings::Iterator& GgufStrings::Iterator::operator++() {
    m_at += 8 + u64At(m_at);
    --m_left;
    return *this;
}

// ---- opening

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
    return open(path, false);
}

Result<GgufFile> GgufFile::openHeader(const std::filesystem::path& path) {
    return open(path, true);
}

Result<GgufFile> GgufFile::fromBytes(std::span<const std::byte> bytes, std::string name) {
    auto part = parseGguf(bytes, GgufData::MustBeThere);
    if (!part) return part.error();
    GgufFile file;
    file.m_path = pathFromUtf8(name);
    file.append(std::move(part).value(), static_cast<std::int64_t>(bytes.size()));
    const auto finished = file.finish();
    if (!finished) return finished.error();
    return file;
}

Result<GgufFile> GgufFile::open(const std::filesystem::path& path, bool headerOnly) {
    auto map = MappedFile::open(path);
    if (!map) return map.error();
    auto part = parseGguf(map->bytes(), headerOnly ? GgufData::MayEndEarly : GgufData::MustBeThere);
    if (!part) return part.error();
    const auto split = readSplit(part->keys);
    if (!split) return split.error();

    GgufFile file;
    file.m_path = path;
    if (split->count > 1) {
        const auto opened = file.openSplit(std::move(map).value(), *split, headerOnly);
        if (!opened) return opened.error();
    } else {
        file.m_maps.push_back(std::move(map).value());
        file.append(std::move(part).value(), file.m_maps.back().size());
    }
    const auto finished = file.finish();
    if (!finished) return finished.error();
    return file;
}

// Opens all parts in their order; `given` is the one that `split` was read from.
Result<void> GgufFile::openSplit(MappedFile given, const SplitInfo& split, bool headerOnly) {
    const auto paths = splitPaths(m_path, split);
    if (!paths && !headerOnly) return paths.error();
    m_partCount = split.count;
    for (int i = 0; i < split.count; ++i) {
        const std::string name = paths
                                     ? pathToUtf8((*paths)[static_cast<std::size_t>(i)].filename())
                                     : "part " + std::to_string(i + 1);
        if (i == split.no) {
            m_maps.push_back(std::move(given));
        } else {
            auto map = paths ? MappedFile::open((*paths)[static_cast<std::size_t>(i)])
                             : Result<MappedFile>(Error{ErrorCode::Io, "its name is not known"});
            if (!map) {
                m_missingParts.push_back(name);
                continue;
            }
            m_maps.push_back(std::move(map).value());
        }
        auto part = parseGguf(m_maps.back().bytes(),
                              headerOnly ? GgufData::MayEndEarly : GgufData::MustBeThere);
        if (!part) return withContext(part.error(), name);
        const auto own = readSplit(part->keys);
        if (!own) return withContext(own.error(), name);
        if (own->no != i || own->count != split.count) {
            return Error{ErrorCode::InvalidFile, name + " is not part " + std::to_string(i + 1) +
                                                     " of " + std::to_string(split.count) +
                                                     " of this model"};
        }
        append(std::move(part).value(), m_maps.back().size());
    }
    if (!m_missingParts.empty()) {
        m_complete = false;
        if (headerOnly) return {};
        std::string list;
        for (const std::string& name : m_missingParts) list += (list.empty() ? "" : ", ") + name;
        return Error{ErrorCode::Unfinished, "the model is split into " +
                                                std::to_string(split.count) +
                                                " files; missing beside this one: " + list};
    }
    if (split.tensors >= 0 && split.tensors != static_cast<std::int64_t>(m_tensors.size())) {
        return Error{ErrorCode::InvalidFile, "the parts hold " + std::to_string(m_tensors.size()) +
                                                 " tensors, expected " +
                                                 std::to_string(split.tensors)};
    }
    return {};
}

// Adds one part. The metadata is that of the first.
void GgufFile::append(GgufPart part, std::int64_t presentBytes) {
    if (m_version == 0) {
        m_version = part.version;
        m_dataOffset = part.dataOffset;
        m_keys = std::move(part.keys);
    }
    for (GgufTensor& tensor : part.tensors) {
        tensor.part = std::max(0, static_cast<int>(m_maps.size()) - 1);
        m_tensors.push_back(tensor);
    }
    m_presentBytes += presentBytes;
    m_expectedBytes += part.expectedBytes;
    m_complete = m_complete && part.complete;
}

Result<void> GgufFile::finish() {
    auto keyOrder = orderByName(m_keys, "key");
    if (!keyOrder) return keyOrder.error();
    m_keyOrder = std::move(keyOrder).value();
    auto tensorOrder = orderByName(m_tensors, "tensor");
    if (!tensorOrder) return tensorOrder.error();
    m_tensorOrder = std::move(tensorOrder).value();
    return {};
}

// ---- metadata

const GgufKey* GgufFile::find(std::string_view key) const {
    return findByName(m_keys, m_keyOrder, key);
}

Result<std::int64_t> GgufFile::integer(std::string_view key, std::int64_t least,
                                       std::int64_t most) const {
    const GgufKey* const entry = find(key);
    if (!entry) return missingKey(key);
    if (entry->array || !isInteger(entry->type)) return keyError(key, "is not a whole number");
    const std::int64_t value = integerAt(entry->type, entry->data);
    if (value < least || value > most) {
        const std::string expected = most == kMaxInteger
                                         ? "at least " + std::to_string(least)
                                         : std::to_string(least) + " to " + std::to_string(most);
        return keyError(key, "is " + std::to_string(value) + ", expected " + expected);
    }
    return value;
}

Result<std::int64_t> GgufFile::integerOr(std::string_view key, std::int64_t fallback,
                                         std::int64_t least, std::int64_t most) const {
    if (!has(key)) return fallback;
    return integer(key, least, most);
}

Result<double> GgufFile::number(std::string_view key, double least, double most) const {
    const GgufKey* const entry = find(key);
    if (!entry) return missingKey(key);
    if (entry->array || entry->type == GgufType::String || entry->type == GgufType::Bool) {
        return keyError(key, "is not a number");
    }
    const double value = numberAt(entry->type, entry->data);
    if (!(value >= least && value <= most)) {
        return keyError(key, "is " + numberText(value) + ", expected " + numberText(least) +
                                 " to " + numberText(most));
    }
    return value;
}

Result<double> GgufFile::numberOr(std::string_view key, double fallback, double least,
                                  double most) const {
    if (!has(key)) return fallback;
    return number(key, least, most);
}

Result<bool> GgufFile::boolean(std::string_view key) const {
    const GgufKey* const entry = find(key);
    if (!entry) return missingKey(key);
    if (!entry->array && (entry->type == GgufType::Bool || isInteger(entry->type))) {
        const std::int64_t value = integerAt(entry->type, entry->data);
        if (value == 0 || value == 1) return value == 1;
    }
    return keyError(key, "is neither true nor false");
}

Result<bool> GgufFile::booleanOr(std::string_view key, bool fallback) const {
    if (!has(key)) return fallback;
    return boolean(key);
}

Result<std::string_view> GgufFile::text(std::string_view key) const {
    const GgufKey* const entry = find(key);
    if (!entry) return missingKey(key);
    if (entry->array || entry->type != GgufType::String) return keyError(key, "is not a text");
    return stringAt(entry->data);
}

Result<std::string_view> GgufFile::textOr(std::string_view key, std::string_view fallback) const {
    if (!has(key)) return fallback;
    return text(key);
}

Result<std::vector<std::int64_t>> GgufFile::integers(std::string_view key,
                                                     std::int64_t mostElements) const {
    const GgufKey* const entry = find(key);
    if (!entry) return missingKey(key);
    if (!entry->array || !(isInteger(entry->type) || entry->type == GgufType::Bool)) {
        return keyError(key, "is not a list of whole numbers");
    }
    if (entry->count > mostElements) return keyError(key, "has too many elements");
    std::vector<std::int64_t> values;
    values.reserve(static_cast<std::size_t>(entry->count));
    const int step = ggufTypeBytes(entry->type);
    for (std::int64_t i = 0; i < entry->count; ++i)
        values.push_back(integerAt(entry->type, entry->data + i * step));
    return values;
}

Result<std::vector<double>> GgufFile::numbers(std::string_view key,
                                              std::int64_t mostElements) const {
    const GgufKey* const entry = find(key);
    if (!entry) return missingKey(key);
    if (!entry->array || entry->type == GgufType::String || entry->type == GgufType::Bool) {
        return keyError(key, "is not a list of numbers");
    }
    if (entry->count > mostElements) return keyError(key, "has too many elements");
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(entry->count));
    const int step = ggufTypeBytes(entry->type);
    for (std::int64_t i = 0; i < entry->count; ++i) {
        const double value = numberAt(entry->type, entry->data + i * step);
        if (!std::isfinite(value)) return keyError(key, "holds what is not a number");
        values.push_back(value);
    }
    return values;
}

Result<GgufStrings> GgufFile::texts(std::string_view key) const {
    const GgufKey* const entry = find(key);
    if (!entry) return missingKey(key);
    if (!entry->array || entry->type != GgufType::String)
        return keyError(key, "is not a list of texts");
    return GgufStrings(entry->data, entry->count);
}

// ---- tensors

const GgufTensor* GgufFile::tensor(std::string_view name) const {
    return findByName(m_tensors, m_tensorOrder, name);
}

void GgufFile::adviseSequential(const GgufTensor& tensor) const {
    if (m_maps.empty() || tensor.bytes.empty()) return;
    const MappedFile& map = m_maps[static_cast<std::size_t>(tensor.part)];
    map.adviseSequential(tensor.bytes.data() - map.bytes().data(), tensor.sizeBytes);
}

void GgufFile::release(const GgufTensor& tensor) const {
    if (m_maps.empty() || tensor.bytes.empty()) return;
    const MappedFile& map = m_maps[static_cast<std::size_t>(tensor.part)];
    map.release(tensor.bytes.data() - map.bytes().data(), tensor.sizeBytes);
}

} // namespace engine

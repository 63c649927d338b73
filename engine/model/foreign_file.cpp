#include "engine/model/foreign_file.h"

#include "engine/base/byte_fields.h"
#include "engine/base/utf8.h"

#include <algorithm>
#include <string_view>

namespace engine {

namespace {

constexpr std::size_t kLookBytes = 4096;

struct Beginning {
    std::string_view bytes;
    std::string_view sentence;
};

// Forms that people really end up with, by the bytes they begin with.
constexpr Beginning kBeginnings[] = {
    {"PK\x03\x04",
     "This is an archive (ZIP, or weights saved by PyTorch); Glint reads GGUF files."},
    {"\x1F\x8B", "This is a compressed archive; unpack it and choose the GGUF file inside."},
    {"7z\xBC\xAF", "This is a compressed archive; unpack it and choose the GGUF file inside."},
    {"\xFD"
     "7zXZ",
     "This is a compressed archive; unpack it and choose the GGUF file inside."},
    {"tjgg", "This is a model in an old form from before GGUF, which Glint does not read."},
    {"fmgg", "This is a model in an old form from before GGUF, which Glint does not read."},
    {"lmgg", "This is a model in an old form from before GGUF, which Glint does not read."},
    {"version https://git-lfs",
     "This is only a pointer that Git LFS left in place of the file; the file "
     "itself has to be downloaded."},
    {"<!DOCTYPE", "This is a web page, not a model: the download brought the wrong thing."},
    {"<!doctype", "This is a web page, not a model: the download brought the wrong thing."},
    {"<html", "This is a web page, not a model: the download brought the wrong thing."},
    {"%PDF", "This is a PDF document, not a model."},
    {"\x89PNG", "This is a picture, not a model."},
    {"\xFF\xD8\xFF", "This is a picture, not a model."},
};

// Safetensors: the length of a JSON header, then the header.
bool isSafetensors(std::span<const std::byte> bytes) {
    if (bytes.size() < 10) return false;
    const std::uint64_t header = u64At(bytes.data());
    return header >= 2 && header <= 100'000'000 && byteAt(bytes.data(), 8) == '{';
}

bool isText(std::string_view start) {
    const std::string_view whole = start.substr(0, wholeUtf8Prefix(start));
    return !whole.empty() && isValidUtf8(whole) && whole.find('\0') == std::string_view::npos;
}

} // namespace

ForeignFile describeForeignFile(std::span<const std::byte> bytes) {
    if (bytes.empty()) return {"The file is empty."};
    const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                                 std::min(bytes.size(), kLookBytes));
    for (const Beginning& beginning : kBeginnings) {
        if (start.starts_with(beginning.bytes)) return {std::string(beginning.sentence)};
    }
    if (isSafetensors(bytes)) {
        return {"This is a safetensors file; Glint reads GGUF files, which the same model is also "
                "published as."};
    }
    if (start.find_first_not_of('\0') == std::string_view::npos) {
        return {"The file holds only zeros so far: is it still being downloaded?", true};
    }
    if (isText(start)) return {"This is a text file, not a model."};
    return {"This is not a GGUF file."};
}

} // namespace engine

#include "engine/base/utf8.h"

#include "engine/base/check.h"

#include <algorithm>

namespace engine {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// What a lead byte promises. The second byte's range is narrower than 80..BF where that rules out
// overlong forms (E0, F0), surrogates (ED) and values above U+10FFFF (F4).
struct Lead {
    std::size_t bytes = 0; // 0: can begin nothing
    unsigned char secondLeast = 0x80;
    unsigned char secondMost = 0xBF;
};

Lead leadOf(unsigned char byte) {
    if (byte < 0x80) return {1};
    if (byte < 0xC2) return {0};
    if (byte < 0xE0) return {2};
    if (byte == 0xE0) return {3, 0xA0, 0xBF};
    if (byte == 0xED) return {3, 0x80, 0x9F};
    if (byte < 0xF0) return {3};
    if (byte == 0xF0) return {4, 0x90, 0xBF};
    if (byte < 0xF4) return {4};
    if (byte == 0xF4) return {4, 0x80, 0x8F};
    return {0};
}

unsigned char byteAt(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

// How many bytes from `at` on are a correct beginning of the promised character.
std::size_t correctBytes(std::string_view text, std::size_t at, const Lead& lead) {
    std::size_t have = 1;
    while (have < lead.bytes && at + have < text.size()) {
        const unsigned char byte = byteAt(text, at + have);
        const unsigned char least = have == 1 ? lead.secondLeast : 0x80;
        const unsigned char most = have == 1 ? lead.secondMost : 0xBF;
        if (byte < least || byte > most) break;
        ++have;
    }
    return have;
}

} // namespace

CodePoint decodeUtf8(std::string_view text, std::size_t at) {
    CHECK(at < text.size());
    const unsigned char first = byteAt(text, at);
    if (first < 0x80) return {first, 1, true};
    const Lead lead = leadOf(first);
    if (lead.bytes == 0) return {0xFFFD, 1, false};
    const std::size_t have = correctBytes(text, at, lead);
    if (have < lead.bytes) return {0xFFFD, have, false};
    char32_t value = first & (0x7Fu >> lead.bytes);
    for (std::size_t i = 1; i < lead.bytes; ++i)
        value = value << 6 | (byteAt(text, at + i) & 0x3Fu);
    return {value, lead.bytes, true};
}

void appendUtf8(std::string& text, char32_t codePoint) {
    if (codePoint > 0x10FFFF || (codePoint >= 0xD800 && codePoint <= 0xDFFF)) {
        text += kReplacement;
    } else if (codePoint < 0x80) {
        text += static_cast<char>(codePoint);
    } else if (codePoint < 0x800) {
        text += static_cast<char>(0xC0 | codePoint >> 6);
        text += static_cast<char>(0x80 | (codePoint & 0x3F));
    } else if (codePoint < 0x10000) {
        text += static_cast<char>(0xE0 | codePoint >> 12);
        text += static_cast<char>(0x80 | (codePoint >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (codePoint & 0x3F));
    } else {
        text += static_cast<char>(0xF0 | codePoint >> 18);
        text += static_cast<char>(0x80 | (codePoint >> 12 & 0x3F));
        text += static_cast<char>(0x80 | (codePoint >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (codePoint & 0x3F));
    }
}

bool isValidUtf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint point = decodeUtf8(text, at);
        if (!point.valid) return false;
        at += point.bytes;
    }
    return true;
}

std::size_t wholeUtf8Prefix(std::string_view text) {
    // A character that is not finished began at most three bytes before the end.
    const std::size_t back = std::min<std::size_t>(text.size(), 3);
    for (std::size_t at = text.size() - back; at < text.size(); ++at) {
        const Lead lead = leadOf(byteAt(text, at));
        const std::size_t left = text.size() - at;
        if (lead.bytes > left && correctBytes(text, at, lead) == left) return at;
    }
    return text.size();
}

std::string replaceInvalidUtf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint point = decodeUtf8(text, at);
        if (point.valid) {
            out.append(text, at, point.bytes);
        } else {
            out += kReplacement;
        }
        at += point.bytes;
    }
    return out;
}

std::string printableUtf8(std::string_view text, std::size_t maxBytes) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint point = decodeUtf8(text, at);
        const bool control = point.value < 0x20 || (point.value >= 0x7F && point.value < 0xA0);
        std::string next;
        appendUtf8(next, control ? 0xFFFD : point.value);
        if (out.size() + next.size() > maxBytes) return out + "...";
        out += next;
        at += point.bytes;
    }
    return out;
}

} // namespace engine

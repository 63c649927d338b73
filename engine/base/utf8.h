#pragma once
// UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. Pure functions.

#include <cstddef>
#include <string>
#include <string_view>

namespace engine {

struct CodePoint {
    char32_t value = 0; // U+FFFD when not valid
    std::size_t bytes =
        0; // bytes to step over, at least 1; for invalid text the maximal broken part
    bool valid = false;
};

// The code point that starts at text[at]; at < text.size().
CodePoint decodeUtf8(std::string_view text, std::size_t at);

void appendUtf8(std::string& text, char32_t codePoint);

bool isValidUtf8(std::string_view text);

// Bytes of the longest prefix that holds whole characters only: what follows is the beginning of a
// character whose rest may still come. Bytes that can never become a character count as whole, so
// that a stream does not wait for ever.
std::size_t wholeUtf8Prefix(std::string_view text);

// The text with every maximal broken part replaced by one U+FFFD.
std::string replaceInvalidUtf8(std::string_view text);

// For messages: at most maxBytes of valid UTF-8 on one line, control characters replaced by U+FFFD,
// "..." at the end when something was cut.
std::string printableUtf8(std::string_view text, std::size_t maxBytes = 80);

} // namespace engine

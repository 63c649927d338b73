#include "engine/token/pretokenize.h"

#include "engine/base/utf8.h"

#include <utf8proc.h>

#include <array>
#include <cstdint>

namespace engine {

namespace {

// What the expression asks of a character, as bits.
enum : std::uint8_t {
    kUpper = 1,  // may stand in a word's first part: [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
    kLower = 2,  // may stand in its second part:     [\p{Ll}\p{Lm}\p{Lo}\p{M}]
    kLetter = 4, // \p{L}
    kNumber = 8, // \p{N}: digits of all scripts, letter numbers, fractions
    kSpace = 16, // \s: White_Space, so also U+0085, U+00A0 and U+3000
    kBreak = 32, // \r or \n
};

std::uint8_t categoryClass(utf8proc_int32_t codePoint) {
    switch (utf8proc_category(codePoint)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT: return kLetter | kUpper;
    case UTF8PROC_CATEGORY_LL: return kLetter | kLower;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return kLetter | kUpper | kLower;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: return kUpper | kLower;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return kNumber;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return kSpace;
    default: break;
    }
    if (codePoint == '\n' || codePoint == '\r') return kSpace | kBreak;
    if ((codePoint >= '\t' && codePoint <= '\f') || codePoint == 0x85) return kSpace;
    return 0;
}

std::uint8_t ggmlClass(utf8proc_int32_t codePoint) {
    const std::uint8_t byCategory = categoryClass(codePoint);
    if (!(byCategory & kLetter)) return byCategory & ~(kUpper | kLower);
    if (codePoint >= 'a' && codePoint <= 'z') return kLetter | kLower;
    if (codePoint >= 'A' && codePoint <= 'Z') return kLetter | kUpper;
    return kLetter | kUpper | kLower;
}

struct Character {
    std::int32_t codePoint = -1; // -1: bytes that are not UTF-8
    std::uint8_t bytes = 1;
    std::uint8_t classes = 0;
};

std::vector<Character> readCharacters(std::string_view text, SplitForm form) {
    const auto classOf = form == SplitForm::Category ? categoryClass : ggmlClass;
    std::array<std::uint8_t, 128> ascii{};
    for (int c = 0; c < 128; ++c) ascii[c] = classOf(c);

    std::vector<Character> characters;
    characters.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint point = decodeUtf8(text, at);
        Character c{-1, static_cast<std::uint8_t>(point.bytes), 0};
        if (point.valid) {
            c.codePoint = static_cast<std::int32_t>(point.value);
            c.classes = point.value < 128 ? ascii[point.value] : classOf(c.codePoint);
        }
        at += c.bytes;
        characters.push_back(c);
    }
    return characters;
}

// One run of the expression over the text: each function gives the index after its match, or `at`
// when its alternative does not match there.
class Scanner {
public:
    Scanner(std::vector<Character> characters, SplitForm form)
        : m_characters(std::move(characters)), m_form(form) {}

    std::size_t count() const { return m_characters.size(); }
    std::size_t bytes(std::size_t first, std::size_t end) const {
        std::size_t sum = 0;
        for (; first < end; ++first) sum += m_characters[first].bytes;
        return sum;
    }

    std::size_t next(std::size_t at) const {
        std::size_t end = word(at);
        if (end == at) end = number(at);
        if (end == at) end = symbols(at);
        if (end == at) end = spaces(at);
        return end;
    }

private:
    bool is(std::size_t at, std::uint8_t classes) const {
        return at < count() && (m_characters[at].classes & classes) != 0;
    }
    bool isChar(std::size_t at, char c) const {
        return at < count() && m_characters[at].codePoint == c;
    }
    std::size_t run(std::size_t at, std::uint8_t classes) const {
        while (is(at, classes)) ++at;
        return at;
    }

    // The two word alternatives. Each may begin with one character that is neither letter, number
    // nor line break; when that leads nowhere the expression tries without it (a combining mark can
    // be both). The first alternative with its prefix, then without, comes before the second.
    std::size_t word(std::size_t at) const {
        const bool prefix = at < count() && !is(at, kLetter | kNumber | kBreak);
        for (const auto alternative : {&Scanner::endsLower, &Scanner::beginsUpper}) {
            for (std::size_t skip = prefix ? 1 : 0;; --skip) {
                const std::size_t end = (this->*alternative)(at + skip);
                if (end != at + skip) return contraction(end);
                if (skip == 0) break;
            }
        }
        return at;
    }

    // [Upper]*[Lower]+
    std::size_t endsLower(std::size_t at) const {
        const std::size_t upperEnd = run(at, kUpper);
        const std::size_t lowerEnd = run(upperEnd, kLower);
        if (lowerEnd != upperEnd) return lowerEnd;
        // The second part takes back the last character that may stand in either. What follows it
        // cannot be in the second part, else it would be the last one itself.
        for (std::size_t i = upperEnd; i > at; --i) {
            if (is(i - 1, kLower)) return i;
        }
        return at;
    }

    // [Upper]+[Lower]*
    std::size_t beginsUpper(std::size_t at) const {
        const std::size_t upperEnd = run(at, kUpper);
        return upperEnd == at ? at : run(upperEnd, kLower);
    }

    // (?i:'s|'t|'re|'ve|'m|'ll|'d)?
    std::size_t contraction(std::size_t at) const {
        if (!isChar(at, '\'')) return at;
        const char first = folded(at + 1);
        if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
        const char second = folded(at + 2);
        if ((first == 'r' || first == 'v') && second == 'e') return at + 3;
        if (first == 'l' && second == 'l') return at + 3;
        return at;
    }
    char folded(std::size_t at) const {
        if (at >= count()) return 0;
        const std::int32_t c = m_characters[at].codePoint;
        if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
        if (c >= 'a' && c <= 'z') return static_cast<char>(c);
        // Without regard to case the long s is an s; the other form spells out ASCII letters.
        return c == 0x17F && m_form == SplitForm::Category ? 's' : '\0';
    }

    // \p{N}{1,3}
    std::size_t number(std::size_t at) const {
        std::size_t end = at;
        while (end < at + 3 && is(end, kNumber)) ++end;
        return end;
    }

    //  ?[^\s\p{L}\p{N}]+[\r\n/]*
    std::size_t symbols(std::size_t at) const {
        std::size_t end = isChar(at, ' ') ? at + 1 : at;
        const std::size_t first = end;
        while (end < count() && !is(end, kSpace | kLetter | kNumber)) ++end;
        if (end == first) return at;
        while (is(end, kBreak) || isChar(end, '/')) ++end;
        return end;
    }

    // \s*[\r\n]+|\s+(?!\S)|\s+
    std::size_t spaces(std::size_t at) const {
        const std::size_t end = run(at, kSpace);
        for (std::size_t i = end; i > at; --i) {
            if (is(i - 1, kBreak)) return i;
        }
        // The last space of several goes with the word that follows.
        return end == count() || end - at == 1 ? end : end - 1;
    }

    std::vector<Character> m_characters;
    SplitForm m_form;
};

} // namespace

std::vector<std::size_t> splitWords(std::string_view text, SplitForm form) {
    const Scanner scanner(readCharacters(text, form), form);
    std::vector<std::size_t> words;
    for (std::size_t at = 0; at < scanner.count();) {
        const std::size_t end = scanner.next(at);
        words.push_back(scanner.bytes(at, end));
        at = end;
    }
    return words;
}

} // namespace engine

#include "engine/token/tokenizer.h"

#include "engine/base/utf8.h"
#include "engine/gguf/gguf_file.h"
#include "engine/gguf/gguf_keys.h"
#include "engine/token/merge_table.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace engine {

namespace {

constexpr std::int32_t kControlType = 3;
constexpr std::int32_t kUserDefinedType = 4;

// The printable alphabet in which vocabularies are stored: bytes 33-126, 161-172 and 174-255 stand
// for themselves, the other 68 are U+0100 upward in byte order.
struct ByteAlphabet {
    std::array<char32_t, 256> characters{};
    std::array<std::int16_t, 0x144> bytes{}; // by code point; -1: not in the alphabet

    ByteAlphabet() {
        bytes.fill(-1);
        char32_t next = 0x100;
        for (int b = 0; b < 256; ++b) {
            const bool itself = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
            characters[b] = itself ? static_cast<char32_t>(b) : next++;
            bytes[characters[b]] = static_cast<std::int16_t>(b);
        }
    }
};

// Appends the bytes that a stored token stands for. What is not in the alphabet stands for itself.
void appendTokenBytes(std::string_view stored, const ByteAlphabet& alphabet, std::string& out) {
    for (std::size_t at = 0; at < stored.size();) {
        const CodePoint c = decodeUtf8(stored, at);
        if (c.valid && c.value < alphabet.bytes.size() && alphabet.bytes[c.value] >= 0) {
            out.push_back(static_cast<char>(alphabet.bytes[c.value]));
        } else {
            out.append(stored.substr(at, c.bytes));
        }
        at += c.bytes;
    }
}

Error invalid(std::string message) {
    return {ErrorCode::InvalidFile, std::move(message)};
}

} // namespace

struct Tokenizer::State {
    SpecialTokens special;
    MergeTable merges;
    std::array<TokenId, 256> byteTokens{};
    std::string bytes;                  // of all tokens, one after the other
    std::vector<std::uint32_t> offsets; // into bytes, one more than tokens
    std::vector<bool> isSpecial;
    std::unordered_map<std::string, TokenId> specialByText;
    std::size_t longestSpecial = 0;
    std::array<bool, 256> beginsSpecial{}; // by first byte
    std::vector<std::string> warnings;
};

Tokenizer::Tokenizer() : m(std::make_unique<State>()) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::read(const GgufFile& file) {
    const auto model = file.text(keys::kTokenizerModel);
    if (!model) return model.error();
    if (*model != "gpt2") {
        return Error{ErrorCode::Unsupported, "the tokenizer is of kind \"" + printableUtf8(*model) +
                                                 "\", not byte-level BPE"};
    }
    const auto storedTokens = file.texts(keys::kTokens);
    if (!storedTokens) return storedTokens.error();
    const auto storedMerges = file.texts(keys::kMerges);
    if (!storedMerges) return storedMerges.error();
    std::vector<std::int32_t> types;
    if (file.has(keys::kTokenTypes)) {
        const auto stored = file.integers(keys::kTokenTypes);
        if (!stored) return stored.error();
        types.reserve(stored->size());
        for (const std::int64_t type : *stored) types.push_back(static_cast<std::int32_t>(type));
    }
    const std::vector<std::string_view> tokens(storedTokens->begin(), storedTokens->end());
    const std::vector<std::string_view> merges(storedMerges->begin(), storedMerges->end());
    auto tokenizer = fromParts({tokens, types, merges});
    if (!tokenizer) return tokenizer;

    State& state = *tokenizer->m;
    const auto pre = file.textOr(keys::kTokenizerPre, "llama4");
    if (!pre) return pre.error();
    if (*pre != "llama4" && *pre != "gpt-4o") {
        state.warnings.push_back("The file names the word split \"" + printableUtf8(*pre) +
                                 "\"; the model's own is used.");
    }
    // End tokens are known by their text. What the metadata say is only compared: community
    // conversions have named markers inside a turn as its end, which cut answers after a few words.
    for (const std::string_view key : {keys::kEosToken, keys::kEotToken}) {
        if (!file.has(key)) continue;
        const auto id = file.integer(key, INT64_MIN);
        if (id && (*id == state.special.eot || *id == state.special.endOfText)) continue;
        state.warnings.push_back("The file's " + std::string(key) +
                                 " is not a token that ends a turn; the model's own are used.");
    }
    return tokenizer;
}

Result<Tokenizer> Tokenizer::fromParts(const Parts& parts) {
    const ByteAlphabet alphabet;
    const std::size_t count = parts.tokens.size();
    if (count == 0) return invalid("the vocabulary is empty");
    if (!parts.types.empty() && parts.types.size() != count) {
        return invalid("the vocabulary has " + std::to_string(count) + " tokens and " +
                       std::to_string(parts.types.size()) + " token types");
    }
    auto special = SpecialTokens::find(parts.tokens);
    if (!special) return special.error();

    Tokenizer tokenizer;
    State& state = *tokenizer.m;
    state.special = *special;

    // A token is special by its type, by its name, or by standing in the released table's upper
    // part.
    state.isSpecial.assign(count, false);
    const bool released = static_cast<std::int64_t>(count) == kReleasedVocabulary;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t type = parts.types.empty() ? 0 : parts.types[i];
        state.isSpecial[i] = type == kControlType || type == kUserDefinedType ||
                             (released && i >= static_cast<std::size_t>(special->beginOfText));
    }
    for (const TokenId id : {special->beginOfText, special->endOfText, special->eom, special->eot,
                             special->start, special->message, special->imageStart,
                             special->imageEnd, special->patch, special->video, special->pad}) {
        if (id == kNoToken) continue;
        if (!parts.types.empty() && !state.isSpecial[id]) {
            state.warnings.push_back("The file has " + std::string(parts.tokens[id]) +
                                     " as an ordinary token; it is treated as a marker.");
        }
        state.isSpecial[id] = true;
    }

    std::unordered_map<std::string_view, TokenId> ids; // of ordinary tokens, as stored
    ids.reserve(count);
    state.offsets.reserve(count + 1);
    state.offsets.push_back(0);
    for (std::size_t i = 0; i < count; ++i) {
        const std::string_view stored = parts.tokens[i];
        if (state.isSpecial[i]) {
            state.bytes.append(stored);
            state.longestSpecial = std::max(state.longestSpecial, stored.size());
            if (!stored.empty()) {
                state.specialByText.emplace(stored, static_cast<TokenId>(i));
                state.beginsSpecial[static_cast<unsigned char>(stored.front())] = true;
            }
        } else {
            appendTokenBytes(stored, alphabet, state.bytes);
            ids.emplace(stored, static_cast<TokenId>(i));
        }
        if (state.bytes.size() > UINT32_MAX) return invalid("the vocabulary is too large");
        state.offsets.push_back(static_cast<std::uint32_t>(state.bytes.size()));
    }

    for (int b = 0; b < 256; ++b) {
        std::string character;
        appendUtf8(character, alphabet.characters[b]);
        const auto found = ids.find(character);
        if (found == ids.end()) {
            return invalid("the vocabulary has no token for the byte " + std::to_string(b));
        }
        state.byteTokens[b] = found->second;
    }

    state.merges = MergeTable(parts.merges.size());
    std::size_t unknown = 0;
    std::string joined;
    for (std::size_t rank = 0; rank < parts.merges.size(); ++rank) {
        const std::string_view merge = parts.merges[rank];
        const std::size_t space = merge.find(' ');
        if (space == std::string_view::npos) return invalid("a merge has no two parts");
        joined.assign(merge.substr(0, space));
        joined.append(merge.substr(space + 1));
        const auto left = ids.find(merge.substr(0, space));
        const auto right = ids.find(merge.substr(space + 1));
        const auto result = ids.find(joined);
        // Special tokens are not in `ids`, so no merge can yield one.
        if (left == ids.end() || right == ids.end() || result == ids.end()) {
            ++unknown;
            continue;
        }
        state.merges.insert(left->second, right->second, static_cast<std::uint32_t>(rank),
                            result->second);
    }
    if (unknown > 0) {
        state.warnings.push_back(std::to_string(unknown) +
                                 " merges of the vocabulary name tokens that it does not have.");
    }
    return tokenizer;
}

std::int64_t Tokenizer::size() const {
    return static_cast<std::int64_t>(m->isSpecial.size());
}
const SpecialTokens& Tokenizer::special() const {
    return m->special;
}
const std::vector<std::string>& Tokenizer::warnings() const {
    return m->warnings;
}

bool Tokenizer::isSpecial(TokenId id) const {
    return id >= 0 && id < size() && m->isSpecial[id];
}

std::string_view Tokenizer::bytes(TokenId id) const {
    if (id < 0 || id >= size()) return {};
    return std::string_view(m->bytes).substr(m->offsets[id], m->offsets[id + 1] - m->offsets[id]);
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
    std::string text;
    for (const TokenId id : ids) text.append(bytes(id));
    return text;
}

void Tokenizer::encode(std::string_view text, SplitForm form, std::vector<TokenId>& out) const {
    std::vector<TokenId> word;
    for (const std::size_t length : splitWords(text, form)) {
        word.clear();
        for (const char c : text.substr(0, length)) {
            word.push_back(m->byteTokens[static_cast<unsigned char>(c)]);
        }
        m->merges.apply(word);
        out.insert(out.end(), word.begin(), word.end());
        text.remove_prefix(length);
    }
}

void Tokenizer::encodeText(std::string_view text, std::vector<TokenId>& out) const {
    encode(text, SplitForm::Category, out);
}

std::vector<TokenId> Tokenizer::encodeText(std::string_view text, SplitForm form) const {
    std::vector<TokenId> ids;
    encode(text, form, ids);
    return ids;
}

std::vector<TokenId> Tokenizer::encodeWithSpecials(std::string_view text, SplitForm form) const {
    std::vector<TokenId> ids;
    std::size_t plainFrom = 0;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t length = 0; // the longest marker that stands here counts
        TokenId marker = kNoToken;
        if (m->beginsSpecial[static_cast<unsigned char>(text[at])]) {
            for (length = std::min(m->longestSpecial, text.size() - at); length > 0; --length) {
                const auto found = m->specialByText.find(std::string(text.substr(at, length)));
                if (found == m->specialByText.end()) continue;
                marker = found->second;
                break;
            }
        }
        if (marker == kNoToken) {
            ++at;
            continue;
        }
        encode(text.substr(plainFrom, at - plainFrom), form, ids);
        ids.push_back(marker);
        at += length;
        plainFrom = at;
    }
    encode(text.substr(plainFrom), form, ids);
    return ids;
}

} // namespace engine

#pragma once
// Byte-level BPE over the vocabulary of a GGUF file. Immutable after reading, so any thread may use
// it; owns copies of all strings, the file may be closed afterwards.
//
// Any bytes can be encoded, also those that are not UTF-8: a bad byte is a character of its own
// without a class, and decodes to the same byte again. So decode(encodeText(x)) == x for every x.

#include "engine/base/result.h"
#include "engine/token/pretokenize.h"
#include "engine/token/special_tokens.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace engine {

class GgufFile;

class Tokenizer {
public:
    // Reads tokenizer.ggml.* of a target or a drafter.
    static Result<Tokenizer> read(const GgufFile& file);

    // The same from the parts themselves, as they are stored: tokens and merges in the printable
    // byte alphabet, one type per token (1 normal, 3 control, 4 user defined) or none at all.
    struct Parts {
        std::span<const std::string_view> tokens;
        std::span<const std::int32_t> types;
        std::span<const std::string_view> merges;
    };
    static Result<Tokenizer> fromParts(const Parts& parts);

    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;
    ~Tokenizer();

    std::int64_t size() const; // of the vocabulary
    const SpecialTokens& special() const;
    bool isSpecial(TokenId id) const; // a control token of any kind, named in SpecialTokens or not
    bool endsTurn(TokenId id) const { return special().endsTurn(id); }

    // Never yields a special id, whatever the text says. SplitForm::Category is the model's; the
    // other form is only for comparison with the reference.
    std::vector<TokenId> encodeText(std::string_view text,
                                    SplitForm form = SplitForm::Category) const;
    void encodeText(std::string_view text, std::vector<TokenId>& out) const; // appends
    // Markers spelled in the text become ids. For inspection on the command line and for comparison
    // with the reference only: never for anything that a person typed.
    std::vector<TokenId> encodeWithSpecials(std::string_view text,
                                            SplitForm form = SplitForm::Category) const;

    // The bytes of a token, which may be part of a UTF-8 character; of a special token its literal
    // text. Empty for ids outside the vocabulary. Valid as long as the tokenizer.
    std::string_view bytes(TokenId id) const;
    std::string decode(std::span<const TokenId> ids) const;

    // Sentences about metadata that disagree with the built-in rules (for example an end token that
    // is none); the built-in rules are used.
    const std::vector<std::string>& warnings() const;

private:
    Tokenizer();
    void encode(std::string_view text, SplitForm form, std::vector<TokenId>& out) const;
    struct State;
    std::unique_ptr<State> m;
};

} // namespace engine

#pragma once
// The tokenizer of the small reference trio, and short ways to write ids and read them.

#include "engine/gguf/gguf_file.h"
#include "engine/token/tokenizer.h"
#include "tests/support/oracle_fixture.h"

namespace test {

inline const engine::Tokenizer& tinyTokenizer() {
    static const engine::Tokenizer tokenizer = [] {
        const auto file = engine::GgufFile::open(oracleFolder("tiny-f32") / "target.gguf");
        if (!file) throw std::runtime_error(file.error().message);
        auto read = engine::Tokenizer::read(*file);
        if (!read) throw std::runtime_error(read.error().message);
        return std::move(read).value();
    }();
    return tokenizer;
}

// Markers spelled out, as the model's own output or the reference's text has them.
inline std::vector<engine::TokenId> marked(std::string_view text) {
    return tinyTokenizer().encodeWithSpecials(text);
}

} // namespace test

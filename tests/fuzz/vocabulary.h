#pragma once
// The vocabulary of the small reference trio, read once, for fuzz targets.

#include "engine/gguf/gguf_file.h"
#include "engine/token/tokenizer.h"

#include <cstdio>
#include <cstdlib>

namespace test {

inline const engine::Tokenizer& fuzzTokenizer() {
    static const engine::Tokenizer tokenizer = [] {
        const auto file = engine::GgufFile::open(GLINT_FIXTURES "/oracle/tiny-f32/target.gguf");
        auto read =
            file ? engine::Tokenizer::read(*file) : engine::Result<engine::Tokenizer>(file.error());
        if (!read) {
            std::fprintf(stderr, "%s\n", read.error().message.c_str());
            std::exit(1);
        }
        return std::move(read).value();
    }();
    return tokenizer;
}

} // namespace test

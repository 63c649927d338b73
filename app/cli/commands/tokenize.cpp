// glint-cli tokenize: the token ids of the text on the standard input.

#include "app/cli/commands.h"
#include "engine/base/path_text.h"
#include "engine/gguf/gguf_file.h"
#include "engine/token/tokenizer.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace app {

using engine::Result;

namespace {

Result<int> run(const Options& options) {
    const auto path = options.path("--model");
    if (!path) return path.error();
    const auto file = engine::GgufFile::openHeader(*path);
    if (!file) return withContext(file.error(), engine::pathToUtf8(*path));
    const auto tokenizer = engine::Tokenizer::read(*file);
    if (!tokenizer) return withContext(tokenizer.error(), engine::pathToUtf8(*path));
    for (const std::string& warning : tokenizer->warnings()) {
        std::fprintf(stderr, "glint-cli: %s\n", warning.c_str());
    }
    const std::string text = readStandardInput();
    const auto ids = options.has("--special") ? tokenizer->encodeWithSpecials(text)
                                              : tokenizer->encodeText(text);
    if (options.json()) {
        std::printf("%s\n", nlohmann::json{{"ids", ids}}.dump().c_str());
        return 0;
    }
    for (std::size_t i = 0; i < ids.size(); ++i) std::printf(i ? " %d" : "%d", ids[i]);
    std::printf("\n");
    return 0;
}

} // namespace

const Command kTokenize = {
    "tokenize",
    "give the token ids of the text on the standard input",
    "--model FILE [--special] < TEXT",
    {
        {"--model", "FILE", "the model, or its drafter: both hold the vocabulary"},
        {"--special", "", "markers such as <|eot|> spelled in the text become markers"},
    },
    run,
};

} // namespace app

// libFuzzer target for the tokenizer: any bytes come back, and none become a marker.

#include "engine/base/check.h"
#include "tests/fuzz/vocabulary.h"

#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const engine::Tokenizer& tokenizer = test::fuzzTokenizer();
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const engine::SplitForm form : {engine::SplitForm::Category, engine::SplitForm::Ggml}) {
        const auto ids = tokenizer.encodeText(text, form);
        for (const engine::TokenId id : ids) CHECK(!tokenizer.isSpecial(id));
        CHECK(tokenizer.decode(ids) == text);
    }
    CHECK(tokenizer.decode(tokenizer.encodeWithSpecials(text)) == text);
    return 0;
}

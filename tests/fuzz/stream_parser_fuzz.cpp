// libFuzzer target for the reply parser and for ids from a database: two bytes are one token id.
// The text is valid UTF-8, and a reply that was read back makes a prompt in which every message is
// closed.

#include "engine/base/check.h"
#include "engine/base/utf8.h"
#include "engine/chat/prompt_builder.h"
#include "engine/chat/stream_parser.h"
#include "tests/fuzz/vocabulary.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const engine::Tokenizer& tokenizer = test::fuzzTokenizer();
    const engine::SpecialTokens& special = tokenizer.special();
    engine::StreamParser parser(tokenizer);
    std::vector<engine::TextDelta> deltas;
    engine::ChatMessage reply = engine::ChatMessage::assistant("");
    for (std::size_t i = 0; i + 1 < size; i += 2) {
        const auto id = static_cast<engine::TokenId>(data[i] | data[i + 1] << 8);
        reply.generated.ids.push_back(id);
        parser.push(id, deltas);
    }
    parser.finish();
    std::string answer;
    for (const engine::TextDelta& delta : deltas) {
        CHECK(engine::isValidUtf8(delta.text));
        if (delta.channel == engine::Channel::Answer) answer += delta.text;
        if (delta.channel == engine::Channel::Thinking) reply.thinking += delta.text;
    }
    reply.parts = {answer};
    reply.generated.modelKey = "m";

    engine::PromptRequest request;
    request.modelKey = "m";
    request.messages = {engine::ChatMessage::user("q"), reply, engine::ChatMessage::user("next")};
    const auto prompt = engine::buildPrompt(request, tokenizer, nullptr);
    CHECK(prompt.ok());
    bool open = false;
    int users = 0;
    for (const engine::TokenId id : prompt->ids) {
        if (id == special.message) {
            CHECK(!open);
            open = true;
        }
        if (id == special.eom || special.endsTurn(id)) open = false;
        if (id == special.start) CHECK(!open);
        CHECK(id != special.patch && id >= 0 && id < tokenizer.size());
        users += id == special.start;
    }
    CHECK(!open && users >= 5);
    return 0;
}

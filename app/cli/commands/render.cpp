// glint-cli render: what the model reads of a conversation, as ids and as text.

#include "app/cli/commands.h"
#include "app/cli/message_file.h"
#include "engine/base/path_text.h"
#include "engine/chat/prompt_builder.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model/spec.h"
#include "engine/token/tokenizer.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

// The projector's own numbers if it is given, otherwise the released one's: they only decide how
// many places a picture takes.
Result<engine::VisionSpec> visionSpec(const Options& options) {
    if (!options.has("--mmproj")) {
        engine::VisionSpec released;
        released.patchSize = 14;
        released.mergeSize = 2;
        return released;
    }
    const auto path = options.path("--mmproj");
    if (!path) return path.error();
    const auto file = engine::GgufFile::openHeader(*path);
    if (!file) return withContext(file.error(), engine::pathToUtf8(*path));
    return engine::VisionSpec::read(*file).context(engine::pathToUtf8(*path));
}

Result<int> run(const Options& options) {
    const auto modelPath = options.path("--model");
    if (!modelPath) return modelPath.error();
    const auto messagesPath = options.path("--messages");
    if (!messagesPath) return messagesPath.error();

    engine::PromptRequest request;
    if (const auto word = options.text("--strength")) {
        const auto strength = engine::strengthFromWord(*word);
        if (!strength) {
            return Error{ErrorCode::InvalidFile,
                         "--strength takes low, medium, high or xhigh, not \"" + *word + "\""};
        }
        request.strength = *strength;
    }
    request.date = options.text("--date").value_or("");
    request.keepThinking = options.has("--keep-reasoning");

    const auto file = engine::GgufFile::openHeader(*modelPath);
    if (!file) return withContext(file.error(), engine::pathToUtf8(*modelPath));
    const auto tokenizer = engine::Tokenizer::read(*file);
    if (!tokenizer) return withContext(tokenizer.error(), engine::pathToUtf8(*modelPath));
    auto messages = readMessageFile(*messagesPath);
    if (!messages) return messages.error();
    request.messages = std::move(*messages);
    const auto vision = visionSpec(options);
    if (!vision) return vision.error();

    const auto prompt = engine::buildPrompt(request, *tokenizer, &*vision);
    if (!prompt) return prompt.error();
    const std::string text = tokenizer->decode(prompt->ids);
    if (options.json()) {
        nlohmann::json pictures = nlohmann::json::array();
        for (const engine::ImageSlot& slot : prompt->images) {
            pictures.push_back({{"first", slot.firstToken}, {"tokens", slot.tokens}});
        }
        const nlohmann::json result = {{"ids", prompt->ids},
                                       {"text", text},
                                       {"images", pictures},
                                       {"turn_starts", prompt->turnStarts}};
        std::printf("%s\n", result.dump().c_str());
        return 0;
    }
    for (std::size_t i = 0; i < prompt->ids.size(); ++i)
        std::printf(i ? " %d" : "%d", prompt->ids[i]);
    std::printf("\n%s\n", text.c_str());
    return 0;
}

} // namespace

const Command kRender = {
    "render",
    "show what the model reads of a conversation: its token ids on one line, then the text",
    "--model FILE --messages FILE --strength WORD [--date DATE] [--keep-reasoning]",
    {
        {"--model", "FILE", "the model: its vocabulary is used"},
        {"--messages", "FILE",
         "a conversation as JSON: [{\"role\": \"user\", \"content\": \"...\"}, ...]"},
        {"--strength", "WORD", "low, medium, high (the default) or xhigh"},
        {"--date", "DATE", "for the line with the current date; without it there is none"},
        {"--keep-reasoning", "", "earlier replies keep their reasoning_content"},
        {"--mmproj", "FILE", "the vision part, for the places that pictures take"},
    },
    run,
};

} // namespace app

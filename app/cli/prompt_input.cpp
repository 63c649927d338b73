#include "app/cli/prompt_input.h"

#include "app/cli/message_file.h"
#include "engine/base/path_text.h"
#include "engine/chat/prompt_builder.h"
#include "engine/model/image_patches.h"
#include "engine/token/tokenizer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

Error badInput(std::string message) {
    return {ErrorCode::InvalidFile, std::move(message)};
}

bool isDate(const std::string& text) {
    int year = 0, month = 0, day = 0, end = 0;
    const int read = std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &year, &month, &day, &end);
    return read == 3 && std::size_t(end) == text.size() && text.size() == 10 && year > 0 &&
           std::chrono::year_month_day{std::chrono::year(year), std::chrono::month(unsigned(month)),
                                       std::chrono::day(unsigned(day))}
               .ok();
}

std::string today() {
    const std::time_t seconds = std::time(nullptr);
    std::tm local{};
#ifdef _WIN32
    localtime_s(&local, &seconds);
#else
    localtime_r(&seconds, &local);
#endif
    char text[16];
    std::strftime(text, sizeof text, "%Y-%m-%d", &local);
    return text;
}

Result<std::vector<engine::ChatPicture>> readPictures(const Options& options,
                                                      engine::AlphaRule alpha) {
    std::vector<engine::ChatPicture> pictures;
    for (const std::string& name : options.all("--image")) {
        auto image = engine::readImage(engine::pathFromUtf8(name), alpha);
        if (!image) return withContext(image.error(), name);
        pictures.push_back({std::make_shared<const engine::RgbImage>(std::move(*image)), name});
    }
    return pictures;
}

Result<engine::Prompt> promptFromIds(const std::string& text,
                                     std::vector<engine::ChatPicture> pictures,
                                     const PromptContext& context) {
    auto ids = parseIds(text);
    if (!ids) return ids.error();
    if (ids->empty()) return badInput("--ids holds no token");
    engine::Prompt prompt;
    prompt.ids = std::move(*ids);
    const std::int64_t vocabulary = context.tokenizer->size();
    for (const engine::TokenId id : prompt.ids)
        if (id >= vocabulary)
            return badInput("token " + std::to_string(id) + " is outside the vocabulary of " +
                            std::to_string(vocabulary));
    const engine::TokenId patch = context.tokenizer->special().patch;
    auto at = prompt.ids.begin();
    for (engine::ChatPicture& picture : pictures) {
        if (!context.vision) return badInput("a picture needs the vision part: --mmproj FILE");
        const engine::PixelSize size{picture.image->width, picture.image->height};
        const std::int64_t tokens = engine::imageTokens(size, *context.vision);
        at = std::find(at, prompt.ids.end(), patch);
        const auto end =
            std::find_if(at, prompt.ids.end(), [&](engine::TokenId id) { return id != patch; });
        if (end - at != tokens) {
            return badInput(picture.key + " takes " + std::to_string(tokens) +
                            " places, and --ids has " + std::to_string(end - at) + " for it");
        }
        prompt.images.push_back({at - prompt.ids.begin(), tokens, picture.key, picture.image});
        at = end;
    }
    if (std::find(at, prompt.ids.end(), patch) != prompt.ids.end()) {
        return badInput("--ids has places for more pictures than were given");
    }
    return prompt;
}

} // namespace

Result<engine::Prompt> readPrompt(const Options& options, const PromptContext& context) {
    auto pictures = readPictures(options, context.alpha);
    if (!pictures) return pictures.error();
    if (const auto ids = options.text("--ids"))
        return promptFromIds(*ids, std::move(*pictures), context);

    engine::PromptRequest request;
    if (const auto word = options.text("--strength")) {
        const auto strength = engine::strengthFromWord(*word);
        if (!strength)
            return badInput("--strength takes low, medium, high or xhigh, not \"" + *word + "\"");
        request.strength = *strength;
    }
    request.date = options.text("--date").value_or(today());
    if (!isDate(request.date))
        return badInput("--date takes a day as 2026-11-30, not \"" + request.date + "\"");
    request.modelKey = context.modelKey;
    if (const auto file = options.text("--messages")) {
        auto messages = readMessageFile(engine::pathFromUtf8(*file), context.alpha);
        if (!messages) return messages.error();
        request.messages = std::move(*messages);
        if (request.messages.empty()) return badInput(*file + " holds no message");
    } else {
        request.messages.push_back(
            engine::ChatMessage::user(options.text("--prompt").value_or("")));
    }
    if (const auto text = options.text("--system")) {
        request.messages.insert(request.messages.begin(), engine::ChatMessage::system(*text));
    }
    if (!pictures->empty()) {
        engine::ChatMessage& last = request.messages.back();
        if (last.role != engine::ChatRole::User)
            return badInput("a picture belongs to a user's message");
        last.parts.insert(last.parts.begin(), pictures->begin(), pictures->end());
    }
    return engine::buildPrompt(request, *context.tokenizer, context.vision);
}

} // namespace app

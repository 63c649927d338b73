#include "engine/chat/reply_ids.h"

#include "engine/chat/stream_parser.h"
#include "engine/token/tokenizer.h"

namespace engine {

std::optional<ReplyIds> readReplyIds(std::span<const TokenId> ids, const Tokenizer& tokenizer) {
    const SpecialTokens& special = tokenizer.special();
    StreamParser parser(tokenizer);
    std::vector<TextDelta> deltas;

    using End = ReplyIds::End;
    ReplyIds reply;
    int messages = 0;
    int answers = 0;
    std::size_t messageEnd = 0; // the place of the marker that ended the last message
    std::size_t answerFirst = 0;
    std::size_t answerEnd = 0;
    const auto endOf = [](Channel channel, End inside) {
        return channel == Channel::Thinking ? inside : End::Answer;
    };
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const TokenId id = ids[i];
        if (parser.turnEnded() || id < 0 || id >= tokenizer.size()) return std::nullopt;
        const bool wasInBody = parser.inBody();
        const bool ends = id == special.eom || special.endsTurn(id);
        const bool header = id == special.start || id == special.message;
        if (tokenizer.isSpecial(id) && !ends && (!header || wasInBody)) return std::nullopt;
        parser.push(id, deltas);
        if (!wasInBody && parser.inBody()) {
            ++messages;
            if (parser.channel() == Channel::Answer) {
                ++answers;
                // Without <|message|> the body began somewhere in what was taken for the header, so
                // it cannot be cut out.
                answerFirst = id == special.message ? i + 1 : ids.size() + 1;
            }
        }
        if (wasInBody && !parser.inBody()) {
            messageEnd = i;
            if (parser.channel() == Channel::Answer) answerEnd = i;
            reply.end =
                endOf(parser.channel(), parser.turnEnded() ? End::Thinking : End::AfterThinking);
        }
    }
    if (messages == 0) return std::nullopt;

    std::size_t kept = ids.size();
    reply.turnEnded = parser.turnEnded();
    if (parser.inBody()) {
        reply.end = endOf(parser.channel(), End::Thinking);
        if (parser.channel() == Channel::Answer) answerEnd = kept;
    } else {
        kept = reply.end == End::AfterThinking ? messageEnd + 1 : messageEnd;
    }
    reply.ids.assign(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept));
    for (const TextDelta& delta : deltas) {
        if (delta.channel == Channel::Thinking) reply.thinking += delta.text;
        if (delta.channel == Channel::Answer) reply.answer += delta.text;
    }
    if (answers == 1 && answerFirst <= answerEnd && answerEnd == kept) {
        reply.onlyAnswer.emplace(ids.begin() + static_cast<std::ptrdiff_t>(answerFirst),
                                 ids.begin() + static_cast<std::ptrdiff_t>(kept));
    }
    return reply;
}

} // namespace engine

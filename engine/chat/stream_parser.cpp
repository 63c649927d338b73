#include "engine/chat/stream_parser.h"

#include "engine/base/utf8.h"
#include "engine/token/tokenizer.h"

namespace engine {

namespace {

// A header longer than this is none.
constexpr std::size_t kMaxHeaderBytes = 128;
constexpr std::string_view kRecipientSign = "to=";

struct Header {
    std::string_view recipient; // empty: none named
    // Where text begins that cannot belong to a header; npos while all of it can.
    std::size_t bodyAt = std::string_view::npos;
};

std::size_t skipBlanks(std::string_view text, std::size_t at) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    return at;
}

// Headers read " to=NAME" right after <|start|>assistant, "assistant to=NAME" after a <|start|> of
// the model's own; the recipient may be missing.
Header scanHeader(std::string_view text, bool afterStart) {
    Header header;
    std::size_t at = skipBlanks(text, 0);
    if (afterStart) {
        const std::size_t role = at;
        while (at < text.size() && text[at] >= 'a' && text[at] <= 'z') ++at;
        const bool assistant = text.substr(role, at - role) == "assistant";
        at = skipBlanks(text, at);
        // What other roles write after their name is not known; only <|message|> ends such a
        // header.
        if (!assistant) {
            if (text.size() > kMaxHeaderBytes) header.bodyAt = 0;
            return header;
        }
    }
    const std::string_view rest = text.substr(at);
    if (kRecipientSign.starts_with(rest)) return header;
    if (!rest.starts_with(kRecipientSign)) {
        header.bodyAt = afterStart ? at : 0;
        return header;
    }
    const std::size_t name = at + kRecipientSign.size();
    const std::size_t nameEnd = std::min(text.find_first_of(" \t\r\n", name), text.size());
    if (nameEnd - name > kMaxHeaderBytes) {
        header.bodyAt = 0;
        return header;
    }
    header.recipient = text.substr(name, nameEnd - name);
    at = text.find_first_not_of(" \t\r\n", nameEnd);
    if (at != std::string_view::npos) header.bodyAt = at;
    return header;
}

} // namespace

StreamParser::StreamParser(const Tokenizer& tokenizer, std::span<const TokenId> replyPrefix)
    : m_tokenizer(tokenizer) {
    std::vector<TextDelta> known;
    for (const TokenId id : replyPrefix) push(id, known);
    m_turnEnded = false;
}

void StreamParser::push(TokenId id, std::vector<TextDelta>& out) {
    const SpecialTokens& special = m_tokenizer.special();
    if (!m_tokenizer.isSpecial(id)) {
        if (m_inBody)
            body(m_tokenizer.bytes(id), out);
        else
            header(m_tokenizer.bytes(id), out);
    } else if (id == special.message) {
        if (m_inBody) return; // a stray one
        const std::string recipient(scanHeader(m_header, m_afterStart).recipient);
        openBody(recipient);
    } else if (id == special.eom || id == special.start || special.endsTurn(id)) {
        endMessage(out);
        m_afterStart = id == special.start;
        if (special.endsTurn(id)) m_turnEnded = true;
    }
    // Other markers say nothing in a reply and have no text.
}

void StreamParser::header(std::string_view bytes, std::vector<TextDelta>& out) {
    m_header.append(bytes);
    const Header header = scanHeader(m_header, m_afterStart);
    if (header.bodyAt == std::string_view::npos) return;
    // The model left out <|message|>, or the whole header.
    const std::string text = m_header.substr(header.bodyAt);
    const std::string recipient(header.recipient);
    openBody(recipient);
    body(text, out);
}

void StreamParser::openBody(std::string_view recipient) {
    m_inBody = true;
    m_bodyHasText = false;
    m_channel = recipient == "self"                        ? Channel::Thinking
                : recipient.empty() || recipient == "user" ? Channel::Answer
                                                           : Channel::Tool;
    m_header.clear();
}

void StreamParser::body(std::string_view bytes, std::vector<TextDelta>& out) {
    m_pending.append(bytes);
    const std::size_t whole = wholeUtf8Prefix(m_pending);
    emit(replaceInvalidUtf8(std::string_view(m_pending).substr(0, whole)), out);
    m_pending.erase(0, whole);
}

void StreamParser::endMessage(std::vector<TextDelta>& out) {
    // A character that the message's end leaves unfinished will never be whole.
    if (m_inBody) emit(replaceInvalidUtf8(m_pending), out);
    m_pending.clear();
    m_header.clear();
    m_inBody = false;
}

void StreamParser::emit(std::string text, std::vector<TextDelta>& out) {
    if (text.empty()) return;
    if (m_channel == Channel::Answer && text.find_first_not_of(" \t\r\n") != std::string::npos) {
        m_answerBegun = true;
    }
    // Several messages to one recipient read as paragraphs.
    bool& channelHasText = m_channelHasText[static_cast<std::size_t>(m_channel)];
    if (!m_bodyHasText && channelHasText) text.insert(0, "\n\n");
    m_bodyHasText = channelHasText = true;
    if (!out.empty() && out.back().channel == m_channel)
        out.back().text += text;
    else
        out.push_back({m_channel, std::move(text)});
}

void StreamParser::finish() {
    m_pending.clear();
    m_header.clear();
}

} // namespace engine

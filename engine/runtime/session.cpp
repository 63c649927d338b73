#include "engine/runtime/session.h"

#include "engine/chat/stream_parser.h"
#include "engine/runtime/draft_cycle.h"
#include "engine/runtime/picture_rows.h"
#include "engine/token/tokenizer.h"

#include <algorithm>
#include <chrono>
#include <list>
#include <new>

namespace engine {

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Where a picture lies in the tokens that are in the caches.
struct PicturePlace {
    std::int64_t firstToken = 0;
    std::int64_t tokens = 0;
    std::string key;
};

bool samePicture(const PicturePlace& place, const ImageSlot& slot) {
    return place.firstToken == slot.firstToken && place.tokens == slot.tokens &&
           place.key == slot.key;
}

} // namespace

struct Session::State {
    explicit State(const Parts& partsIn)
        : parts(partsIn), cycle(*partsIn.cycle),
          pictures(*partsIn.backend, partsIn.vision, partsIn.pictureBytes) {
        // Taken now, so that noting what the caches hold never fails.
        history.reserve(std::size_t(cycle.context()));
    }

    Parts parts;
    DraftCycle& cycle;
    PictureRows pictures;

    // What the caches hold: the tokens of positions 0 .. cycle.length()-1, and the pictures among
    // them.
    std::vector<TokenId> history;
    std::vector<PicturePlace> seen;

    // Where one can return to, last used first.
    struct ReturnPlace {
        DraftCycle::Place place;
        std::vector<float>
            logits; // at a prompt's end: of its last token, so that trying again reads nothing
    };
    std::list<ReturnPlace> places;

    struct Turn {
        const Prompt& prompt;
        const GenerateOptions& options;
        const Sink& sink;
        std::stop_token stop;
        StreamParser parser;
        DraftCycle::Request request;
        TurnFinished finished{};
        std::vector<TokenId> sequence{}; // the prompt and everything written
        double started = 0;
        double writingSince = 0;
        double answerSince = 0; // 0: not begun
    };

    void settle();
    Result<void> check(const Prompt& prompt) const;
    std::int64_t commonPrefix(const Prompt& prompt) const;
    std::int64_t goTo(std::int64_t common, std::int64_t promptLength);
    std::string whyAgain(const Prompt& prompt, std::int64_t common, std::int64_t start,
                         std::int64_t cachedBefore) const;
    Result<void> keepPlace(std::vector<float> logits);
    const std::vector<float>* logitsAt(std::int64_t length) const;
    Result<std::vector<float>> read(Turn& turn);
    Result<void> readChunk(Turn& turn, std::int64_t end, int& pictureIndex, int pictureCount);
    void write(Turn& turn, std::span<const TokenId> tokens, bool& ended);
    Result<FinishReason> writeAll(Turn& turn, std::vector<float> logits);
    Result<TurnFinished> generate(const Prompt& prompt, const GenerateOptions& options,
                                  const Sink& sink, std::stop_token stop);
};

// Makes the history say what the caches hold, after whatever happened.
void Session::State::settle() {
    const std::int64_t length = cycle.length();
    CHECK(std::int64_t(history.size()) >= length);
    history.resize(std::size_t(length));
    std::erase_if(seen, [&](const PicturePlace& place) { return place.firstToken >= length; });
}

Result<void> Session::State::check(const Prompt& prompt) const {
    const std::int64_t length = std::int64_t(prompt.ids.size());
    if (length == 0) return Error{ErrorCode::Internal, "there is nothing to read"};
    if (length >= cycle.context()) {
        std::int64_t inPictures = 0;
        for (const ImageSlot& slot : prompt.images) inPictures += slot.tokens;
        std::string message = "the conversation is too long: " + std::to_string(length) +
                              " tokens, and the memory set aside holds " +
                              std::to_string(cycle.context()) + ", the answer included";
        if (inPictures > length / 2)
            message += "; " + std::to_string(inPictures) +
                       " of them are pictures: fewer or smaller ones take less";
        return Error{ErrorCode::Unsupported, std::move(message)};
    }
    for (const TokenId id : prompt.ids) {
        if (id < 0 || id >= parts.vocabulary) {
            return Error{ErrorCode::Unsupported, "the model has no token " + std::to_string(id) +
                                                     "; its tokens are 0 to " +
                                                     std::to_string(parts.vocabulary - 1)};
        }
    }
    std::int64_t end = 0;
    for (const ImageSlot& slot : prompt.images) {
        if (slot.firstToken < end || slot.tokens <= 0 || slot.firstToken + slot.tokens > length) {
            return Error{ErrorCode::Internal, "a picture lies outside the conversation"};
        }
        end = slot.firstToken + slot.tokens;
    }
    return {};
}

// Tokens from the beginning that are in the caches and equal, pictures included.
std::int64_t Session::State::commonPrefix(const Prompt& prompt) const {
    const std::size_t most = std::min(history.size(), prompt.ids.size());
    std::int64_t common =
        std::mismatch(history.begin(), history.begin() + std::ptrdiff_t(most), prompt.ids.begin())
            .first -
        history.begin();
    // The ids of two pictures of one size are equal: their keys decide.
    for (const ImageSlot& slot : prompt.images) {
        const bool known = std::any_of(seen.begin(), seen.end(), [&](const PicturePlace& place) {
            return samePicture(place, slot);
        });
        if (!known) common = std::min(common, slot.firstToken);
    }
    for (const PicturePlace& place : seen) {
        const bool wanted =
            std::any_of(prompt.images.begin(), prompt.images.end(),
                        [&](const ImageSlot& slot) { return samePicture(place, slot); });
        if (!wanted) common = std::min(common, place.firstToken);
    }
    return common;
}

// The logits after the last token of a prompt of this length, if they were kept.
const std::vector<float>* Session::State::logitsAt(std::int64_t length) const {
    for (const ReturnPlace& candidate : places) {
        if (candidate.place.length() == length && !candidate.logits.empty())
            return &candidate.logits;
    }
    return nullptr;
}

// Brings the caches to the longest beginning of the prompt that they can give, and says its length.
// At least one token stays to be read, unless its logits are known.
std::int64_t Session::State::goTo(std::int64_t common, std::int64_t promptLength) {
    // Places beyond the common part belong to another text as soon as something is written there.
    std::erase_if(places, [&](const ReturnPlace& p) { return p.place.length() > common; });

    const bool nothingToRead = common == promptLength && logitsAt(promptLength);
    const std::int64_t goal = nothingToRead ? promptLength : std::min(common, promptLength - 1);
    if (cycle.canRewind(goal)) {
        cycle.rewind(goal);
        settle();
        return goal;
    }
    auto best = places.end();
    for (auto it = places.begin(); it != places.end(); ++it) {
        const std::int64_t length = it->place.length();
        if (length <= goal && (best == places.end() || length > best->place.length())) best = it;
    }
    if (best != places.end()) {
        // The history below the place is unchanged; nothing beyond it is used.
        cycle.returnTo(best->place);
        places.splice(places.begin(), places, best);
    } else {
        cycle.clear();
        places.clear();
    }
    settle();
    return cycle.length();
}

std::string Session::State::whyAgain(const Prompt& prompt, std::int64_t common, std::int64_t start,
                                     std::int64_t cachedBefore) const {
    constexpr std::int64_t kFewTokens = 16;
    if (cachedBefore == 0) return {}; // nothing was read before
    if (start + kFewTokens < common) return "the place to go back to is no longer kept";
    // What comes after the last turn's beginning is new and must be read anyway.
    const std::int64_t earlier = prompt.turnStarts.size() < 2 ? 0 : prompt.turnStarts.back();
    if (start + kFewTokens < earlier)
        return "earlier text has changed, or another chat was read meanwhile";
    return {};
}

// Keeps the present place, so that one can return to it. Without memory for it the session goes on.
Result<void> Session::State::keepPlace(std::vector<float> logits) {
    const std::int64_t length = cycle.length();
    const auto same = std::find_if(places.begin(), places.end(), [&](const ReturnPlace& candidate) {
        return candidate.place.length() == length;
    });
    if (same != places.end()) {
        places.splice(places.begin(), places, same);
        if (!logits.empty()) places.front().logits = std::move(logits);
        return {};
    }
    constexpr std::size_t kMost = 3;
    const std::int64_t each = std::max<std::int64_t>(1, cycle.placeBytes());
    const std::size_t room = std::min(kMost, std::size_t(parts.placeBytes / each));
    if (room == 0) return {};
    while (places.size() >= room) places.pop_back();
    auto place = cycle.mark();
    if (!place) {
        if (place.error().code == ErrorCode::OutOfMemory) return {};
        return place.error();
    }
    places.push_front({std::move(*place), std::move(logits)});
    return {};
}

// Reads tokens up to `end`, at most one chunk, with the rows of pictures that lie in it.
Result<void> Session::State::readChunk(Turn& turn, std::int64_t end, int& pictureIndex,
                                       int pictureCount) {
    const std::int64_t start = cycle.length();
    std::vector<TextModel::Input::ImageRows> images;
    // Two pictures may lie in one chunk, and the rows of the first must outlive the encoding of the
    // second: a chunk therefore ends before the second picture begins.
    for (const ImageSlot& slot : turn.prompt.images) {
        const std::int64_t first = std::max(slot.firstToken, start);
        const std::int64_t last = std::min(slot.firstToken + slot.tokens, end);
        if (first >= last) continue;
        if (!images.empty()) {
            end = slot.firstToken;
            break;
        }
        if (!pictures.has(slot)) {
            turn.sink(LookingAtPicture{++pictureIndex, pictureCount});
            if (auto done = cycle.leaveSharedMemory(); !done) return done;
        }
        auto rows = pictures.rows(slot, turn.stop);
        if (!rows) return rows.error();
        images.push_back({first - start, rows->rowRange(first - slot.firstToken, last - first)});
    }
    const std::span<const TokenId> ids(turn.prompt.ids);
    const auto chunk = ids.subspan(std::size_t(start), std::size_t(end - start));
    if (auto done = cycle.read(chunk, images, turn.stop); !done) return done;
    history.insert(history.end(), chunk.begin(), chunk.end());
    for (const ImageSlot& slot : turn.prompt.images) {
        if (slot.firstToken >= start && slot.firstToken < end) {
            seen.push_back({slot.firstToken, slot.tokens, slot.key});
        }
    }
    return {};
}

// Reads what the caches lack of the prompt; the logits of its last token.
Result<std::vector<float>> Session::State::read(Turn& turn) {
    const Prompt& prompt = turn.prompt;
    const std::int64_t length = std::int64_t(prompt.ids.size());
    const std::int64_t cachedBefore = cycle.length();
    const std::int64_t common = commonPrefix(prompt);
    const std::int64_t start = goTo(common, length);

    Reading reading;
    reading.total = int(length - start);
    reading.cached = int(start);
    reading.whyAgain = whyAgain(prompt, common, start, cachedBefore);
    turn.finished.figures.readTokens = reading.total;
    turn.sink(reading);
    if (start == length) return *logitsAt(length);

    // A place to return to when the last message is edited: where its turn begins, or here if that
    // is only a few tokens on.
    constexpr std::int64_t kFewTokens = 16;
    const std::int64_t turnStart = prompt.turnStarts.empty() ? 0 : prompt.turnStarts.back();
    if (start > 0 && start <= turnStart && turnStart <= start + kFewTokens) {
        if (auto kept = keepPlace({}); !kept) return kept.error();
    }
    int pictureCount = 0;
    for (const ImageSlot& slot : prompt.images) {
        pictureCount += slot.firstToken + slot.tokens > start && !pictures.has(slot);
    }
    int pictureIndex = 0;
    while (cycle.length() < length) {
        std::int64_t end = std::min(length, cycle.length() + cycle.maxRows());
        const bool cut =
            turnStart > start + kFewTokens && cycle.length() < turnStart && turnStart < end;
        if (cut) end = turnStart;
        if (auto done = readChunk(turn, end, pictureIndex, pictureCount); !done)
            return done.error();
        if (cycle.length() == turnStart && turnStart > start + kFewTokens) {
            if (auto kept = keepPlace({}); !kept) return kept.error();
        }
        reading.done = int(cycle.length() - start);
        turn.sink(reading);
    }
    auto logits = cycle.logitsAfterRead();
    if (!logits) return logits.error();
    if (auto kept = keepPlace(*logits); !kept) return kept.error();
    return logits;
}

void Session::State::write(Turn& turn, std::span<const TokenId> tokens, bool& ended) {
    std::vector<TextDelta> deltas;
    for (const TokenId token : tokens) {
        turn.finished.ids.push_back(token);
        turn.sequence.push_back(token);
        turn.parser.push(token, deltas);
        if (turn.request.endsTurn && turn.request.endsTurn(token)) ended = true;
    }
    for (const TextDelta& delta : deltas) turn.sink(delta);
    if (turn.answerSince == 0 && turn.parser.answerBegun()) turn.answerSince = now();
}

Result<FinishReason> Session::State::writeAll(Turn& turn, std::vector<float> logits) {
    const std::int64_t context = cycle.context();
    const std::int64_t limit = turn.options.maxTokens > 0 ? turn.options.maxTokens : context;
    AnswerFigures& figures = turn.finished.figures;
    const auto atLimit = [&] {
        return turn.parser.answerBegun() ? FinishReason::Length : FinishReason::LengthWhileThinking;
    };
    bool ended = false;
    const std::int64_t promptLength = std::int64_t(turn.sequence.size());
    const TokenId first = pick(logits, turn.request, turn.sequence, promptLength);
    write(turn, std::span(&first, 1), ended);
    for (;;) {
        figures.writtenTokens = int(turn.finished.ids.size());
        figures.writeSeconds = now() - turn.writingSince;
        turn.sink(Progress{figures.writtenTokens, figures.draftedTokens, figures.acceptedTokens,
                           figures.cycles, figures.writeSeconds, int(cycle.length()),
                           turn.options.draftLength.automatic() && cycle.policy().paused(),
                           cycle.policy().gain()});
        if (ended) return FinishReason::Stop;
        // The whole sequence, the token to come included, fits the context.
        const std::int64_t room = std::min(limit - std::int64_t(turn.finished.ids.size()),
                                           context - std::int64_t(turn.sequence.size()));
        if (room <= 0) return atLimit();
        if (turn.stop.stop_requested()) return FinishReason::Cancelled;

        auto step = cycle.step(turn.sequence, turn.request, room, turn.stop);
        if (!step) return step.error();
        history.push_back(turn.sequence.back());
        history.insert(history.end(), step->tokens.begin(), step->tokens.end() - 1);
        ++figures.cycles;
        figures.draftedTokens += step->drafted;
        figures.acceptedTokens += step->accepted;
        write(turn, step->tokens, ended);
    }
}

Result<TurnFinished> Session::State::generate(const Prompt& prompt, const GenerateOptions& options,
                                              const Sink& sink, std::stop_token stop) {
    settle();
    if (auto good = check(prompt); !good) return good.error();
    Turn turn{prompt, options, sink, stop, StreamParser(*parts.tokenizer, prompt.replyPrefix), {}};
    turn.request.sampling = options.sampling;
    turn.request.seed = options.seed;
    turn.request.draftLength = options.draftLength;
    if (!options.ignoreEndTokens) {
        turn.request.endsTurn = [tokenizer = parts.tokenizer](TokenId id) {
            return tokenizer->endsTurn(id);
        };
    }
    turn.sequence = prompt.ids;
    turn.finished.figures.promptTokens = int(prompt.ids.size());
    turn.started = now();

    const auto run = [&]() -> Result<FinishReason> {
        auto logits = read(turn);
        turn.writingSince = now();
        turn.finished.figures.readSeconds = turn.writingSince - turn.started;
        if (!logits) return logits.error();
        return writeAll(turn, std::move(*logits));
    };
    auto reason = run();
    settle();
    if (!reason && reason.error().code != ErrorCode::Cancelled) return reason.error();
    turn.finished.reason = reason ? *reason : FinishReason::Cancelled;

    turn.parser.finish();
    const double end = now();
    AnswerFigures& figures = turn.finished.figures;
    if (!turn.finished.ids.empty()) {
        figures.writeSeconds = end - turn.writingSince;
        figures.thinkingSeconds =
            (turn.answerSince > 0 ? turn.answerSince : end) - turn.writingSince;
    }
    sink(turn.finished);
    return turn.finished;
}

Session::Session(const Parts& parts) : m(std::make_unique<State>(parts)) {}
Session::~Session() = default;

Result<TurnFinished> Session::generate(const Prompt& prompt, const GenerateOptions& options,
                                       const Sink& sink, std::stop_token stop) {
    try {
        return m->generate(prompt, options, sink, stop);
    } catch (const std::bad_alloc&) {
        // What the caches hold is known at every moment; the next call settles the rest.
        return Error{ErrorCode::OutOfMemory, "there is not enough memory to go on"};
    }
}

std::int64_t Session::cachedTokens() const {
    return m->cycle.length();
}
std::int64_t Session::picturesBytes() const {
    return m->pictures.bytes();
}

std::int64_t Session::placesBytes() const {
    std::int64_t bytes = 0;
    for (const State::ReturnPlace& place : m->places) bytes += place.place.bytes();
    return bytes;
}

const DraftPolicy& Session::drafting() const {
    return m->cycle.policy();
}

void Session::clear() {
    m->cycle.clear();
    m->places.clear();
    m->settle();
}

} // namespace engine

#pragma once
// Session: the token history and caches of one conversation on one model. Reading keeps what it can
// of the previous prompt: the common prefix is found by ids and picture keys, and only the rest is
// read.
//
// Engine thread. The engine owns the one session; the models outlive it.

#include "engine/base/result.h"
#include "engine/chat/prompt.h"
#include "engine/chat/turn_event.h"
#include "engine/runtime/engine.h"

#include <functional>
#include <memory>
#include <stop_token>

namespace engine {

class DraftCycle;
class DraftPolicy;
class VisionModel;

class Session {
public:
    using Sink = std::function<void(const TurnEvent&)>;

    // Reads the prompt and writes until the model ends its turn, a limit is reached or stop is
    // requested (which ends within one layer). TextDelta events are the reply parsed by recipient;
    // the last event is TurnFinished, also after a stop, with the ids so far. A conversation that
    // fills the context is refused with Unsupported. An error leaves the session usable: the next
    // call starts from what is still valid.
    Result<TurnFinished> generate(const Prompt& prompt, const GenerateOptions& options,
                                  const Sink& sink, std::stop_token stop);

    // Tokens now in the caches.
    std::int64_t cachedTokens() const;
    // Memory taken now by places to return to, and by the rows of pictures.
    std::int64_t placesBytes() const;
    std::int64_t picturesBytes() const;
    // What drafting costs and brings, over all answers since loading.
    const DraftPolicy& drafting() const;
    // Forgets everything; the next prompt is read from the beginning.
    void clear();

    ~Session();

private:
    friend class Engine;
    struct Parts { // lent by the engine
        Backend* backend = nullptr;
        const Tokenizer* tokenizer = nullptr;
        VisionModel* vision = nullptr; // null: no pictures
        DraftCycle* cycle = nullptr;
        std::int64_t vocabulary = 0;
        std::int64_t placeBytes = 0;   // most for places to return to
        std::int64_t pictureBytes = 0; // most for the rows of pictures seen
    };
    explicit Session(const Parts& parts);
    struct State;
    std::unique_ptr<State> m;
};

} // namespace engine

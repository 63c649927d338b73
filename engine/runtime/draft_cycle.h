#pragma once
// DraftCycle: draft, verify, accept, commit. The only place that knows of speculation: it keeps the
// target's and the drafter's caches in step, and everyone above sees one sequence that is read,
// written and rewound.
//
// One rule decides acceptance: a drafted token stays iff it is the token that the sampler picks
// from the target's own row at that position. The noise depends only on (seed, position, token), so
// the text is the same for every draft length, at every temperature.
//
// Engine thread. Owns both caches; the models, the backend and the tokenizer outlive it.

#include "engine/backend/backend.h"
#include "engine/chat/conversation.h" // DraftLength
#include "engine/model/draft_model.h"
#include "engine/model/text_model.h"
#include "engine/runtime/kv_cache.h"
#include "engine/runtime/sampler_table.h"
#include "engine/runtime/stats.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

namespace engine {

class SharedMemory; // buffer_layout.h

using TokenId = std::int32_t;

// How many tokens to draft, from what drafting costs and brings. Only the width of a cycle depends
// on it, never the text.
class DraftPolicy {
public:
    explicit DraftPolicy(int most) : m_most(most) {} // most: the drafter's block without its anchor

    // The number of drafts for the next cycle.
    int next(DraftLength wish);

    struct Cycle {
        int drafted = 0;
        int accepted = 0;
        double seconds = 0; // making the drafts, the target's pass and the choice of tokens
        bool ended = false; // the turn ended: the draft after the accepted ones was not judged
    };
    void record(const Cycle& cycle);
    // First values, measured while loading: the target's pass over one row and over `rows` > 1, and
    // the drafts for it.
    void seed(double singleSeconds, int rows, double rowsSeconds, double draftSeconds);

    int most() const { return m_most; }
    bool paused() const { return m_pausedTokens > 0; }
    // Speed now against writing token by token, both measured; 0: not known yet.
    double gain() const;
    // Tokens that a cycle with so many drafts brings on average, by what was seen.
    double expectedTokens(int drafts) const;

private:
    int best() const;
    double speed(int drafts) const;

    // Tokens without drafting before the next probe: twice as many after each fruitless one, so
    // that probing costs less than a twentieth where drafts never fit.
    static constexpr int kPause = 64;
    static constexpr int kSeedWeight = 2; // of the single step's first value, in steps
    static constexpr int kLongestPause = 256;
    static constexpr int kProbeCycles = 4;
    static constexpr int kSingleEvery = 512; // tokens after which the single step is measured again
    static constexpr int kWidenEvery = 16;   // cycles after which a wider one is tried

    int m_most = 0;
    RunningMean m_single; // seconds of a cycle without drafts; 0: not known yet
    PassTimes m_times;    // of a cycle with drafts, by rows of its pass
    // Chance that draft i is accepted where all before it were.
    std::array<RunningMean, PassTimes::kMaxRows> m_survival = filled();
    SpeedMeter m_speed;
    int m_current = 0;
    int m_pausedTokens = 0;
    int m_pause = kPause;            // the next one
    int m_probesLeft = kProbeCycles; // it looks before it pauses for the first time
    int m_sinceSingle = kSingleEvery;
    int m_cycles = 0;

    static std::array<RunningMean, PassTimes::kMaxRows> filled();
};

class DraftCycle {
public:
    struct Parts {
        Backend* backend = nullptr;
        TextModel* target = nullptr;
        DraftModel* drafter = nullptr; // null: no drafting
        std::unique_ptr<KvCache> cache;
        std::unique_ptr<KvCache> draftCache; // null without a drafter
        int maxRows = 0;                     // most rows of one read
        // Where hidden rows for the drafter lie, from its allocation on; null: in own memory.
        SharedMemory* shared = nullptr;
    };
    static Result<std::unique_ptr<DraftCycle>> make(Parts parts);

    // Rows of one cycle at most: what the target and its cache must hold at once.
    static constexpr int kMaxRows = DraftLength::kMax + 1;
    // Rows that the drafter must be able to take in at once.
    static int contextRows(int maxRows) { return std::max(maxRows, 4 * kMaxRows); }

    // What an answer asks for.
    struct Request {
        SamplerSettings sampling;
        std::uint64_t seed = 0;
        DraftLength draftLength;
        std::function<bool(TokenId)>
            endsTurn; // nothing is written after such a token; may be empty
    };

    // ---- the sequence

    std::int64_t length() const { return m_cache->length(); } // positions in the caches
    std::int64_t context() const { return m_cache->shape().context; }
    int maxRows() const { return m_maxRows; }
    std::int64_t workingBytes() const { // of own memory
        return m_tapMemory.bytes() + m_chosen.bytes();
    }
    const KvCache& cache() const { return *m_cache; }
    const KvCache* draftCache() const { return m_draftCache.get(); }

    // Reads tokens (and the picture rows among them) at length() ..; at most maxRows of them.
    // Cancelled or failed: nothing of this call is kept.
    Result<void> read(std::span<const TokenId> ids,
                      std::span<const TextModel::Input::ImageRows> images, std::stop_token stop);
    // To be called before pictures are encoded in the same shared memory: nothing of this cycle's
    // is there afterwards.
    Result<void> leaveSharedMemory() { return projectPending(); }
    // The logits after the last token of the last read, on the host: F32 [vocabulary].
    Result<std::vector<float>> logitsAfterRead();

    struct Step {
        std::vector<TokenId> tokens; // written by this cycle, at least one
        int drafted = 0;             // and judged: those behind an end of the turn do not count
        int accepted = 0;
    };
    // One cycle. `history`: all tokens so far, the last of which is written but not yet in the
    // caches: history.size() == length() + 1. `room`: most tokens to write, at least 1; the context
    // must hold them all but the last. Cancelled or failed: nothing is kept.
    Result<Step> step(std::span<const TokenId> history, const Request& request, std::int64_t room,
                      std::stop_token stop);

    // ---- going back

    bool canRewind(std::int64_t length) const;
    void rewind(std::int64_t length); // CHECKs canRewind
    void clear();

    struct Place { // see KvCache::Snapshot, also for how long it stays good
        KvCache::Snapshot target;
        std::optional<KvCache::Snapshot> draft;
        std::int64_t length() const { return target.length; }
        std::int64_t bytes() const { return target.bytes() + (draft ? draft->bytes() : 0); }
    };
    // The most that a place takes.
    std::int64_t placeBytes() const;
    Result<Place> mark();
    void returnTo(const Place& place);

    // ---- measuring

    const DraftPolicy& policy() const { return m_policy; }
    // Seconds of one target pass over so many rows at length(), logits and choice included, and of
    // one drafter pass. Nothing is kept. For benchmarks and the first guess at loading.
    Result<double> timePass(int rows, TokenId anyToken, std::stop_token stop);
    Result<double> timeDraft(TokenId anyToken, std::stop_token stop);
    // Runs each kind of pass, so that its memory is touched and its time roughly known. The caches
    // must be empty and are again afterwards. InvalidFile if the model's values are not numbers.
    Result<void> warmUp(TokenId anyToken, std::stop_token stop);

private:
    explicit DraftCycle(Parts parts);
    Result<void> projectPending();
    // Puts the anchor and `count` drafts after it into m_block and returns those rows. Nothing
    // comes to the host.
    Result<Tensor> draftBlock(TokenId anchor, int count, std::stop_token stop);
    Result<void> forward(TextModel::Input input, std::stop_token stop);
    Result<std::vector<TokenId>> likeliest(std::int64_t rows); // after each of the last forward
    // The choice after each row of the last forward, one at a time. choose(i, before) is asked in
    // ascending order.
    class RowChoice;

    Backend& m_backend;
    TextModel& m_target;
    DraftModel* m_drafter = nullptr;
    std::unique_ptr<KvCache> m_cache;
    std::unique_ptr<KvCache> m_draftCache;
    int m_maxRows = 0;
    std::int64_t m_lastRows = 0; // of the last forward

    // Taps of committed positions that the drafter has not taken in yet lie in the first rows; a
    // pass puts its own behind them. Position of row 0: m_draftCache->length().
    Buffer m_tapMemory;
    Tensor m_taps; // F32 [tap rows, taps * width]; empty without a drafter
    // Where small passes leave their taps while others are pending: always the same rows, so that
    // they can be replayed. With none pending the first rows of m_taps are that, too.
    Tensor m_passTaps; // F32 [kMaxRows, taps * width]
    std::int64_t m_pending = 0;

    Buffer m_chosen;          // the three below
    Tensor m_block;           // I32 [kMaxRows, 1]: an anchor and its drafts
    Tensor m_ids;             // I32 [kMaxRows, Backend::kMaxTop]
    Tensor m_values;          // F32 [kMaxRows, Backend::kMaxTop]
    std::vector<float> m_row; // one row of logits on the host
    DraftPolicy m_policy;
};

// The token that the sampler picks from a row at `position`, with `before` the tokens before it.
TokenId pick(std::span<const float> logits, const DraftCycle::Request& request,
             std::span<const TokenId> before, std::int64_t position);

} // namespace engine

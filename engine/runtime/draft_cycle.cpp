#include "engine/runtime/draft_cycle.h"

#include "engine/model/buffer_layout.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

namespace engine {

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// The beginning of a line of results as rows without gaps.
Tensor shaped(const Tensor& line, std::int64_t rows, std::int64_t columns) {
    CHECK(rows * columns <= line.columns);
    return {line.data, line.type, rows, columns, elementBytes(line.type, columns)};
}

template<class T> std::span<std::byte> bytesOf(std::vector<T>& values) {
    return std::as_writable_bytes(std::span(values));
}

// What a measured time counts as beside the known one (0: none). The first step after a pause finds
// cold caches and sleeping threads, and any step may be interrupted: nothing counts more than
// twice.
double believed(double seconds, double known) {
    return known > 0 ? std::min(seconds, 2 * known) : seconds;
}

// The least of a few measurements. A short pass is measured more often: it is the one that a cold
// start or an interruption makes several times as long.
Result<double> leastOf(const std::function<Result<double>()>& measure) {
    constexpr int kMost = 4;
    constexpr double kEnough = 0.2; // seconds of all together
    double least = 0, all = 0;
    for (int i = 0; i < kMost && all < kEnough; ++i) {
        auto seconds = measure();
        if (!seconds) return seconds;
        least = i == 0 ? *seconds : std::min(least, *seconds);
        all += *seconds;
    }
    return least;
}

} // namespace

// ---- DraftPolicy

std::array<RunningMean, PassTimes::kMaxRows> DraftPolicy::filled() {
    // Before anything was seen: three drafts of four go on, worth two cycles of evidence.
    std::array<RunningMean, PassTimes::kMaxRows> out;
    out.fill(RunningMean(0.75, 2, 0.06));
    return out;
}

void DraftPolicy::seed(double singleSeconds, int rows, double rowsSeconds, double draftSeconds) {
    CHECK(rows > 1);
    m_single = RunningMean(singleSeconds, kSeedWeight, 0.1);
    m_times.seed(rows, rowsSeconds + draftSeconds);
    const double perRow = (rowsSeconds - singleSeconds) / (rows - 1);
    m_times.seed(2, singleSeconds + perRow + draftSeconds);
}

double DraftPolicy::expectedTokens(int drafts) const {
    double tokens = 1;
    double reached = 1;
    for (int i = 0; i < drafts; ++i) {
        reached *= m_survival[std::size_t(i)].value();
        tokens += reached;
    }
    return tokens;
}

double DraftPolicy::speed(int drafts) const {
    const double seconds = drafts > 0 ? m_times.at(drafts + 1) : m_single.value();
    return seconds > 0 ? expectedTokens(drafts) / seconds : 0;
}

int DraftPolicy::best() const {
    if (m_single.value() <= 0) return m_most;
    int found = 0;
    double highest = speed(0);
    for (int drafts = 1; drafts <= m_most; ++drafts) {
        // The width in use wins near ties, so that noise in the times does not move it about.
        const double value = speed(drafts) * (drafts == m_current ? 1.02 : 1.0);
        if (value > highest) {
            highest = value;
            found = drafts;
        }
    }
    return found;
}

int DraftPolicy::next(DraftLength wish) {
    if (!wish.automatic()) {
        m_pausedTokens = 0;
        m_current = std::clamp(wish.tokens, 0, m_most);
        return m_current;
    }
    if (m_most == 0 || m_pausedTokens > 0) return 0;
    // The single step is what drafting is compared with, so it is measured now and then.
    if (m_sinceSingle >= kSingleEvery) return 0;
    int choice = best();
    if (choice == 0) {
        if (m_probesLeft == 0) {
            m_pausedTokens = m_pause;
            m_pause = std::min(2 * m_pause, kLongestPause);
            return 0;
        }
        choice = std::min(3, m_most);
    } else {
        m_current = choice;
        m_pause = kPause;
        // Chances beyond the width in use are never seen otherwise.
        if (m_cycles % kWidenEvery == kWidenEvery - 1) choice = std::min(choice + 4, m_most);
    }
    return choice;
}

void DraftPolicy::record(const Cycle& cycle) {
    ++m_cycles;
    const int tokens = cycle.accepted + 1;
    m_speed.add(tokens, cycle.seconds);
    if (cycle.drafted == 0) {
        m_single.add(believed(cycle.seconds, m_single.value()));
        m_sinceSingle = 0;
        if (m_pausedTokens > 0 && (m_pausedTokens -= tokens) <= 0) {
            m_pausedTokens = 0;
            m_probesLeft = kProbeCycles;
            for (RunningMean& chance : m_survival) chance.loosen(2);
        }
        return;
    }
    m_sinceSingle += tokens;
    m_times.add(cycle.drafted + 1, believed(cycle.seconds, m_times.at(cycle.drafted + 1)));
    if (m_probesLeft > 0) --m_probesLeft;
    const int judged = std::min(cycle.drafted, cycle.accepted + (cycle.ended ? 0 : 1));
    for (int i = 0; i < judged; ++i) {
        m_survival[std::size_t(i)].add(i < cycle.accepted ? 1.0 : 0.0);
    }
}

double DraftPolicy::gain() const {
    return m_most > 0 ? m_speed.tokensPerSecond() * m_single.value() : 0;
}

// ---- DraftCycle

DraftCycle::DraftCycle(Parts parts)
    : m_backend(*parts.backend), m_target(*parts.target), m_drafter(parts.drafter),
      m_cache(std::move(parts.cache)), m_draftCache(std::move(parts.draftCache)),
      m_maxRows(parts.maxRows),
      m_policy(parts.drafter ? std::min(parts.drafter->spec().blockSize - 1, DraftLength::kMax)
                             : 0) {}

Result<std::unique_ptr<DraftCycle>> DraftCycle::make(Parts parts) {
    CHECK(parts.backend && parts.target && parts.cache && parts.maxRows > 0);
    CHECK((parts.drafter == nullptr) == (parts.draftCache == nullptr));
    CHECK(parts.target->maxRows() >= std::max(parts.maxRows, kMaxRows));
    CHECK(parts.cache->shape().maxBatch >= std::max(parts.maxRows, kMaxRows));
    SharedMemory* const shared = parts.shared;
    std::unique_ptr<DraftCycle> cycle(new DraftCycle(std::move(parts)));
    const std::int64_t top = std::int64_t(kMaxRows) * Backend::kMaxTop;
    const std::int64_t topBytes = elementBytes(ElementType::I32, top);
    auto chosen = cycle->m_backend.allocate(2 * topBytes + elementBytes(ElementType::I32, kMaxRows),
                                            "chosen tokens");
    if (!chosen) return chosen.error();
    cycle->m_chosen = std::move(*chosen);
    cycle->m_ids = cycle->m_chosen.tensor(ElementType::I32, 1, top);
    cycle->m_values = cycle->m_chosen.tensor(ElementType::F32, 1, top, topBytes);
    cycle->m_block = cycle->m_chosen.tensor(ElementType::I32, kMaxRows, 1, 2 * topBytes);
    if (cycle->m_drafter) {
        const DraftSpec& spec = cycle->m_drafter->spec();
        const std::int64_t columns = std::int64_t(spec.taps.size()) * cycle->m_target.spec().width;
        const std::int64_t rows = contextRows(cycle->m_maxRows) + kMaxRows;
        auto memory = allocateOrShare(
            cycle->m_backend, "hidden states for the drafter", shared, SharedMemory::Phase::Words,
            [at = cycle.get(), rows, columns](BufferLayout& layout) {
                const Tensor all = layout.add(ElementType::F32, rows, columns);
                if (all.empty()) return;
                at->m_taps = all.rowRange(0, rows - kMaxRows);
                at->m_passTaps = all.rowRange(rows - kMaxRows, kMaxRows);
            });
        if (!memory) return memory.error();
        cycle->m_tapMemory = std::move(*memory);
    }
    return cycle;
}

Result<void> DraftCycle::forward(TextModel::Input input, std::stop_token stop) {
    const std::int64_t count =
        input.deviceIds.empty() ? std::int64_t(input.ids.size()) : input.deviceIds.rows;
    input.firstPosition = length();
    m_lastRows = count;
    if (!m_drafter) return m_target.forward(input, *m_cache, {}, stop);

    if (m_pending + count > m_taps.rows) {
        if (auto done = projectPending(); !done) return done;
    }
    const Tensor place = m_taps.rowRange(m_pending, count);
    // A small pass is recorded with the place of its taps, so it has few of them.
    const bool apart = count <= kMaxRows && m_pending > 0;
    const TextModel::Taps taps{m_drafter->spec().taps,
                               apart ? m_passTaps.rowRange(0, count) : place};
    auto done = m_target.forward(input, *m_cache, taps, stop);
    if (done && apart) m_backend.copy(taps.out, place);
    return done;
}

// Without a stop token: it takes a small part of the time of one layer of the pass that made the
// taps, and the drafter's cache never falls out of step.
Result<void> DraftCycle::projectPending() {
    if (m_pending == 0) return {};
    auto done = m_drafter->appendContext(m_taps.rowRange(0, m_pending), m_draftCache->length(),
                                         *m_draftCache, std::stop_token());
    if (done) m_pending = 0;
    return done;
}

Result<void> DraftCycle::read(std::span<const TokenId> ids,
                              std::span<const TextModel::Input::ImageRows> images,
                              std::stop_token stop) {
    CHECK(!ids.empty() && std::int64_t(ids.size()) <= m_maxRows);
    if (auto done = forward({ids, 0, images, {}}, stop); !done) return done;
    const std::int64_t before = length();
    m_cache->commit(before + std::int64_t(ids.size()));
    if (!m_drafter) return {};
    m_pending += std::int64_t(ids.size());
    auto done = projectPending();
    if (!done) rewind(before);
    return done;
}

Result<std::vector<float>> DraftCycle::logitsAfterRead() {
    CHECK(m_lastRows > 0);
    const Tensor row = m_target.logits(m_lastRows - 1, 1);
    std::vector<float> out(std::size_t(row.columns));
    if (auto done = m_backend.copyOut(row, bytesOf(out)); !done) return done.error();
    return out;
}

Result<std::vector<TokenId>> DraftCycle::likeliest(std::int64_t rows) {
    const Tensor ids = shaped(m_ids, rows, 1);
    m_target.largest(0, rows, {}, ids);
    std::vector<TokenId> out(static_cast<std::size_t>(rows));
    if (auto done = m_backend.copyOut(ids, bytesOf(out)); !done) return done.error();
    return out;
}

// Brings to the host as little of the logits as the sampler needs: a token a row, or a few largest
// values, or row by row the whole.
class DraftCycle::RowChoice {
public:
    static Result<RowChoice> make(DraftCycle& cycle, const Request& request) {
        const std::int64_t rows = cycle.m_lastRows;
        RowChoice choice(cycle, request);
        choice.m_top = std::min<std::int64_t>(decidingLogits(request.sampling),
                                              cycle.m_target.spec().vocabulary);
        if (choice.m_top == 1) {
            auto ids = cycle.likeliest(rows);
            if (!ids) return ids.error();
            choice.m_ids = std::move(*ids);
        } else if (choice.m_top > 1 && choice.m_top <= Backend::kMaxTop) {
            const Tensor values = shaped(cycle.m_values, rows, choice.m_top);
            const Tensor ids = shaped(cycle.m_ids, rows, choice.m_top);
            cycle.m_target.largest(0, rows, values, ids);
            choice.m_values.resize(static_cast<std::size_t>(rows * choice.m_top));
            choice.m_ids.resize(choice.m_values.size());
            if (auto done = cycle.m_backend.copyOut(values, bytesOf(choice.m_values)); !done)
                return done.error();
            if (auto done = cycle.m_backend.copyOut(ids, bytesOf(choice.m_ids)); !done)
                return done.error();
        } else {
            choice.m_logits = cycle.m_target.logits(0, rows);
        }
        return choice;
    }

    Result<TokenId> choose(std::int64_t row, std::span<const TokenId> before,
                           std::int64_t position) {
        if (m_top == 1) return m_ids[std::size_t(row)];
        if (!m_ids.empty()) {
            const auto first = std::size_t(row * m_top), count = std::size_t(m_top);
            return sampleFromLargest(std::span(m_values).subspan(first, count),
                                     std::span(m_ids).subspan(first, count), m_request.sampling,
                                     m_request.seed, position);
        }
        m_cycle.m_row.resize(std::size_t(m_logits.columns));
        auto done = m_cycle.m_backend.copyOut(m_logits.rowRange(row, 1), bytesOf(m_cycle.m_row));
        if (!done) return done.error();
        return pick(m_cycle.m_row, m_request, before, position);
    }

private:
    RowChoice(DraftCycle& cycle, const Request& request) : m_cycle(cycle), m_request(request) {}

    DraftCycle& m_cycle;
    const Request& m_request;
    Tensor m_logits;        // where rows come to the host as they are asked for
    std::int64_t m_top = 0; // logits of a row on the host; 0: none yet
    std::vector<TokenId> m_ids;
    std::vector<float> m_values;
};

Result<Tensor> DraftCycle::draftBlock(TokenId anchor, int count, std::stop_token stop) {
    if (auto done = projectPending(); !done) return done.error();
    const Tensor drafts = m_block.rowRange(1, count);
    if (auto done = m_drafter->draftTokens(anchor, *m_draftCache, stop, drafts); !done)
        return done.error();
    m_backend.copyIn(std::as_bytes(std::span(&anchor, 1)), m_block.rowRange(0, 1));
    return m_block.rowRange(0, count + 1);
}

TokenId pick(std::span<const float> logits, const DraftCycle::Request& request,
             std::span<const TokenId> before, std::int64_t position) {
    return sampleToken(logits, request.sampling, before, request.seed, position);
}

Result<DraftCycle::Step> DraftCycle::step(std::span<const TokenId> history, const Request& request,
                                          std::int64_t room, std::stop_token stop) {
    const std::int64_t position = length(); // of the anchor
    CHECK(std::int64_t(history.size()) == position + 1 && room >= 1 && position < context());
    const double start = now();

    const std::int64_t most = std::min(room - 1, context() - 1 - position);
    const int wanted = int(std::min<std::int64_t>(m_policy.next(request.draftLength), most));
    std::vector<TokenId> sequence(history.begin(),
                                  history.end()); // with the drafts that proved right
    TextModel::Input input;
    input.ids = history.last(1);
    if (wanted > 0) {
        auto block = draftBlock(history.back(), wanted, stop);
        if (!block) return block.error();
        input.deviceIds = *block;
    }
    if (auto done = forward(input, stop); !done) return done.error();
    // The first wait: drafts and choices come to the host together.
    auto choice = RowChoice::make(*this, request);
    if (!choice) return choice.error();
    std::vector<TokenId> drafts(static_cast<std::size_t>(wanted));
    if (wanted > 0) {
        auto done = m_backend.copyOut(m_block.rowRange(1, wanted), bytesOf(drafts));
        if (!done) return done.error();
    }

    // Row i chooses the token at position + 1 + i. The sampler sees the same tokens before it as it
    // would without drafting, because the drafts before row i were accepted.
    Step step;
    step.drafted = wanted;
    bool ended = false;
    for (std::size_t i = 0; i <= drafts.size(); ++i) {
        auto chosen = choice->choose(std::int64_t(i), sequence, position + 1 + std::int64_t(i));
        if (!chosen) return chosen.error();
        const TokenId token = *chosen;
        step.tokens.push_back(token);
        sequence.push_back(token);
        const bool accepted = i < drafts.size() && token == drafts[i];
        if (accepted) ++step.accepted;
        const bool ends = request.endsTurn && request.endsTurn(token);
        if (ends) step.drafted = std::min(wanted, int(i) + 1);
        ended = ends && accepted;
        if (!accepted || ends) break;
    }

    // The anchor and the tokens written before the last one were in the pass; the last is the next
    // anchor.
    const std::int64_t kept = std::int64_t(step.tokens.size());
    m_cache->commit(position + kept);
    if (m_drafter) m_pending += kept;
    m_policy.record({wanted, step.accepted, now() - start, ended});
    return step;
}

bool DraftCycle::canRewind(std::int64_t length) const {
    if (!m_cache->canRewind(length)) return false;
    return !m_drafter || length >= m_draftCache->length() || m_draftCache->canRewind(length);
}

void DraftCycle::rewind(std::int64_t length) {
    CHECK(canRewind(length));
    m_cache->rewind(length);
    if (!m_drafter) return;
    m_pending = std::max<std::int64_t>(0, length - m_draftCache->length());
    if (length < m_draftCache->length()) m_draftCache->rewind(length);
}

void DraftCycle::clear() {
    m_cache->clear();
    if (m_draftCache) m_draftCache->clear();
    m_pending = 0;
}

std::int64_t DraftCycle::placeBytes() const {
    const auto rings = [](const KvShape& shape) {
        std::int64_t layers = 0;
        for (const bool sliding : shape.sliding) layers += sliding;
        return layers * std::min<std::int64_t>(shape.window, shape.ringRows()) * shape.rowBytes();
    };
    return rings(m_cache->shape()) + (m_draftCache ? rings(m_draftCache->shape()) : 0);
}

Result<DraftCycle::Place> DraftCycle::mark() {
    if (auto done = projectPending(); !done) return done.error();
    auto target = m_cache->snapshot();
    if (!target) return target.error();
    Place place{std::move(*target), std::nullopt};
    if (m_drafter) {
        auto draft = m_draftCache->snapshot();
        if (!draft) return draft.error();
        place.draft = std::move(*draft);
    }
    return place;
}

void DraftCycle::returnTo(const Place& place) {
    m_cache->restore(place.target);
    if (!m_drafter) return;
    CHECK(place.draft.has_value());
    m_draftCache->restore(*place.draft);
    m_pending = 0;
}

Result<double> DraftCycle::timePass(int rows, TokenId anyToken, std::stop_token stop) {
    CHECK(rows >= 1 && rows <= kMaxRows && length() + rows <= context());
    const std::vector<TokenId> ids(std::size_t(rows), anyToken);
    const double start = now();
    if (auto done = forward({ids, 0, {}, {}}, stop); !done) return done.error();
    if (auto done = likeliest(rows); !done) return done.error();
    return now() - start;
}

Result<double> DraftCycle::timeDraft(TokenId anyToken, std::stop_token stop) {
    CHECK(m_drafter);
    const double start = now();
    auto block =
        draftBlock(anyToken, std::min(m_drafter->spec().blockSize - 1, DraftLength::kMax), stop);
    if (!block) return block.error();
    if (auto done = m_backend.synchronize(); !done) return done.error();
    return now() - start;
}

Result<void> DraftCycle::warmUp(TokenId anyToken, std::stop_token stop) {
    CHECK(length() == 0);
    const std::vector<TokenId> one{anyToken};
    if (auto done = read(one, {}, stop); !done) return done;
    auto row = logitsAfterRead();
    if (!row) return row.error();
    if (!std::all_of(row->begin(), row->end(), [](float value) { return std::isfinite(value); })) {
        return Error{ErrorCode::InvalidFile,
                     "the model computes values that are not numbers; the file is "
                     "probably damaged"};
    }
    if (m_drafter && context() > 2 * kMaxRows) {
        auto draft = leastOf([&] { return timeDraft(anyToken, stop); });
        if (!draft) return draft.error();
        const int widest = m_policy.most() + 1;
        auto wide = leastOf([&] { return timePass(widest, anyToken, stop); });
        if (!wide) return wide.error();
        auto single = leastOf([&] { return timePass(1, anyToken, stop); });
        if (!single) return single.error();
        m_policy.seed(*single, widest, *wide, *draft);
    }
    clear();
    return {};
}

} // namespace engine

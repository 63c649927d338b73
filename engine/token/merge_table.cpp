#include "engine/token/merge_table.h"

#include <bit>
#include <functional>
#include <queue>

namespace engine {

namespace {

// Longer words use a heap; the plain search is faster below this and quadratic above.
constexpr std::size_t kShortWord = 48;

} // namespace

MergeTable::MergeTable(std::size_t merges) : m_places(std::bit_ceil(merges * 2 + 2)) {}

std::size_t MergeTable::place(TokenId left, TokenId right) const {
    // A product by an odd constant spreads the pair over the upper bits (Fibonacci hashing).
    const std::uint64_t pair =
        (static_cast<std::uint64_t>(left) << 32) | static_cast<std::uint32_t>(right);
    const std::uint64_t hash = (pair ^ (pair >> 29)) * 0x9E3779B97F4A7C15ULL;
    const std::size_t mask = m_places.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash >> 32) & mask;
    while (m_places[at].left != kNoToken &&
           (m_places[at].left != left || m_places[at].right != right)) {
        at = (at + 1) & mask;
    }
    return at;
}

void MergeTable::insert(TokenId left, TokenId right, std::uint32_t rank, TokenId result) {
    Merge& merge = m_places[place(left, right)];
    if (merge.left == kNoToken) merge = {left, right, rank, result};
}

const MergeTable::Merge* MergeTable::find(TokenId left, TokenId right) const {
    const Merge& merge = m_places[place(left, right)];
    return merge.left == kNoToken ? nullptr : &merge;
}

void MergeTable::apply(std::vector<TokenId>& ids) const {
    if (ids.size() < 2) return;
    if (ids.size() <= kShortWord)
        applyShort(ids);
    else
        applyLong(ids);
}

void MergeTable::applyShort(std::vector<TokenId>& ids) const {
    const Merge* merges[kShortWord] = {}; // of ids[i] with ids[i + 1]
    std::size_t count = ids.size();
    for (std::size_t i = 0; i + 1 < count; ++i) merges[i] = find(ids[i], ids[i + 1]);
    for (;;) {
        std::size_t best = count;
        std::uint32_t bestRank = kNoMerge;
        for (std::size_t i = 0; i + 1 < count; ++i) {
            if (merges[i] && merges[i]->rank < bestRank) {
                best = i;
                bestRank = merges[i]->rank;
            }
        }
        if (best == count) break;
        ids[best] = merges[best]->result;
        for (std::size_t i = best + 1; i + 1 < count; ++i) {
            ids[i] = ids[i + 1];
            merges[i] = merges[i + 1];
        }
        --count;
        merges[best] = best + 1 < count ? find(ids[best], ids[best + 1]) : nullptr;
        if (best > 0) merges[best - 1] = find(ids[best - 1], ids[best]);
    }
    ids.resize(count);
}

void MergeTable::applyLong(std::vector<TokenId>& ids) const {
    // A doubly linked list over the word; a merge removes its right place. The heap holds rank and
    // place of every pair that was ever seen; an entry is out of date when the pair now at its
    // place has another rank, since a rank belongs to one pair only.
    struct Symbol {
        std::uint32_t previous;
        std::uint32_t next;
        std::uint32_t rank; // of the merge with `next`
    };
    constexpr std::uint32_t kEnd = UINT32_MAX;
    const auto count = static_cast<std::uint32_t>(ids.size());
    std::vector<Symbol> symbols(count);
    std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> waiting;

    const auto look = [&](std::uint32_t at) {
        Symbol& symbol = symbols[at];
        const Merge* merge = symbol.next == kEnd ? nullptr : find(ids[at], ids[symbol.next]);
        symbol.rank = merge ? merge->rank : kNoMerge;
        if (merge) waiting.push((static_cast<std::uint64_t>(merge->rank) << 32) | at);
    };
    for (std::uint32_t i = 0; i < count; ++i) {
        symbols[i] = {i == 0 ? kEnd : i - 1, i + 1 < count ? i + 1 : kEnd, kNoMerge};
    }
    for (std::uint32_t i = 0; i < count; ++i) look(i);

    while (!waiting.empty()) {
        const auto rank = static_cast<std::uint32_t>(waiting.top() >> 32);
        const auto at = static_cast<std::uint32_t>(waiting.top());
        waiting.pop();
        Symbol& symbol = symbols[at];
        if (symbol.rank != rank) continue;
        const std::uint32_t right = symbol.next;
        ids[at] = find(ids[at], ids[right])->result;
        symbol.next = symbols[right].next;
        symbols[right].rank = kNoMerge; // gone: its waiting entries no longer count
        if (symbol.next != kEnd) symbols[symbol.next].previous = at;
        look(at);
        if (symbol.previous != kEnd) look(symbol.previous);
    }

    std::size_t kept = 0;
    for (std::uint32_t i = 0; i != kEnd; i = symbols[i].next) ids[kept++] = ids[i];
    ids.resize(kept);
}

} // namespace engine

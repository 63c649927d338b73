#pragma once
// The merges of a byte-level BPE: which two tokens join, how early, and into what. One
// open-addressed table, because this is asked several times for every byte of a text.

#include "engine/token/special_tokens.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace engine {

class MergeTable {
public:
    static constexpr std::uint32_t kNoMerge = UINT32_MAX;

    struct Merge {
        TokenId left = kNoToken; // kNoToken: an empty place
        TokenId right = kNoToken;
        std::uint32_t rank = kNoMerge; // smaller first
        TokenId result = kNoToken;
    };

    // For at most `merges` insertions.
    explicit MergeTable(std::size_t merges = 0);
    // The first insertion of a pair wins.
    void insert(TokenId left, TokenId right, std::uint32_t rank, TokenId result);
    // Null if the pair does not merge.
    const Merge* find(TokenId left, TokenId right) const;

    // Merges the tokens of one word, each a byte at first: always the pair of lowest rank, of equal
    // ones the leftmost. Shortens `ids` in place. n log n for long words.
    void apply(std::vector<TokenId>& ids) const;

private:
    std::size_t place(TokenId left, TokenId right) const;
    void applyShort(std::vector<TokenId>& ids) const;
    void applyLong(std::vector<TokenId>& ids) const;

    std::vector<Merge> m_places; // a power of two, at most half full
};

} // namespace engine

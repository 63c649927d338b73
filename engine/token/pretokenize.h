#pragma once
// Splits text into the words inside which BPE merges. A scanner written by hand for one expression
// (PRE_REGEX in tests/fixtures/oracle/oracle_text.py): alternatives in order, the first that
// matches wins, with the backtracking that this implies.

#include <cstddef>
#include <string_view>
#include <vector>

namespace engine {

enum class SplitForm {
    Category, // letter classes by Unicode category: the model's own
    Ggml, // "a letter that is not a-z": differs for cased letters beyond ASCII and combining marks
};

// Lengths in bytes of consecutive words that cover `text`. Bytes that are not UTF-8 count as
// characters that are neither letter, number nor space.
std::vector<std::size_t> splitWords(std::string_view text, SplitForm form = SplitForm::Category);

} // namespace engine

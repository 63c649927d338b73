#pragma once
// Search in titles, messages and file names with SQLite's FTS5, over the index tables of the
// schema.
//
// Disk thread.

#include "app/store/sqlite.h"
#include "engine/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace app {

struct SearchOptions {
    bool thinking = false; // also in the thinking of answers
    bool trash = false;    // also in chats that are in the trash
    int limit = 100;
};

struct SearchHit {
    std::int64_t chatId = 0;
    std::int64_t messageId = 0; // 0: the title
    std::string title;          // of the chat
    // The line with the words, each between kMarkBegin and kMarkEnd; for file names the names.
    std::string snippet;
    bool operator==(const SearchHit&) const = default;
};

// Control characters that text never holds after being shortened to a snippet.
inline constexpr char kMarkBegin = '\x02';
inline constexpr char kMarkEnd = '\x03';

// Every word must occur, the last one perhaps unfinished. Text without spaces between words
// (Chinese, Japanese, Thai ...) is found anywhere inside a line. Empty for words without letters or
// digits.
engine::Result<std::vector<SearchHit>> searchHistory(Database& database, std::string_view words,
                                                     const SearchOptions& options);

} // namespace app

#include "app/store/search.h"

#include <QString>
#include <QStringList>

#include <algorithm>

namespace app {

using engine::Result;

namespace {

// Scripts that put no spaces between words: the index holds a whole run of them as one word.
bool isUnspaced(char32_t character) {
    switch (QChar::script(character)) {
    case QChar::Script_Han:
    case QChar::Script_Hiragana:
    case QChar::Script_Katakana:
    case QChar::Script_Thai:
    case QChar::Script_Lao:
    case QChar::Script_Khmer:
    case QChar::Script_Myanmar: return true;
    default: return false;
    }
}

struct Words {
    QStringList list;
    bool unspaced = false;
};

Words wordsOf(std::string_view typed) {
    Words words;
    QString current;
    const auto end = [&] {
        if (!current.isEmpty()) words.list.append(current);
        current.clear();
    };
    const QString text = QString::fromUtf8(typed.data(), static_cast<qsizetype>(typed.size()));
    for (const uint character : text.toUcs4()) {
        // Marks belong to the letter before them. Everything else only separates: the typed text is
        // never read as a query language.
        if (QChar::isLetterOrNumber(character) || QChar::isMark(character)) {
            current.append(QStringView(QChar::fromUcs4(character)));
            words.unspaced = words.unspaced || isUnspaced(character);
        } else {
            end();
        }
    }
    end();
    return words;
}

std::string matchExpression(const Words& words, const char* columns) {
    QStringList terms;
    for (const QString& word : words.list) terms.append(QStringLiteral("\"%1\"*").arg(word));
    return std::string(columns) + "(" + terms.join(QStringLiteral(" AND ")).toStdString() + ")";
}

// For text without spaces: the line with the first word, marked.
std::string markLine(const std::string& text, const QString& word) {
    const QString whole = QString::fromStdString(text);
    const qsizetype at = whole.indexOf(word, 0, Qt::CaseInsensitive);
    if (at < 0) return {};
    constexpr qsizetype kAround = 40;
    const qsizetype lineStart = whole.lastIndexOf(QLatin1Char('\n'), at) + 1;
    qsizetype lineEnd = whole.indexOf(QLatin1Char('\n'), at);
    if (lineEnd < 0) lineEnd = whole.size();
    const qsizetype from = std::max(lineStart, at - kAround);
    const qsizetype to = std::min(lineEnd, at + word.size() + kAround);
    QString line;
    if (from > lineStart) line += QChar(0x2026);
    line += QStringView(whole).mid(from, at - from);
    line += QLatin1Char(kMarkBegin);
    line += QStringView(whole).mid(at, word.size());
    line += QLatin1Char(kMarkEnd);
    line += QStringView(whole).mid(at + word.size(), std::max<qsizetype>(0, to - at - word.size()));
    if (to < lineEnd) line += QChar(0x2026);
    return line.toStdString();
}

std::string likePattern(const QString& word) {
    return "%" + word.toStdString() + "%"; // letters and digits only: nothing to escape
}

Result<void> collect(Statement& statement, std::vector<SearchHit>& hits) {
    for (;;) {
        const Result<bool> row = statement.step();
        if (!row.ok()) return row.error();
        if (!row.value()) return {};
        SearchHit hit;
        hit.chatId = statement.integer(0);
        hit.messageId = statement.integer(1);
        hit.title = statement.text(2);
        hit.snippet = statement.text(3);
        hits.push_back(std::move(hit));
    }
}

Result<void> searchIndex(Database& database, const Words& words, const SearchOptions& options,
                         std::vector<SearchHit>& hits) {
    Result<Statement> titles = database.prepare(
        "SELECT c.id, 0, c.title, snippet(title_search, 0, char(2), char(3), '…', 16)"
        " FROM title_search JOIN conversation c ON c.id = title_search.rowid"
        " WHERE title_search MATCH ? AND (c.deleted_ms = 0 OR ?)"
        " ORDER BY c.changed_ms DESC LIMIT ?");
    if (!titles.ok()) return titles.error();
    titles->bind(matchExpression(words, ""))
        .bind(std::int64_t(options.trash))
        .bind(std::int64_t(options.limit));
    if (Result<void> done = collect(*titles, hits); !done.ok()) return done;

    Result<Statement> messages = database.prepare(
        "SELECT c.id, m.id, c.title, snippet(message_search, -1, char(2), char(3), '…', 16)"
        " FROM message_search JOIN message m ON m.id = message_search.rowid"
        " JOIN conversation c ON c.id = m.conversation_id"
        " WHERE message_search MATCH ? AND (c.deleted_ms = 0 OR ?)"
        " ORDER BY m.created_ms DESC LIMIT ?");
    if (!messages.ok()) return messages.error();
    messages->bind(matchExpression(words, options.thinking ? "" : "{text file_names} : "))
        .bind(std::int64_t(options.trash))
        .bind(std::int64_t(options.limit));
    return collect(*messages, hits);
}

Result<void> searchInside(Database& database, const Words& words, const SearchOptions& options,
                          std::vector<SearchHit>& hits) {
    std::string titleCondition, messageCondition;
    for (qsizetype i = 0; i < words.list.size(); ++i) {
        titleCondition += " AND c.title LIKE ?";
        messageCondition +=
            options.thinking
                ? " AND m.text || char(10) || m.file_names || char(10) || m.thinking LIKE ?"
                : " AND m.text || char(10) || m.file_names LIKE ?";
    }
    Result<Statement> titles = database.prepare(
        "SELECT c.id, 0, c.title, c.title FROM conversation c WHERE (c.deleted_ms = 0 OR ?)" +
        titleCondition + " ORDER BY c.changed_ms DESC LIMIT ?");
    if (!titles.ok()) return titles.error();
    titles->bind(std::int64_t(options.trash));
    for (const QString& word : words.list) titles->bind(likePattern(word));
    titles->bind(std::int64_t(options.limit));
    if (Result<void> done = collect(*titles, hits); !done.ok()) return done;

    Result<Statement> messages = database.prepare(
        "SELECT c.id, m.id, c.title, m.text || char(10) || m.file_names || char(10) || m.thinking"
        " FROM message m JOIN conversation c ON c.id = m.conversation_id"
        " WHERE m.state <> 'growing' AND (c.deleted_ms = 0 OR ?)" +
        messageCondition + " ORDER BY m.created_ms DESC LIMIT ?");
    if (!messages.ok()) return messages.error();
    messages->bind(std::int64_t(options.trash));
    for (const QString& word : words.list) messages->bind(likePattern(word));
    messages->bind(std::int64_t(options.limit));
    if (Result<void> done = collect(*messages, hits); !done.ok()) return done;
    for (SearchHit& hit : hits) hit.snippet = markLine(hit.snippet, words.list.front());
    return {};
}

} // namespace

Result<std::vector<SearchHit>> searchHistory(Database& database, std::string_view typed,
                                             const SearchOptions& options) {
    std::vector<SearchHit> hits;
    const Words words = wordsOf(typed);
    if (words.list.isEmpty()) return hits;
    const Result<void> done = words.unspaced ? searchInside(database, words, options, hits)
                                             : searchIndex(database, words, options, hits);
    if (!done.ok()) return done.error();
    if (hits.size() > static_cast<std::size_t>(options.limit)) {
        hits.resize(static_cast<std::size_t>(options.limit));
    }
    return hits;
}

} // namespace app

#include "app/store/sqlite.h"

#include <sqlite3.h>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

constexpr int kBusyMilliseconds = 5000;

std::string pathText(const std::filesystem::path& path) {
    const std::u8string text = path.u8string();
    return std::string(text.begin(), text.end());
}

Error errorOf(sqlite3* handle, int code) {
    Error error;
    error.message = handle ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: error.code = ErrorCode::InvalidFile; break;
    case SQLITE_NOMEM: error.code = ErrorCode::OutOfMemory; break;
    case SQLITE_FULL:
        error.code = ErrorCode::Io;
        error.message = "the disk is full";
        break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        error.code = ErrorCode::Io;
        error.message = "another program holds the database";
        break;
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN: error.code = ErrorCode::Io; break;
    default: error.code = ErrorCode::Internal; break;
    }
    return error;
}

} // namespace

Statement::~Statement() {
    sqlite3_finalize(m_handle);
}

Statement& Statement::bind(std::int64_t value) {
    m_bindError |= sqlite3_bind_int64(m_handle, m_next++, value);
    return *this;
}

Statement& Statement::bind(double value) {
    m_bindError |= sqlite3_bind_double(m_handle, m_next++, value);
    return *this;
}

Statement& Statement::bind(std::string_view text) {
    // An empty view may have a null pointer, which SQLite would take for NULL.
    const char* bytes = text.empty() ? "" : text.data();
    m_bindError |=
        sqlite3_bind_text64(m_handle, m_next++, bytes, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    return *this;
}

Statement& Statement::bindBlob(std::span<const std::byte> bytes) {
    if (bytes.empty()) {
        m_bindError |= sqlite3_bind_zeroblob(m_handle, m_next++, 0);
    } else {
        m_bindError |=
            sqlite3_bind_blob64(m_handle, m_next++, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
    }
    return *this;
}

Statement& Statement::bindNull() {
    m_bindError |= sqlite3_bind_null(m_handle, m_next++);
    return *this;
}

Result<bool> Statement::step() {
    sqlite3* const database = sqlite3_db_handle(m_handle);
    if (m_bindError != SQLITE_OK) return errorOf(nullptr, SQLITE_TOOBIG);
    const int code = sqlite3_step(m_handle);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return errorOf(database, code);
}

Result<void> Statement::run() {
    for (;;) {
        const Result<bool> row = step();
        if (!row.ok()) {
            const Error error = row.error();
            reset();
            return error;
        }
        if (!row.value()) break;
    }
    reset();
    return {};
}

void Statement::reset() {
    sqlite3_reset(m_handle);
    m_next = 1;
    m_bindError = SQLITE_OK;
}

bool Statement::isNull(int column) const {
    return sqlite3_column_type(m_handle, column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(m_handle, column);
}

double Statement::real(int column) const {
    return sqlite3_column_double(m_handle, column);
}

std::string Statement::text(int column) const {
    const unsigned char* const bytes = sqlite3_column_text(m_handle, column);
    if (!bytes) return {};
    return std::string(reinterpret_cast<const char*>(bytes),
                       static_cast<std::size_t>(sqlite3_column_bytes(m_handle, column)));
}

std::vector<std::byte> Statement::blob(int column) const {
    const auto* const bytes = static_cast<const std::byte*>(sqlite3_column_blob(m_handle, column));
    if (!bytes) return {};
    return std::vector<std::byte>(bytes, bytes + sqlite3_column_bytes(m_handle, column));
}

Result<Database> Database::open(const std::filesystem::path& path) {
    sqlite3* handle = nullptr;
    const int code =
        sqlite3_open_v2(pathText(path).c_str(), &handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    Database database(handle);
    if (code != SQLITE_OK) return errorOf(handle, code);
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_busy_timeout(handle, kBusyMilliseconds);
    // A database is foreign input: no SQL in it may write to the index tables behind FTS5's back.
    // (An untrusted schema would be safer still, but triggers may then not write to an FTS5 table
    // at all.)
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    const Result<void> set = database.execute("PRAGMA journal_mode = WAL;"
                                              "PRAGMA synchronous = FULL;"
                                              "PRAGMA foreign_keys = ON;");
    if (!set.ok()) return set.error();
    return database;
}

Database::~Database() {
    sqlite3_close_v2(m_handle);
}

Result<void> Database::execute(std::string_view sql) {
    const int code = sqlite3_exec(m_handle, std::string(sql).c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return errorOf(m_handle, code);
    return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
    sqlite3_stmt* handle = nullptr;
    const int code =
        sqlite3_prepare_v2(m_handle, sql.data(), static_cast<int>(sql.size()), &handle, nullptr);
    if (code != SQLITE_OK) return errorOf(m_handle, code);
    return Statement(handle);
}

Result<std::int64_t> Database::integer(std::string_view sql) {
    Result<Statement> statement = prepare(sql);
    if (!statement.ok()) return statement.error();
    const Result<bool> row = statement->step();
    if (!row.ok()) return row.error();
    if (!row.value()) return Error{ErrorCode::Internal, "the database gave no answer"};
    return statement->integer(0);
}

Result<void> Database::copyTo(const std::filesystem::path& path) {
    sqlite3* target = nullptr;
    int code =
        sqlite3_open_v2(pathText(path).c_str(), &target,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    const Database owner(target);
    if (code != SQLITE_OK) return errorOf(target, code);
    sqlite3_backup* const backup = sqlite3_backup_init(target, "main", m_handle, "main");
    if (!backup) return errorOf(target, sqlite3_errcode(target));
    sqlite3_backup_step(backup, -1);
    code = sqlite3_backup_finish(backup);
    if (code != SQLITE_OK) return errorOf(target, code);
    return {};
}

std::int64_t Database::changedRows() const {
    return sqlite3_changes64(m_handle);
}

Result<Transaction> Transaction::begin(Database& database) {
    // IMMEDIATE takes the write lock now, so that a wait for it happens here and not in the middle.
    const Result<void> begun = database.execute("BEGIN IMMEDIATE");
    if (!begun.ok()) return begun.error();
    return Transaction(database);
}

Transaction::~Transaction() {
    if (m_database) (void)m_database->execute("ROLLBACK").ok();
}

Result<void> Transaction::commit() {
    Result<void> committed = m_database->execute("COMMIT");
    if (committed.ok()) m_database = nullptr;
    return committed;
}

} // namespace app

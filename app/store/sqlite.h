#pragma once
// The SQLite C interface as three small move-only types. Errors are Results with the words of
// SQLite; the rest of the program writes no sqlite3_ call.
//
// One thread at a time: the disk thread. A Database outlives its statements and transactions.

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace app {

class Statement {
public:
    Statement(Statement&& other) noexcept : m_handle(std::exchange(other.m_handle, nullptr)) {}
    Statement& operator=(Statement&& other) noexcept {
        std::swap(m_handle, other.m_handle);
        return *this;
    }
    ~Statement();

    // Binds the next parameter, from the first on; after reset it begins again. A failure (out of
    // memory, too large) is reported by the following step.
    Statement& bind(std::int64_t value);
    Statement& bind(double value);
    Statement& bind(std::string_view text);
    Statement& bindBlob(std::span<const std::byte> bytes);
    Statement& bindNull();

    // True: a row is there. False: done.
    engine::Result<bool> step();
    // For statements without rows: steps to the end and resets.
    engine::Result<void> run();
    void reset();

    bool isNull(int column) const;
    std::int64_t integer(int column) const;
    double real(int column) const;
    std::string text(int column) const; // bytes that are not UTF-8 come as they are
    std::vector<std::byte> blob(int column) const;

private:
    friend class Database;
    explicit Statement(sqlite3_stmt* handle) : m_handle(handle) {}
    sqlite3_stmt* m_handle = nullptr;
    int m_next = 1;
    int m_bindError = 0;
};

class Database {
public:
    // Opens or creates. WAL, synchronous = FULL, foreign keys on, waits 5 s for another program's
    // lock.
    static engine::Result<Database> open(const std::filesystem::path& path);
    Database(Database&& other) noexcept : m_handle(std::exchange(other.m_handle, nullptr)) {}
    Database& operator=(Database&& other) noexcept {
        std::swap(m_handle, other.m_handle);
        return *this;
    }
    ~Database();

    // One or several statements without parameters and without wanted rows.
    engine::Result<void> execute(std::string_view sql);
    engine::Result<Statement> prepare(std::string_view sql);
    // The single integer that a query or PRAGMA answers.
    engine::Result<std::int64_t> integer(std::string_view sql);
    // Copies a consistent state into a new file, while the database stays in use.
    engine::Result<void> copyTo(const std::filesystem::path& path);
    std::int64_t changedRows() const; // by the last statement

private:
    explicit Database(sqlite3* handle) : m_handle(handle) {}
    sqlite3* m_handle = nullptr;
};

// Rolls back unless committed.
class Transaction {
public:
    static engine::Result<Transaction> begin(Database& database);
    Transaction(Transaction&& other) noexcept
        : m_database(std::exchange(other.m_database, nullptr)) {}
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();
    engine::Result<void> commit();

private:
    explicit Transaction(Database& database) : m_database(&database) {}
    Database* m_database = nullptr;
};

} // namespace app

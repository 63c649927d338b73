#pragma once
// The versions of the history's tables: resources/schema/NNN.sql, counted by PRAGMA user_version. A
// database is brought to the newest version step by step, each step in one transaction.

#include "app/store/sqlite.h"
#include "engine/base/result.h"

namespace app {

// Written into every history file, so that another program's SQLite database is told from ours:
// "Glnt".
inline constexpr std::int64_t kApplicationId = 0x476c6e74;

// The newest version this program knows.
int newestSchemaVersion();

// InvalidFile: not a history of this program. Unsupported: written by a newer program.
engine::Result<void> migrate(Database& database);
// The same, but stops at `version`; for tests of older databases.
engine::Result<void> migrateTo(Database& database, int version);

} // namespace app

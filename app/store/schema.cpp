#include "app/store/schema.h"

#include <QFile>
#include <QString>

namespace app {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

namespace {

QString scriptName(int version) {
    return QStringLiteral(":/schema/%1.sql").arg(version, 3, 10, QLatin1Char('0'));
}

Result<std::string> script(int version) {
    QFile file(scriptName(version));
    if (!file.open(QIODevice::ReadOnly)) {
        return Error{ErrorCode::Internal, "the program lacks schema " + std::to_string(version)};
    }
    return file.readAll().toStdString();
}

} // namespace

int newestSchemaVersion() {
    static const int newest = [] {
        int version = 0;
        while (QFile::exists(scriptName(version + 1))) ++version;
        return version;
    }();
    return newest;
}

Result<void> migrate(Database& database) {
    return migrateTo(database, newestSchemaVersion());
}

Result<void> migrateTo(Database& database, int version) {
    const Result<std::int64_t> applicationId = database.integer("PRAGMA application_id");
    if (!applicationId.ok()) return applicationId.error();
    const Result<std::int64_t> current = database.integer("PRAGMA user_version");
    if (!current.ok()) return current.error();
    const Result<std::int64_t> tables = database.integer("SELECT count(*) FROM sqlite_schema");
    if (!tables.ok()) return tables.error();

    const bool empty = tables.value() == 0 && current.value() == 0 && applicationId.value() == 0;
    if (!empty && applicationId.value() != kApplicationId) {
        return Error{ErrorCode::InvalidFile, "the file is a database of another program"};
    }
    if (current.value() > newestSchemaVersion()) {
        return Error{ErrorCode::Unsupported, "the history was written by a newer version of Glint"};
    }
    for (int next = static_cast<int>(current.value()) + 1; next <= version; ++next) {
        const Result<std::string> sql = script(next);
        if (!sql.ok()) return sql.error();
        Result<Transaction> transaction = Transaction::begin(database);
        if (!transaction.ok()) return transaction.error();
        const std::string steps = sql.value() +
                                  "PRAGMA application_id = " + std::to_string(kApplicationId) +
                                  "; PRAGMA user_version = " + std::to_string(next) + ";";
        Result<void> done = database.execute(steps);
        if (!done.ok())
            return std::move(done).context("bringing the history to version " +
                                           std::to_string(next));
        if (Result<void> committed = transaction->commit(); !committed.ok()) return committed;
    }
    return {};
}

} // namespace app

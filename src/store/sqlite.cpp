#include "store/sqlite.h"

#include <sqlite3.h>

namespace nl::store {
namespace {

int bind(sqlite3_stmt* statement, int at, const SqliteValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return sqlite3_bind_int64(statement, at, *number);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return sqlite3_bind_text(statement, at, text->data(), static_cast<int>(text->size()), SQLITE_TRANSIENT);
  }
  return sqlite3_bind_null(statement, at);
}

}  // namespace

int64_t SqliteRow::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string SqliteRow::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr ? std::string()
                         : std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

bool SqliteRow::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Sqlite::Sqlite(Sqlite&& other) noexcept : db_(other.db_), path_(std::move(other.path_)) {
  other.db_ = nullptr;
}

Sqlite& Sqlite::operator=(Sqlite&& other) noexcept {
  std::swap(db_, other.db_);
  std::swap(path_, other.path_);
  return *this;
}

Sqlite::~Sqlite() {
  sqlite3_close(db_);
}

Error Sqlite::error(int code) const {
  const std::string message = path_ + ": " + sqlite3_errmsg(db_);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error{ErrorCode::kConflict, "the ledger is busy: " + message, "try again"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return Error{ErrorCode::kPermission, "cannot open: " + message, "check the permissions of the ledger"};
    case SQLITE_FULL:
      return Error{ErrorCode::kIo, message, "the disk is full"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Error{ErrorCode::kIo, message, kDamagedHint};
    default:
      return Error{ErrorCode::kIo, message, ""};
  }
}

Result<Sqlite> Sqlite::open(const std::string& path, int busy_ms) {
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  Sqlite opened(db, path);
  if (code != SQLITE_OK) return opened.error(code);
  sqlite3_busy_timeout(db, busy_ms);
  return opened;
}

Result<void> Sqlite::run(const std::string& sql, const std::vector<SqliteValue>& values) {
  return each(sql, values, [](const SqliteRow&) {});
}

Result<void> Sqlite::each(const std::string& sql, const std::vector<SqliteValue>& values,
                          const std::function<void(const SqliteRow&)>& row) {
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr);
  for (size_t i = 0; code == SQLITE_OK && i < values.size(); i++) {
    code = bind(statement, static_cast<int>(i) + 1, values[i]);
  }
  if (code == SQLITE_OK) {
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) row(SqliteRow(statement));
  }
  const bool done = code == SQLITE_DONE;
  Result<void> result = done ? Result<void>() : Result<void>(error(code));
  sqlite3_finalize(statement);
  return result;
}

}  // namespace nl::store

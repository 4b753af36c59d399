#include "store/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/call_control.h"
#include "base/files.h"
#include "store/page_checksums.h"

namespace nl::store {
namespace {

int bind(sqlite3_stmt* statement, int at, const SqliteValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return sqlite3_bind_int64(statement, at, *number);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return sqlite3_bind_text(statement, at, text->data(), static_cast<int>(text->size()), SQLITE_TRANSIENT);
  }
  if (const auto* blob = std::get_if<SqliteBlob>(&value)) {
    return sqlite3_bind_blob(statement, at, blob->bytes.data(), static_cast<int>(blob->bytes.size()),
                             SQLITE_TRANSIENT);
  }
  return sqlite3_bind_null(statement, at);
}

/// A path as SQLite's URI: everything but plain characters is escaped.
std::string file_uri(const std::string& path, const char* query) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_';
    static constexpr char kHex[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    uri += plain ? std::string(1, c) : std::string{'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return uri + query;
}

int open_with(const std::string& path, SqliteAccess access, sqlite3** db) {
  switch (access) {
    case SqliteAccess::kReadWrite:
      return sqlite3_open_v2(path.c_str(), db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, checksum_vfs());
    case SqliteAccess::kReadOnly:
      return sqlite3_open_v2(path.c_str(), db, SQLITE_OPEN_READONLY, checksum_vfs());
    case SqliteAccess::kImmutable:
      return sqlite3_open_v2(file_uri(path, "?immutable=1").c_str(), db,
                             SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, checksum_vfs());
    case SqliteAccess::kMemory:
      break;
  }
  return sqlite3_open_v2(":memory:", db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
}

/// The handler of SQLite for a lock that another one holds: 0 gives up. Short pauses first, as most locks are
/// held for a moment; then such that a cancelled call ends soon.
int wait_for_lock(void* busy_ms, int tries) {
  constexpr int kShortTries = 10, kShortMs = 2, kLongMs = 20;
  const int waited_ms =
      tries < kShortTries ? tries * kShortMs : kShortTries * kShortMs + (tries - kShortTries) * kLongMs;
  if (is_cancelled() || waited_ms >= *static_cast<const int*>(busy_ms)) return 0;
  sqlite3_sleep(tries < kShortTries ? kShortMs : kLongMs);
  return 1;
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

std::string_view SqliteRow::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return {data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

bool SqliteRow::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Sqlite::Sqlite(Sqlite&& other) noexcept
    : db_(other.db_),
      path_(std::move(other.path_)),
      advice_(std::move(other.advice_)),
      busy_ms_(std::move(other.busy_ms_)),
      idle_(std::move(other.idle_)) {
  other.db_ = nullptr;
  other.idle_.clear();
}

Sqlite& Sqlite::operator=(Sqlite&& other) noexcept {
  std::swap(db_, other.db_);
  std::swap(path_, other.path_);
  std::swap(advice_, other.advice_);
  std::swap(busy_ms_, other.busy_ms_);
  std::swap(idle_, other.idle_);
  return *this;
}

Sqlite::~Sqlite() {
  for (const auto& [sql, statement] : idle_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

Error Sqlite::error(int code) const {
  const std::string message = path_ + ": " + sqlite3_errmsg(db_);
  if (sqlite3_extended_errcode(db_) == SQLITE_IOERR_DATA)
    return damaged("a page of the file has other bytes than were written");
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      if (is_cancelled()) return cancelled_error();
      return Error{ErrorCode::kConflict, "the ledger is busy: " + message, "try again"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return Error{ErrorCode::kPermission, "cannot open: " + message, "check the permissions of the ledger"};
    case SQLITE_FULL:
      return Error{ErrorCode::kIo, message,
                   "the disk is full; free some space or choose another ledger with --ledger DIR"};
    case SQLITE_IOERR:
      return Error{
          ErrorCode::kIo, message,
          "the disk may be full, or fails; free some space or choose another ledger with --ledger DIR"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damaged(sqlite3_errmsg(db_));
    default:
      return Error{ErrorCode::kIo, message, ""};
  }
}

Error Sqlite::damaged(const std::string& what) const {
  Error error{ErrorCode::kIo, what + ": " + path_, advice_.hint};
  if (!advice_.call.operation.empty()) error.calls.push_back(advice_.call);
  return error;
}

Result<Sqlite> Sqlite::open(const std::string& path, int busy_ms, SqliteAccess access, DamageAdvice advice) {
  sqlite3* db = nullptr;
  const int code = open_with(path, access, &db);
  Sqlite opened(db, path, std::move(advice));
  if (code != SQLITE_OK) return opened.error(code);
  if (access == SqliteAccess::kReadWrite) make_room_for_checksums(db);
  opened.busy_ms_ = std::make_unique<int>(busy_ms);
  sqlite3_busy_handler(db, wait_for_lock, opened.busy_ms_.get());
  return opened;
}

Result<sqlite3_stmt*> Sqlite::take(std::string_view sql) {
  if (const auto known = idle_.find(std::string(sql)); known != idle_.end()) {
    sqlite3_stmt* statement = known->second;
    idle_.erase(known);
    return statement;
  }
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return error(code);
  return statement;
}

void Sqlite::put_back(std::string_view sql, sqlite3_stmt* statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  if (!idle_.emplace(sql, statement).second) sqlite3_finalize(statement);
}

Result<void> Sqlite::run(std::string_view sql, const std::vector<SqliteValue>& values) {
  return each(sql, values, [](const SqliteRow&) {});
}

Result<void> Sqlite::each(std::string_view sql, const std::vector<SqliteValue>& values,
                          const std::function<void(const SqliteRow&)>& row) {
  NL_TRY(sqlite3_stmt* const statement, take(sql));
  int code = SQLITE_OK;
  for (size_t i = 0; code == SQLITE_OK && i < values.size(); i++) {
    code = bind(statement, static_cast<int>(i) + 1, values[i]);
  }
  if (code == SQLITE_OK) {
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) row(SqliteRow(statement));
  }
  Result<void> result = code == SQLITE_DONE ? Result<void>() : Result<void>(error(code));
  put_back(sql, statement);
  return result;
}

Result<int64_t> Sqlite::integer(std::string_view sql, const std::vector<SqliteValue>& values) {
  std::optional<int64_t> found;
  NL_CHECK(each(sql, values, [&](const SqliteRow& r) {
    if (!found) found = r.integer(0);
  }));
  return found.value_or(0);
}

int64_t Sqlite::changes() const {
  return sqlite3_changes(db_);
}

bool Sqlite::has_checksums() const {
  return store::has_checksums(db_);
}

Result<void> Sqlite::add_checksums() {
  // The first page says that there are checksums, so it must be written before the others: none may be
  // spilled.
  NL_CHECK(run("PRAGMA cache_spill = OFF"));
  NL_CHECK(run("VACUUM"));
  return run("PRAGMA cache_spill = ON");
}

Result<void> Sqlite::check_pages() {
  std::string said;
  NL_CHECK(each("PRAGMA integrity_check(1)", {}, [&](const SqliteRow& row) { said = row.text(0); }));
  return said == "ok" ? Result<void>() : Result<void>(damaged(said));
}

/// Reads the file that SQLite has open: to close another one would take the locks of this process away.
/// Inside of a transaction nobody changes it meanwhile.
Result<void> Sqlite::copy_to(const std::string& path) {
  NL_TRY(const int64_t page, integer("PRAGMA page_size"));
  sqlite3_file* file = nullptr;
  sqlite3_int64 size = 0;
  int code = sqlite3_file_control(db_, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code == SQLITE_OK) code = file->pMethods->xFileSize(file, &size);
  std::string bytes(static_cast<size_t>(size), '\0');
  for (int64_t at = 0; at < size && code == SQLITE_OK; at += page)
    code = file->pMethods->xRead(file, bytes.data() + at,
                                 static_cast<int>(std::min<int64_t>(page, size - at)), at);
  if (code != SQLITE_OK) return error(code);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno_error("cannot create", path, errno);
  const auto written = ::write(fd, bytes.data(), bytes.size());
  const int number =
      written == static_cast<ssize_t>(bytes.size()) && ::fsync(fd) == 0 ? 0 : std::max(errno, 1);
  ::close(fd);
  return number == 0 ? Result<void>() : Result<void>(errno_error("cannot write", path, number));
}

Result<SqliteTransaction> SqliteTransaction::begin(Sqlite& db) {
  NL_CHECK(db.run("BEGIN IMMEDIATE"));
  return SqliteTransaction(db);
}

SqliteTransaction::~SqliteTransaction() {
  if (db_ != nullptr) (void)db_->run("ROLLBACK");
}

Result<void> SqliteTransaction::commit() {
  NL_CHECK(db_->run("COMMIT"));
  db_ = nullptr;
  return {};
}

}  // namespace nl::store

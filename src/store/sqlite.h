#pragma once
// A thin RAII layer over SQLite's C API, for the files of a ledger. Their pages have checksums
// (page_checksums.h). One connection serves one thread. Prepared statements are kept and reused.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace nl::store {

/// What to do about a file that is damaged: the hint of the error and what it names.
struct DamageAdvice {
  std::string hint;
  SuggestedCall call;
};

/// Bytes that are no text.
struct SqliteBlob {
  std::string bytes;
};
using SqliteValue = std::variant<std::nullptr_t, int64_t, std::string, SqliteBlob>;

/// A row of a result; valid inside the callback that gets it.
class SqliteRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  int64_t integer(int column) const;
  std::string text(int column) const;
  /// Valid until the callback returns.
  std::string_view bytes(int column) const;
  bool is_null(int column) const;

 private:
  sqlite3_stmt* statement_;
};

enum class SqliteAccess {
  kReadWrite,  ///< created if it is not there
  kReadOnly,   ///< with locks
  kImmutable,  ///< nobody can write it: no locks, no journal, no shared memory
  kMemory,     ///< the path is only a name for messages
};

class Sqlite {
 public:
  /// `busy_ms`: how long to wait for another process or thread, unless the call is cancelled meanwhile.
  static Result<Sqlite> open(const std::string& path, int busy_ms,
                             SqliteAccess access = SqliteAccess::kReadWrite, DamageAdvice advice = {});
  Sqlite(Sqlite&& other) noexcept;
  Sqlite& operator=(Sqlite&& other) noexcept;
  ~Sqlite();

  Result<void> run(std::string_view sql, const std::vector<SqliteValue>& values = {});
  Result<void> each(std::string_view sql, const std::vector<SqliteValue>& values,
                    const std::function<void(const SqliteRow&)>& row);
  /// The first column of the first row; 0 if there is no row.
  Result<int64_t> integer(std::string_view sql, const std::vector<SqliteValue>& values = {});
  /// Rows that the last statement changed.
  int64_t changes() const;

  /// Known as soon as something was read or written.
  bool has_checksums() const;
  /// For the file of an earlier version: writes it anew, with checksums. Not inside of a transaction.
  Result<void> add_checksums();
  /// Reads every page; the error of the first that is damaged.
  Result<void> check_pages();
  /// Writes a copy, page by page. What is at `path` is overwritten.
  Result<void> copy_to(const std::string& path);
  /// The error for a file that cannot be believed.
  Error damaged(const std::string& what) const;

 private:
  Sqlite(sqlite3* db, std::string path, DamageAdvice advice)
      : db_(db), path_(std::move(path)), advice_(std::move(advice)) {}
  Error error(int code) const;
  Result<sqlite3_stmt*> take(std::string_view sql);
  void put_back(std::string_view sql, sqlite3_stmt* statement);

  sqlite3* db_;
  std::string path_;
  DamageAdvice advice_;
  std::unique_ptr<int> busy_ms_ = {};  ///< for the handler that waits, which outlives moves
  std::unordered_map<std::string, sqlite3_stmt*> idle_;
};

/// Takes the write lock at once; rolled back unless committed.
class SqliteTransaction {
 public:
  static Result<SqliteTransaction> begin(Sqlite& db);
  SqliteTransaction(SqliteTransaction&& other) noexcept : db_(other.db_) { other.db_ = nullptr; }
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;
  ~SqliteTransaction();
  Result<void> commit();

 private:
  explicit SqliteTransaction(Sqlite& db) : db_(&db) {}
  Sqlite* db_;
};

}  // namespace nl::store

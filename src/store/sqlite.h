#pragma once
// Thin RAII over SQLite's C API. One connection, one thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace nl::store {

/// The hint of the error that a damaged file gives.
inline constexpr char kDamagedHint[] = "the file is damaged; an index is rebuilt by gc --reindex";

using SqliteValue = std::variant<std::nullptr_t, int64_t, std::string>;

/// A row of a result; valid inside the callback that gets it.
class SqliteRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  int64_t integer(int column) const;
  std::string text(int column) const;
  bool is_null(int column) const;

 private:
  sqlite3_stmt* statement_;
};

class Sqlite {
 public:
  /// Opens or creates the file. `busy_ms`: how long to wait for another process.
  static Result<Sqlite> open(const std::string& path, int busy_ms);
  Sqlite(Sqlite&& other) noexcept;
  Sqlite& operator=(Sqlite&& other) noexcept;
  ~Sqlite();

  Result<void> run(const std::string& sql, const std::vector<SqliteValue>& values = {});
  Result<void> each(const std::string& sql, const std::vector<SqliteValue>& values,
                    const std::function<void(const SqliteRow&)>& row);

 private:
  Sqlite(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
  Error error(int code) const;

  sqlite3* db_;
  std::string path_;
};

}  // namespace nl::store

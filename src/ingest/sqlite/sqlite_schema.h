#pragma once
// What a CREATE TABLE statement says about the records of its table: the names of the columns in their order,
// and which one is the row id. Nothing else of SQL is understood, or needed.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nl::ingest {

struct SqliteColumns {
  std::vector<std::string> names;
  int rowid = -1;  ///< the column that stands for the row id; its value is not in the record
};

/// Nothing if the statement is not understood, or its records are not in the order of the columns (WITHOUT
/// ROWID, generated columns).
std::optional<SqliteColumns> sqlite_columns(std::string_view create_table);

}  // namespace nl::ingest

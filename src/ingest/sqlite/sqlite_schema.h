#pragma once
// Reads from a CREATE TABLE statement what is needed to decode the records of the table: the names of the
// columns in order, and which one is the row id. The rest of SQL is neither understood nor needed.

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

#pragma once
// Reads columns of one table from its file without the engine, a row group at a time. For tables that are
// read from the first row to the last: the engine would copy each text of each row, and starting it and
// telling it of a table takes longer than reading a small run. What is asked with conditions, joins or sums
// is the engine's. For one thread at a time.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "model/tables.h"
#include "store/page_reader.h"

namespace nl::store {

class CommonTime;

class ColumnScan {
 public:
  /// `path` is empty where the run has no such table, which then has no rows. Columns that the file lacks are
  /// NULL. With `time`, start_ns is on the common clock; track_id is then among the columns.
  static Result<ColumnScan> open(const std::string& path, const model::Table& table,
                                 std::initializer_list<std::string_view> columns,
                                 const CommonTime* time = nullptr);

  /// Goes on to the next rows; false behind the last ones.
  Result<bool> next();
  /// Calls each() for all rows that are left, a piece at a time.
  template <class Each>
  Result<void> for_pieces(Each&& each) {
    for (;;) {
      NL_TRY(const bool more, next());
      if (!more) return {};
      each();
    }
  }
  size_t size() const { return rows_; }
  /// Of the rows that it is at; NULL is model::kNull.
  const std::vector<int64_t>& numbers(size_t column) { return columns_[column].reader.numbers(); }
  const ColumnTexts& texts(size_t column) { return columns_[column].reader.texts(); }
  bool has_text(size_t column, size_t row) { return texts(column).rows[row] != ColumnTexts::kNone; }
  /// Empty for NULL.
  std::string_view text(size_t column, size_t row);
  /// The number of a DOUBLE column that is not NULL.
  double real(size_t column, size_t row);

 private:
  struct Column {
    std::optional<size_t> place;  ///< in the file
    PageReader reader = {};
  };

  explicit ColumnScan(const CommonTime* time) : time_(time) {}
  Result<void> find(const model::Table& table, std::string_view column);
  Result<void> read(Column& column);

  std::string path_;
  std::optional<File> file_;
  ParquetFooter footer_;
  std::vector<Column> columns_;
  const CommonTime* time_ = nullptr;
  size_t start_ = 0, track_ = 0;  ///< columns that `time_` is about
  Unpacker unpacker_ = make_unpacker();
  std::string chunk_;
  size_t group_ = 0;
  size_t rows_ = 0;
};

}  // namespace nl::store

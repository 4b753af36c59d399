#include "store/column_scan.h"

#include <algorithm>
#include <bit>

#include "base/call_control.h"
#include "store/common_time.h"
#include "store/read_counts.h"

namespace nl::store {
namespace {

/// Whether the values in the file are what the table says: kinds of spans are texts there.
bool has_type(const ParquetColumn& column, model::Type type) {
  constexpr int32_t kInt32 = 1, kInt64 = 2, kDouble = 5, kByteArray = 6;
  const std::string_view sql = model::sql_type(type);
  if (sql == "VARCHAR") return column.type == kByteArray;
  if (sql == "DOUBLE") return column.type == kDouble;
  return column.type == kInt32 || column.type == kInt64;
}

}  // namespace

Result<ColumnScan> ColumnScan::open(const std::string& path, const model::Table& table,
                                    std::initializer_list<std::string_view> columns, const CommonTime* time) {
  ColumnScan scan(time);
  scan.path_ = path;
  if (!path.empty()) {
    count_pass(table.name);
    NL_TRY(File file, File::open_to_read(path));
    scan.file_.emplace(std::move(file));
    NL_TRY(scan.footer_, read_parquet_footer(path, ParquetPages::kSkip));
    NL_CHECK(check_parquet_codecs(scan.footer_));
  }
  for (const std::string_view column : columns) NL_CHECK(scan.find(table, column));
  return scan;
}

Result<void> ColumnScan::find(const model::Table& table, std::string_view column) {
  if (column == "start_ns") start_ = columns_.size();
  if (column == "track_id") track_ = columns_.size();
  const auto& all = footer_.columns;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.name == column; });
  columns_.emplace_back();
  if (found == all.end()) return {};
  const auto described = std::find_if(table.columns.begin(), table.columns.end(),
                                      [&](const auto& c) { return c.name == column; });
  if (described == table.columns.end() || !has_type(*found, described->type))
    return Error{ErrorCode::kIo, "column " + std::string(column) + " has another type: " + path_};
  columns_.back().place = static_cast<size_t>(found - all.begin());
  return {};
}

Result<bool> ColumnScan::next() {
  NL_CHECK(check_cancelled());
  if (group_ == static_cast<size_t>(footer_.row_groups) || footer_.columns.empty()) return false;
  rows_ = static_cast<size_t>(footer_.columns[0].chunks[group_].rows);
  for (Column& column : columns_) NL_CHECK(read(column));
  group_++;
  if (time_ != nullptr)
    NL_CHECK(time_->move(columns_[start_].reader.numbers(), columns_[track_].reader.numbers()));
  return true;
}

Result<void> ColumnScan::read(Column& column) {
  if (!column.place) {
    column.reader.set_null(rows_);
    return {};
  }
  const ParquetColumn& of = footer_.columns[*column.place];
  const ParquetChunk& chunk = of.chunks[group_];
  chunk_.resize(static_cast<size_t>(chunk.bytes));
  if (!read_fully(file_->fd(), chunk.begin, chunk_.data(), chunk_.size()))
    return Error{ErrorCode::kIo, "cannot read: " + path_};
  if (const auto done = column.reader.read(of, chunk, chunk_, unpacker_); !done)
    return Error{ErrorCode::kIo,
                 "a table of the run is damaged: " + done.error().message + ": " + path_,
                 "{} says what is wrong",
                 {{"verify", R"({"run": "RUN"})"}}};
  return {};
}

std::string_view ColumnScan::text(size_t column, size_t row) {
  const ColumnTexts& of = texts(column);
  return !has_text(column, row) ? std::string_view() : of.texts[of.rows[row]];
}

double ColumnScan::real(size_t column, size_t row) {
  return std::bit_cast<double>(numbers(column)[row]);
}

}  // namespace nl::store

#include "store/foreign_bundle.h"

#include <algorithm>

#include "model/tables.h"
#include "store/parquet_footer.h"
#include "store/run_document.h"

namespace nl::store {
namespace {

using nlohmann::json;

// What tables of real runs need is far below: they have 5 to 50 bytes for each row, and grow to 3 to 20 times
// their size when they are unpacked.
constexpr int64_t kRowsOfAnyFile = 500'000;
constexpr int64_t kRowsPerByte = 4;
constexpr int64_t kBytesOfAnyFile = 32 << 20;
constexpr int64_t kGrowth = 100;
constexpr int64_t kMostTextBytes = 16 << 20;  // as import allows for one event
// Names are kept once for each place that shows them, so that they must not be long on the whole.
constexpr int64_t kTextsOfAnyFile = 2 << 20;
constexpr int64_t kBytesOfAText = 4096;

Error refused(ErrorCode code, const model::Table& table, const std::string& why) {
  return Error{code, "table " + std::string(table.name) + " of the bundle cannot be read: " + why,
               "import the profile that the bundle was made from"};
}

/// Number of a type in the format.
int32_t stored_type(model::Type type) {
  switch (type) {
    case model::Type::i32:
    case model::Type::track:
      return 1;
    case model::Type::row_id:
    case model::Type::i64:
      return 2;
    case model::Type::f64:
      return 5;
    case model::Type::dict:
    case model::Type::json:
    case model::Type::span_kind:
      break;
  }
  return 6;
}

Result<void> check_columns(const model::Table& table, const ParquetFooter& footer) {
  for (const ParquetColumn& column : footer.columns) {
    const auto ours = std::find_if(table.columns.begin(), table.columns.end(),
                                   [&](const model::Column& one) { return one.name == column.name; });
    if (ours == table.columns.end()) return refused(ErrorCode::kBadInput, table, "it has unknown columns");
    if (stored_type(ours->type) != column.type)
      return refused(ErrorCode::kBadInput, table, "column " + column.name + " has another type");
  }
  return {};
}

Result<void> check_proportion(const model::Table& table, const ParquetFooter& footer) {
  const ParquetFigures& all = footer.all;
  if (footer.rows > kRowsOfAnyFile + kRowsPerByte * footer.file_bytes)
    return refused(ErrorCode::kLimit, table, "too many rows for so small a file");
  if (all.uncompressed_bytes > kBytesOfAnyFile + kGrowth * footer.file_bytes)
    return refused(ErrorCode::kLimit, table, "it grows too much when it is unpacked");
  if (all.largest_page_bytes > kBytesOfAnyFile + kMostTextBytes)
    return refused(ErrorCode::kLimit, table, "a page of it is too large");
  if (all.largest_dictionary_bytes > kTextsOfAnyFile + kBytesOfAText * all.most_dictionary_values)
    return refused(ErrorCode::kLimit, table, "its texts are too long");
  return {};
}

Result<void> check_table(const model::Table& table, const std::string& path, int64_t rows) {
  NL_TRY(const ParquetFooter footer, read_parquet_footer(path));
  NL_CHECK(check_parquet_codecs(footer));
  if (footer.rows != rows)
    return refused(ErrorCode::kBadInput, table, "run.json says another number of rows");
  NL_CHECK(check_columns(table, footer));
  return check_proportion(table, footer);
}

}  // namespace

Result<void> check_foreign_tables(const std::string& bundle, const json& document) {
  for (const json& one : document["tables"]) {
    const std::string name = one["name"];
    const model::Table* const table = model::find_table(name);
    if (table == nullptr || table->kind != model::TableKind::fact) continue;
    const auto path = intact_table_file(bundle, document, name);
    if (path) NL_CHECK(check_table(*table, *path, one["rows"]));
  }
  return {};
}

}  // namespace nl::store

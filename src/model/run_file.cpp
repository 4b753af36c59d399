#include "model/run_file.h"

#include <vector>

namespace nl::model {
namespace {

int column_named(TableId table, std::string_view name) {
  const auto& columns = model::table(table).columns;
  for (size_t c = 0; c < columns.size(); c++) {
    if (columns[c].name == name) return static_cast<int>(c);
  }
  return -1;
}

}  // namespace

std::span<const RunFileTable> run_file_tables() {
  static const std::vector<RunFileTable> tables = [] {
    std::vector<RunFileTable> all;
    for (size_t t = 0; t < kTableCount; t++) {
      const Table& table = all_tables()[t];
      const auto id = static_cast<TableId>(t);
      if (id == TableId::ops) all.push_back({table.name, TableId::spans, true});
      if (table.kind == TableKind::fact) all.push_back({table.name, id, false});
    }
    return all;
  }();
  return tables;
}

bool is_member(const RunFileTable& table, const Column& column) {
  if (column.type == Type::row_id) return false;
  return !(table.is_ops && column.type == Type::span_kind);
}

/// The span tree needs to know where a span begins and what it is.
bool is_required(const RunFileTable& table, const Column& column) {
  if (table.table != TableId::spans || !is_member(table, column)) return false;
  return column.type == Type::span_kind || column.name == "start_ns";
}

IntegerRange range_of(const Column& column) {
  if (column.type == Type::track) return {0, kMaxTrackId};
  if (column.type == Type::i32) return {INT32_MIN, INT32_MAX};
  if (column.name == "start_ns") return {-kMaxTimeNs, kMaxTimeNs};
  if (column.name == "dur_ns") return {0, kMaxDurationNs};
  return {-INT64_MAX, INT64_MAX};  // the least number of all means NULL
}

/// Text that repeats is JSON where its description says so.
bool holds_json(const Column& column) {
  if (column.type == Type::json) return true;
  return column.type == Type::dict && column.doc.find("JSON") != std::string_view::npos;
}

int duration_column(TableId table) {
  const int duration = column_named(table, "dur_ns");
  return duration >= 0 ? duration : column_named(table, "total_ns");
}

int track_column(TableId table) {
  const auto& columns = model::table(table).columns;
  for (size_t c = 0; c < columns.size(); c++) {
    if (columns[c].type == Type::track) return static_cast<int>(c);
  }
  return -1;
}

}  // namespace nl::model

#pragma once
// The run file: one JSON document with a whole run, for people and scripts that write runs or pass them on.
// What it may contain follows from tables.def and schema/run.schema.json. The reader, the writer and the JSON
// Schema all use the rules here, so they agree. Plain constants, usable from any thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "model/tables.h"

namespace nl::model {

inline constexpr int kRunFileVersion = 1;
inline constexpr std::string_view kRunFileName = "neurolens.run-file/";
inline constexpr std::string_view kRunFileFormat = "neurolens-json";

/// Times are kept this far from the ends of int64, so that sums with a base time or a duration cannot
/// overflow.
inline constexpr int64_t kMaxTimeNs = 4'000'000'000'000'000'000;
inline constexpr int64_t kMaxDurationNs = 1'000'000'000'000'000'000;
inline constexpr int64_t kMaxTrackId = (1 << 20) - 1;

/// One array of the document: a fact table, or `ops`, whose rows are spans of kind op.
struct RunFileTable {
  std::string_view name;
  TableId table;
  bool is_ops;
};

/// In the order in which they are written.
std::span<const RunFileTable> run_file_tables();

/// Is the column a member of the array's rows? Row numbers are not, since they are the order of the rows.
bool is_member(const RunFileTable& table, const Column& column);
bool is_required(const RunFileTable& table, const Column& column);
/// May the rows of the array have `metrics`, counters that become rows of kernel_metrics?
inline bool has_metrics(const RunFileTable& table) {
  return table.table == TableId::kernels;
}

struct IntegerRange {
  int64_t least, most;
};
/// What a cell of an integer column may hold.
IntegerRange range_of(const Column& column);

/// Cells of the column are JSON texts.
bool holds_json(const Column& column);

/// The column that `total_ns` of a summary adds up, or -1.
int duration_column(TableId table);
/// The column that names the timeline of a row, or -1.
int track_column(TableId table);

/// The JSON Schema of the document.
nlohmann::json run_file_schema();
/// The same for a document whose arrays were emptied on the way, so that it need not have rows.
nlohmann::json run_file_envelope_schema();

}  // namespace nl::model

#pragma once
// RunFileParser: parses the rows in one window of a run file. It is strict: anything that tables.def does not
// allow is a fault with its place. Windows are parsed independently, so rows are numbered from the start of
// the window. Each thread has its own parser.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json_schema.h"
#include "ingest/json/json_cursor.h"
#include "ingest/rows/interner.h"
#include "model/batch.h"
#include "model/run_file.h"

namespace nl::ingest {

/// A sum of durations: 2^32 rows of the longest one fit.
__extension__ using WideSum = __int128;

/// A fault at `below` the row, e.g. /dur_ns.
struct RowFault {
  int64_t row = 0;
  JsonFault below;
};

struct RunFileWindow {
  std::shared_ptr<model::Batch> batch;
  size_t array = 0;     ///< number in run_file_tables()
  int64_t rows = 0;     ///< elements of the array
  int64_t metrics = 0;  ///< rows of kernel_metrics out of kernels; their launch_id counts from the window
  WideSum total_ns = 0;
  std::vector<RowFault> faults;  ///< at most kMaxFaults
};

class RunFileParser {
 public:
  static constexpr size_t kMaxFaults = 20;
  /// Values of a row may be what an event of a trace held, wrapped by its adapter.
  static constexpr int kMaxDepth = JsonCursor::kMaxDepth + 8;

  explicit RunFileParser(model::BatchPool& pool) : pool_(pool) {}
  Result<RunFileWindow> parse(JsonWindow& window);

 private:
  using Column = model::Column;

  void begin(const JsonWindow& window);
  bool read_rows(JsonCursor& cursor, bool may_be_empty);
  bool read_row(JsonCursor& cursor);
  bool read_member(JsonCursor& cursor, size_t row);
  void check_required();
  void add_duration(size_t row);

  /// The name of the member at the cursor, unescaped; false if the JSON is wrong.
  bool take_name(JsonCursor& cursor, std::string_view& name);
  static bool take_any(JsonCursor& cursor, std::string_view& raw);
  int column_named(std::string_view name);

  /// False if the JSON is wrong; a value that does not fit is a fault.
  bool set_cell(size_t row, int column, std::string_view raw);
  bool set_integer(size_t row, int column, std::string_view raw);
  bool set_number(size_t row, int column, std::string_view raw);
  bool set_text(size_t row, int column, std::string_view raw);
  bool set_kind(size_t row, int column, std::string_view raw);
  bool set_json(size_t row, int column, std::string_view raw);
  int64_t track_number(int64_t track_id);
  int64_t text_of(std::string_view token);
  int64_t raw_json(std::string_view raw);
  int64_t json_in_string(std::string_view token);
  bool is_json(std::string_view text);

  bool read_metrics(JsonCursor& cursor, size_t row);
  bool read_metric(JsonCursor& cursor, size_t row, std::string_view name);
  bool read_metric_with_unit(JsonCursor& cursor, size_t metric, const std::string& place);
  bool set_metric_value(size_t metric, std::string_view raw, const std::string& place);
  void name_metrics(size_t row);

  void fault(const std::string& below, std::string message);
  bool expected(const std::string& below, const std::string& what, std::string_view found);

  model::BatchPool& pool_;
  JsonIndex index_;
  JsonIndex nested_index_;  // for JSON inside strings, while index_ is in use
  JsonWindow nested_;
  Interner strings_;
  Interner json_strings_;
  std::unordered_map<int64_t, int64_t> track_numbers_;
  const model::RunFileTable* table_ = nullptr;
  std::span<const Column> columns_;
  int duration_ = -1;
  int next_column_ = 0;  // where the next member's column is likely to be
  uint64_t seen_ = 0;    // columns of the row, and bit 63 for its metrics
  size_t first_metric_ = 0;
  RunFileWindow* out_ = nullptr;
  model::Batch* batch_ = nullptr;
};

}  // namespace nl::ingest

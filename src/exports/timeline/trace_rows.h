#pragma once
// TraceReader: the time line of a run, row by row, for exporters of traces. It streams each table in the
// order of its rows and holds one chunk of the engine. Rows that have no time, or that lie outside of the
// window, are not handed out; those without a time are counted. For one thread.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exports/exporter.h"
#include "exports/timeline/slice_places.h"
#include "exports/timeline/trace_tables.h"

namespace nl::exports {

/// One argument of an event. Texts are as stored: any bytes.
struct TraceArg {
  std::string_view key;
  ArgKind kind;
  int64_t number = 0;
  double real = 0;
  std::string_view text = {};
  std::array<std::optional<int64_t>, 3> triple = {};
};

/// A slice, or an instant if it has no duration. Valid inside the callback that gets it.
struct TraceRow {
  int table;  ///< index in trace_tables()
  int64_t id;
  int64_t track;  ///< below 0: a row without a track, see track_of_table
  int64_t start_ns;
  std::optional<int64_t> dur_ns;
  std::optional<std::string_view> name;
  std::string_view category = {};  ///< empty: the source gives none
  std::string_view kind = {};      ///< of spans and copies
  std::vector<TraceArg> args = {};
  int64_t along = 0;  ///< the column that RowChoice selects along
};

/// [8, 1, 1]; null for what the source does not say.
std::string triple_text(const TraceArg& arg);

/// Stands for the track of rows that have none.
constexpr int64_t track_of_table(int table) {
  return -1 - table;
}

struct CounterRow {
  int64_t track;  ///< -1: none
  int64_t start_ns;
  double value;
  std::string_view name, series, unit;
};

struct AllocationRow {
  int64_t id, track, start_ns;
  std::optional<int64_t> device_type, device, address, bytes, total_allocated, total_reserved, source_index;
  std::string_view args;  ///< JSON; may be empty
};

/// One end of an arrow that the source draws.
struct FlowRow {
  std::optional<int64_t> arrow_id, process_id, thread_id;
  int64_t start_ns;
  std::string_view name, category, phase, args;
};

/// Which rows of a table, and in which order.
struct RowChoice {
  std::string join = {};       ///< SQL behind the table, which is called r
  std::string along = "NULL";  ///< a column to hand out besides
};

class TraceReader {
 public:
  explicit TraceReader(const ExportCall& call) : call_(call) {}

  Result<void> for_each_row(int table, const RowChoice& choice,
                            const std::function<Result<void>(TraceRow&)>& each);
  /// All slices in the order that SlicePlaces wants.
  Result<void> for_each_slice(const std::function<Result<void>(const SliceKey&)>& each);
  Result<void> for_each_counter(const std::function<Result<void>(const CounterRow&)>& each);
  Result<void> for_each_allocation(const std::function<Result<void>(const AllocationRow&)>& each);
  Result<void> for_each_flow(const std::function<Result<void>(const FlowRow&)>& each);

  bool has(std::string_view table) const { return call_.run.has(std::string(table)); }
  /// Of a table that is there.
  int64_t rows(const std::string& table) const { return call_.run.files().tables.at(table); }
  Result<store::Connection*> ask(const std::string& table) { return call_.run.ask({table}); }
  bool touches(int64_t start_ns, int64_t end_ns) const;

  /// Adds what lies on no time line, and rows that lack a time.
  Result<void> count_lost(ExportReport& report);

 private:
  Result<void> count_lost_rows(const TraceTable& table, ExportReport& report);

  const ExportCall& call_;
};

/// Touches a slice one of the stretches? One that ends where a stretch begins does not, nor one that begins
/// where it ends. All do if there are no stretches.
bool touches_window(const std::vector<Stretch>& window, int64_t start_ns, int64_t end_ns);

}  // namespace nl::exports

#include "exports/timeline/trace_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace nl::exports {
namespace {

using store::Chunk;

/// The cells of one column of a chunk, looked up once a chunk.
struct Cells {
  const uint64_t* valid = nullptr;
  const int64_t* ints = nullptr;
  const double* reals = nullptr;
  store::TextCells texts{nullptr, nullptr};

  bool has(size_t row) const { return valid == nullptr || (valid[row / 64] >> (row % 64) & 1) != 0; }
  std::optional<int64_t> number(size_t row) const {
    return has(row) ? std::optional(ints[row]) : std::nullopt;
  }
  std::string_view text(size_t row) const { return has(row) ? texts[row] : std::string_view(); }
};

Cells int_cells(const Chunk& chunk, size_t column) {
  return {.valid = chunk.validity(column), .ints = chunk.int64s(column)};
}

Cells real_cells(const Chunk& chunk, size_t column) {
  return {.valid = chunk.validity(column), .reals = chunk.doubles(column)};
}

Cells text_cells(const Chunk& chunk, size_t column) {
  return {.valid = chunk.validity(column), .texts = chunk.texts(column)};
}

/// Columns of the statement that one argument takes.
std::string select_of(const ArgColumn& arg) {
  switch (arg.kind) {
    case ArgKind::kInt:
      return fmt::format("r.{}::BIGINT", arg.column);
    case ArgKind::kTriple:
      return fmt::format("r.{0}_x::BIGINT, r.{0}_y::BIGINT, r.{0}_z::BIGINT", arg.column);
    case ArgKind::kReal:
    case ArgKind::kText:
    case ArgKind::kJson:
    case ArgKind::kRest:
      break;
  }
  return fmt::format("r.{}", arg.column);
}

std::string track_sql(const TraceTable& table, int number) {
  const int64_t none = track_of_table(number);
  return table.track.empty() ? fmt::format("({})::BIGINT", none)
                             : fmt::format("coalesce({}, {})::BIGINT", table.track, none);
}

constexpr size_t kFirstArg = 8;

std::string rows_sql(int number, const RowChoice& choice) {
  const TraceTable& table = trace_tables()[static_cast<size_t>(number)];
  std::string sql = fmt::format(
      "SELECT r.{}::BIGINT, {}, r.start_ns, r.dur_ns, ({})::VARCHAR, ({})::VARCHAR, ({})::VARCHAR, "
      "({})::BIGINT",
      table.id, track_sql(table, number), table.name, table.category, table.kind, choice.along);
  for (const ArgColumn& arg : table.args) sql += ", " + select_of(arg);
  return fmt::format("{} FROM {} r {}", sql, table.table, choice.join);
}

/// Makes rows of the chunks of rows_sql.
class RowCells {
 public:
  RowCells(int table, const Chunk& chunk) : table_(table) {
    for (size_t column : {0, 1, 2, 3, 7}) cells_[column] = int_cells(chunk, column);
    for (size_t column : {4, 5, 6}) cells_[column] = text_cells(chunk, column);
    size_t column = kFirstArg;
    for (const ArgColumn& arg : columns()) {
      const size_t width = arg.kind == ArgKind::kTriple ? 3 : 1;
      for (size_t i = 0; i < width; i++) args_.push_back(cells_of(arg.kind, chunk, column++));
    }
  }

  bool has_times(size_t row) const { return cells_[2].has(row); }

  void read(size_t row, TraceRow& out) const {
    out.table = table_;
    out.id = cells_[0].ints[row];
    out.track = cells_[1].ints[row];
    out.start_ns = cells_[2].ints[row];
    out.dur_ns = cells_[3].number(row);
    out.name = cells_[4].has(row) ? std::optional(cells_[4].texts[row]) : std::nullopt;
    out.category = cells_[5].text(row);
    out.kind = cells_[6].text(row);
    out.along = cells_[7].number(row).value_or(0);
    read_args(row, out.args);
  }

 private:
  std::span<const ArgColumn> columns() const { return trace_tables()[static_cast<size_t>(table_)].args; }

  static Cells cells_of(ArgKind kind, const Chunk& chunk, size_t column) {
    if (kind == ArgKind::kInt || kind == ArgKind::kTriple) return int_cells(chunk, column);
    return kind == ArgKind::kReal ? real_cells(chunk, column) : text_cells(chunk, column);
  }

  void read_args(size_t row, std::vector<TraceArg>& out) const {
    out.clear();
    const Cells* cells = args_.data();
    for (const ArgColumn& arg : columns()) {
      const Cells& cell = *cells;
      cells += arg.kind == ArgKind::kTriple ? 3 : 1;
      if (!cell.has(row)) continue;
      TraceArg& one = out.emplace_back(TraceArg{.key = arg.key, .kind = arg.kind});
      if (arg.kind == ArgKind::kInt) {
        one.number = cell.ints[row];
      } else if (arg.kind == ArgKind::kReal) {
        one.real = cell.reals[row];
      } else if (arg.kind == ArgKind::kTriple) {
        for (size_t i = 0; i < 3; i++) one.triple[i] = (&cell)[i].number(row);
      } else {
        one.text = cell.texts[row];
      }
    }
  }

  int table_;
  std::array<Cells, kFirstArg> cells_;
  std::vector<Cells> args_;
};

/// A span without a duration is an instant if it says so; else its end is not known.
bool is_written(const TraceRow& row) {
  return row.dur_ns ? *row.dur_ns >= 0 : row.kind == "instant";
}

// Rank, table and id in one number, since the sort of keys costs by the column.
constexpr int kIdBits = 57;
constexpr int kTableBits = 3;

std::string order_sql(const TraceTable& table, size_t number) {
  return fmt::format("(({})::BIGINT + 1) * {} + {} + {}::BIGINT", table.rank,
                     int64_t{1} << (kIdBits + kTableBits), static_cast<int64_t>(number) << kIdBits, table.id);
}

std::string slices_sql(const TraceReader& reader) {
  std::string all;
  const auto tables = trace_tables();
  for (size_t number = 0; number < tables.size(); number++) {
    const TraceTable& table = tables[number];
    if (!reader.has(table.table)) continue;
    all += fmt::format(
        "{}SELECT {} AS track, start_ns, dur_ns, {} AS place FROM {} WHERE start_ns IS NOT NULL AND dur_ns "
        ">= 0",
        all.empty() ? "" : " UNION ALL ", track_sql(table, static_cast<int>(number)),
        order_sql(table, number), table.table);
  }
  return all.empty() ? "" : all + " ORDER BY track, start_ns, dur_ns DESC, place";
}

}  // namespace

std::string triple_text(const TraceArg& arg) {
  std::string text;
  for (const auto& one : arg.triple)
    text += (text.empty() ? "[" : ", ") + (one ? std::to_string(*one) : "null");
  return text + "]";
}

bool touches_window(const std::vector<Stretch>& window, int64_t start_ns, int64_t end_ns) {
  if (window.empty()) return true;
  const auto is_before = [](const Stretch& one, int64_t time) { return one.end_ns <= time; };
  const auto next = std::lower_bound(window.begin(), window.end(), start_ns, is_before);
  return next != window.end() && (next->begin_ns < end_ns || next->begin_ns <= start_ns);
}

bool TraceReader::touches(int64_t start_ns, int64_t end_ns) const {
  return touches_window(call_.window, start_ns, end_ns);
}

Result<void> TraceReader::for_each_row(int table, const RowChoice& choice,
                                       const std::function<Result<void>(TraceRow&)>& each) {
  const std::string name(trace_tables()[static_cast<size_t>(table)].table);
  if (!has(name)) return {};
  NL_TRY(store::Connection * connection, ask(name));
  TraceRow row{};
  return connection->stream(rows_sql(table, choice), [&](const Chunk& chunk) -> Result<void> {
    const RowCells cells(table, chunk);
    for (size_t i = 0; i < chunk.size(); i++) {
      if (!cells.has_times(i)) continue;
      cells.read(i, row);
      if (!is_written(row) || !touches(row.start_ns, end_of(row.start_ns, row.dur_ns.value_or(0)))) continue;
      NL_CHECK(each(row));
    }
    return {};
  });
}

Result<void> TraceReader::for_each_slice(const std::function<Result<void>(const SliceKey&)>& each) {
  for (const TraceTable& table : trace_tables()) NL_CHECK(ask(std::string(table.table)));
  const std::string sql = slices_sql(*this);
  if (sql.empty()) return {};
  NL_TRY(store::Connection * connection, ask("spans"));
  return connection->stream(sql, [&](const Chunk& chunk) -> Result<void> {
    const int64_t* columns[4];
    for (size_t c = 0; c < 4; c++) columns[c] = chunk.int64s(c);
    for (size_t i = 0; i < chunk.size(); i++) {
      const int64_t place = columns[3][i];
      const SliceKey key{columns[0][i], columns[1][i], columns[2][i],
                         static_cast<int>(place >> kIdBits & ((1 << kTableBits) - 1)),
                         place & ((int64_t{1} << kIdBits) - 1)};
      if (touches(key.start_ns, end_of(key.start_ns, key.dur_ns))) NL_CHECK(each(key));
    }
    return {};
  });
}

Result<void> TraceReader::for_each_counter(const std::function<Result<void>(const CounterRow&)>& each) {
  if (!has("counters")) return {};
  NL_TRY(store::Connection * connection, ask("counters"));
  constexpr char kSql[] =
      "SELECT coalesce(track_id, -1)::BIGINT, start_ns, value, name, series, unit FROM counters "
      "WHERE start_ns IS NOT NULL AND isfinite(value)";
  return connection->stream(kSql, [&](const Chunk& chunk) -> Result<void> {
    const Cells names = text_cells(chunk, 3), series = text_cells(chunk, 4), units = text_cells(chunk, 5);
    for (size_t i = 0; i < chunk.size(); i++) {
      const int64_t start = chunk.int64s(1)[i];
      if (!touches(start, start)) continue;
      NL_CHECK(each(
          {chunk.int64s(0)[i], start, chunk.doubles(2)[i], names.text(i), series.text(i), units.text(i)}));
    }
    return {};
  });
}

Result<void> TraceReader::for_each_allocation(const std::function<Result<void>(const AllocationRow&)>& each) {
  if (!has("allocations")) return {};
  NL_TRY(store::Connection * connection, ask("allocations"));
  constexpr char kSql[] =
      "SELECT allocation_id::BIGINT, coalesce(track_id, -1)::BIGINT, start_ns, device_type::BIGINT, "
      "device::BIGINT, address, "
      "bytes, total_allocated_bytes, total_reserved_bytes, source_index, args FROM allocations WHERE "
      "start_ns IS NOT NULL";
  return connection->stream(kSql, [&](const Chunk& chunk) -> Result<void> {
    std::array<Cells, 10> cells;
    for (size_t c = 0; c < cells.size(); c++) cells[c] = int_cells(chunk, c);
    const Cells args = text_cells(chunk, cells.size());
    for (size_t i = 0; i < chunk.size(); i++) {
      const int64_t start = cells[2].ints[i];
      if (!touches(start, start)) continue;
      NL_CHECK(each({cells[0].ints[i], cells[1].ints[i], start, cells[3].number(i), cells[4].number(i),
                     cells[5].number(i), cells[6].number(i), cells[7].number(i), cells[8].number(i),
                     cells[9].number(i), args.text(i)}));
    }
    return {};
  });
}

Result<void> TraceReader::for_each_flow(const std::function<Result<void>(const FlowRow&)>& each) {
  if (!has("flows")) return {};
  NL_TRY(store::Connection * connection, ask("flows"));
  constexpr char kSql[] =
      "SELECT arrow_id, process_id, thread_id, start_ns, name, category, phase, args FROM flows WHERE "
      "start_ns IS NOT NULL";
  return connection->stream(kSql, [&](const Chunk& chunk) -> Result<void> {
    std::array<Cells, 4> ints, texts;
    for (size_t c = 0; c < 4; c++) ints[c] = int_cells(chunk, c), texts[c] = text_cells(chunk, c + 4);
    for (size_t i = 0; i < chunk.size(); i++) {
      const int64_t start = ints[3].ints[i];
      if (!touches(start, start)) continue;
      NL_CHECK(each({ints[0].number(i), ints[1].number(i), ints[2].number(i), start, texts[0].text(i),
                     texts[1].text(i), texts[2].text(i), texts[3].text(i)}));
    }
    return {};
  });
}

Result<void> TraceReader::count_lost_rows(const TraceTable& table, ExportReport& report) {
  const std::string name(table.table);
  if (!has(name)) return {};
  NL_TRY(store::Connection * connection, ask(name));
  const std::string is_instant = name == "spans" ? " AND kind IS DISTINCT FROM 'instant'" : "";
  const std::string count = "SELECT count(*) FROM " + name + " WHERE ";
  NL_TRY(const int64_t no_start, connection->integer(count + "start_ns IS NULL"));
  NL_TRY(const int64_t no_duration,
         connection->integer(count + "start_ns IS NOT NULL AND (dur_ns IS NULL OR dur_ns < 0)" + is_instant));
  if (no_start > 0) report.lost[name + " without a time"] += no_start;
  if (no_duration > 0) report.lost[name + " without a duration"] += no_duration;
  return {};
}

Result<void> TraceReader::count_lost(ExportReport& report) {
  for (const TraceTable& table : trace_tables()) NL_CHECK(count_lost_rows(table, report));
  for (const TimelessTable& table : timeless_tables()) {
    const auto rows = call_.run.files().tables.find(std::string(table.table));
    if (rows == call_.run.files().tables.end() || rows->second == 0) continue;
    report.lost[std::string(table.words)] += rows->second;
  }
  for (const std::string table : {"counters", "allocations", "flows"}) {
    if (!has(table)) continue;
    NL_TRY(store::Connection * connection, ask(table));
    const std::string no_value = table == "counters" ? " OR NOT coalesce(isfinite(value), false)" : "";
    NL_TRY(const int64_t rows,
           connection->integer("SELECT count(*) FROM " + table + " WHERE start_ns IS NULL" + no_value));
    if (rows > 0)
      report.lost[table + (no_value.empty() ? " without a time" : " without a time or a value")] += rows;
  }
  return {};
}

}  // namespace nl::exports

#include <fmt/core.h>

#include <algorithm>

#include "ops/advice/explained.h"
#include "ops/advice/linked_rows.h"
#include "ops/text/text.h"

namespace nl::ops {
namespace {

struct Place {
  std::string table = "spans";
  int64_t id = 0;
};

constexpr struct {
  std::string_view table;
  std::string_view id;
  std::string_view linked;
} kRowTables[] = {{"spans", "span_id", kLinkedSpans},
                  {"kernels", "kernel_id", kLinkedKernels},
                  {"copies", "copy_id", kLinkedCopies},
                  {"syncs", "sync_id", "syncs"}};

std::string_view id_column(std::string_view table) {
  for (const auto& [name, id, linked] : kRowTables) {
    if (name == table) return id;
  }
  return {};
}

std::string_view linked_table(std::string_view table) {
  for (const auto& [name, id, linked] : kRowTables) {
    if (name == table) return linked;
  }
  return {};
}

Result<Place> place_of(const std::string& text) {
  Place place;
  const size_t colon = text.find(':');
  if (colon != std::string::npos) place.table = text.substr(0, colon);
  const std::string digits = colon == std::string::npos ? text : text.substr(colon + 1);
  const bool is_number =
      !digits.empty() && digits.size() <= 15 &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (id_column(place.table).empty() || !is_number)
    return Error{ErrorCode::kBadInput, "not a row of the time line: " + shortened(text, 80),
                 "spans:ID, kernels:ID, copies:ID or syncs:ID; a number alone is a row of spans"};
  place.id = std::stoll(digits);
  return place;
}

/// What the table says of the row; the rank is that of its track.
struct Row {
  std::string name = {}, kind = {};
  std::optional<int64_t> start_ns = {}, dur_ns = {}, launch = {}, device = {}, rank = {}, track = {},
                         depth = {};
  bool is_on_device = false;
};

std::string row_sql(const Place& place) {
  const bool is_span = place.table == "spans", is_sync = place.table == "syncs";
  const bool is_launched = !is_span && !is_sync;
  return fmt::format(
      "SELECT r.name, {}, r.start_ns, r.dur_ns, {}::BIGINT, {}::BIGINT, t.rank::BIGINT, r.track_id::BIGINT, "
      "{}::BIGINT FROM {} r LEFT JOIN tracks t USING (track_id) WHERE r.{} = {}",
      is_span ? "r.kind::VARCHAR"
              : fmt::format("'{}'", place.table == "copies" ? "copy"
                                    : is_sync               ? "sync"
                                                            : "kernel"),
      is_launched ? "r.launch_span_id" : "NULL", is_span ? "t.device" : "coalesce(r.device, t.device)",
      is_span ? "r.depth" : "NULL", linked_table(place.table), id_column(place.table), place.id);
}

Result<std::optional<Row>> read_row(store::Connection& connection, const Place& place) {
  std::optional<Row> row;
  NL_CHECK(connection.stream(row_sql(place), [&](const store::Chunk& chunk) -> Result<void> {
    if (chunk.size() == 0) return {};
    row = Row{text_at(chunk, 0, 0, "(no name)"),
              text_at(chunk, 1, 0, ""),
              number_at(chunk, 2, 0),
              number_at(chunk, 3, 0),
              number_at(chunk, 4, 0),
              number_at(chunk, 5, 0),
              number_at(chunk, 6, 0),
              number_at(chunk, 7, 0),
              number_at(chunk, 8, 0)};
    row->is_on_device = place.table != "spans" || row->kind == "device";
    return {};
  }));
  return row;
}

/// The spans around a span, the innermost first; with itself if `from` is its launch.
Result<void> add_parents(Explained& out, store::Connection& connection, int64_t from, bool with_itself) {
  const std::string sql = fmt::format(R"(
      WITH RECURSIVE linked AS {}, up AS (
        SELECT span_id, parent_id, name, start_ns, dur_ns, 0 AS level FROM linked WHERE span_id = {}
        UNION ALL
        SELECT l.span_id, l.parent_id, l.name, l.start_ns, l.dur_ns, level + 1
        FROM linked l JOIN up ON l.span_id = up.parent_id WHERE level < 16)
      SELECT span_id, name, start_ns, dur_ns, level::BIGINT FROM up ORDER BY level)",
                                      kLinkedSpans, from);
  return connection.stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      const bool is_self = chunk.int64s(4)[i] == 0;
      if (is_self && !with_itself) continue;
      out.rows.push_back({.kind = is_self ? "call" : "parent",
                          .name = text_at(chunk, 1, i, "(no name)"),
                          .time_ns = number_at(chunk, 3, i),
                          .start_ns = number_at(chunk, 2, i),
                          .row = fmt::format("spans:{}", chunk.int64s(0)[i]),
                          .text = is_self ? "call that launched it" : "span around it"});
    }
    return {};
  });
}

/// Kernels that were launched inside of a span.
Result<void> add_launched(Explained& out, store::Connection& connection, int64_t span) {
  const std::string sql = fmt::format(
      "SELECT name, count(*)::BIGINT AS calls, try_cast(sum(dur_ns) AS BIGINT) AS ns FROM {0} WHERE "
      "launch_span_id = {1} OR op_id = {1} GROUP BY name ORDER BY ns DESC, name LIMIT 3",
      kLinkedKernels, span);
  return connection.stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++)
      out.rows.push_back({.kind = "kernel",
                          .name = text_at(chunk, 0, i, "(no name)"),
                          .time_ns = number_at(chunk, 2, i),
                          .calls = number_at(chunk, 1, i),
                          .text = "launched by it"});
    return {};
  });
}

std::string sql_of(const std::optional<int64_t>& number) {
  return number ? std::to_string(*number) : "NULL";
}

/// From the end of what ran before on the same device of the same rank, or on the same thread and depth, to
/// its start.
Result<Known<int64_t>> gap_before(store::Connection& connection, const Row& row) {
  using Gap = Known<int64_t>;
  if (!row.start_ns) return Gap(Absent{"the row has no time"});
  if (!row.is_on_device && (!row.track || !row.depth)) return Gap(Absent{"the row has no place on a track"});
  const std::string before =
      row.is_on_device
          ? fmt::format("{} WHERE device IS NOT DISTINCT FROM {} AND rank IS NOT DISTINCT FROM {}",
                        kDeviceWork, sql_of(row.device), sql_of(row.rank))
          : fmt::format("{} WHERE track_id = {} AND depth = {}", kLinkedSpans, *row.track, *row.depth);
  std::optional<int64_t> gap;
  const std::string sql = fmt::format(
      "SELECT CASE WHEN count(*) > 0 THEN "  // greatest() leaves NULLs out
      "try_cast(greatest({0}::HUGEINT - max(start_ns::HUGEINT + coalesce(dur_ns, 0)), 0) AS BIGINT) END "
      "FROM {1} AND start_ns < {0}",
      *row.start_ns, before);
  NL_CHECK(connection.stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    if (chunk.size() > 0) gap = number_at(chunk, 0, 0);
    return {};
  }));
  if (!gap) return Gap(Absent{"nothing ran there before"});
  return Gap(*gap);
}

std::string row_meaning(const Place& place, const Row& row) {
  if (place.table == "kernels") return "A kernel launch: one run of a kernel on a device.";
  if (place.table == "copies") return "A copy or a set of memory on a device.";
  if (place.table == "syncs")
    return "A record of a device that waits: for an event, a stream or all its work.";
  if (row.is_on_device) return "Work of a device that the source shows as a span, not as a kernel.";
  return fmt::format(
      "A span of the host, of the kind {}: its time is between its start and its end, with all that "
      "lies inside.",
      row.kind.empty() ? "other" : row.kind);
}

}  // namespace

Result<Explained> explain_row(const std::string& text, const NamedAnalysis& done) {
  NL_TRY(const Place place, place_of(text));
  NL_TRY(store::Connection* const connection, done.open->ask(kLinkedTables));
  NL_TRY(const auto row, read_row(*connection, place));
  const std::string name = fmt::format("{}:{}", place.table, place.id);
  if (!row)
    return Error{
        ErrorCode::kNotFound,
        "the run has no row " + name,
        "{} finds rows by name",
        {suggested("timeline", {{"run", done.named.call_name()}, {"what", "search"}, {"text", "NAME"}})}};
  Explained out{.kind = "span", .name = name, .meaning = row_meaning(place, *row)};
  out.run_id = done.named.run_id;
  NL_TRY(const Known<int64_t> gap, gap_before(*connection, *row));
  out.here = fmt::format("{}: {}", quoted_name(row->name),
                         row->dur_ns ? duration_text(*row->dur_ns) : "no duration, it is an instant");
  if (gap) out.here = *out.here + fmt::format(", {} after what ran before", duration_text(*gap));
  out.rows.push_back({.kind = "itself",
                      .name = row->name,
                      .time_ns = row->dur_ns,
                      .start_ns = row->start_ns,
                      .row = name,
                      .text = row->kind});
  out.figures.push_back(
      ns_figure("dur_ns", known_or(row->dur_ns, "the source gives no duration"), "its length"));
  out.figures.push_back(ns_figure("gap_before_ns",
                                  map(gap, [](int64_t ns) { return static_cast<double>(ns); }),
                                  row->is_on_device ? "time on the device in which nothing ran before it"
                                                    : "time on the thread, at the same depth, before it"));
  if (place.table == "spans") {
    NL_CHECK(add_parents(out, *connection, place.id, false));
    NL_CHECK(add_launched(out, *connection, place.id));
  } else if (row->launch) {
    NL_CHECK(add_parents(out, *connection, *row->launch, true));
  } else if (place.table != "syncs") {
    out.limits.push_back("The capture does not tell which call launched it.");
  }
  return out;
}

}  // namespace nl::ops

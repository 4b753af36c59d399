#include "ops/runs/recorded_times.h"

#include <fmt/core.h>

#include "ops/text/text.h"
#include "store/run_summary.h"

namespace nl::ops {
namespace {

using analyze::RecordedFunction;
using analyze::RecordedScope;
using analyze::RecordedTimes;
using analyze::RecordedWait;

// A scope's own time is its duration less that of the scopes directly inside of it.
constexpr char kScopes[] = R"(
  WITH inner_ns AS (SELECT t.parent_id AS span_id, sum(coalesce(s.dur_ns, 0)) AS ns
                    FROM span_tree t JOIN spans s USING (span_id)
                    WHERE t.parent_id IS NOT NULL AND s.kind = 'annotation' GROUP BY t.parent_id)
  SELECT s.name, count(*)::BIGINT AS calls,
         try_cast(sum(greatest(s.dur_ns - coalesce(i.ns, 0), 0)) AS BIGINT) AS own_ns,
         try_cast(sum(s.dur_ns) AS BIGINT) AS total_ns
  FROM spans s LEFT JOIN inner_ns i USING (span_id) WHERE s.kind = 'annotation' AND s.dur_ns IS NOT NULL
  GROUP BY s.name ORDER BY own_ns DESC, s.name LIMIT )";

// Stacks repeat: their frames are told apart once for each, not once for each sample. Addresses without a
// name are one function for each file.
constexpr char kFunctions[] = R"(
  WITH asked AS (SELECT stack, weight FROM samples JOIN tracks USING (track_id) WHERE (kind = 'python') = {}),
       stacks AS (SELECT string_split(regexp_replace(stack, '\+0x[0-9a-f]+(;|$)', ' (no name)\1', 'g'), ';') AS frames,
                         sum(weight) AS ns
                  FROM asked WHERE stack IS NOT NULL GROUP BY stack),
       every AS (SELECT unnest(list_distinct(frames)) AS name, ns FROM stacks),
       totals AS (SELECT name, sum(ns) AS ns FROM every GROUP BY name),
       own AS (SELECT frames[-1] AS name, sum(ns) AS ns FROM stacks GROUP BY frames[-1])
  SELECT name, try_cast(own.ns AS BIGINT) AS own_ns, try_cast(totals.ns AS BIGINT) AS total_ns,
         (SELECT try_cast(sum(weight) AS BIGINT) FROM asked) AS all_ns
  FROM own JOIN totals USING (name) ORDER BY own.ns DESC, name LIMIT {})";

constexpr char kWaits[] = R"(
  SELECT name, count(*)::BIGINT AS times, try_cast(sum(dur_ns) AS BIGINT) AS total_ns
  FROM spans WHERE category = 'off_cpu' GROUP BY name ORDER BY name DESC)";

std::optional<int64_t> number_or_none(const store::Chunk& chunk, size_t column, size_t row) {
  return chunk.is_null(column, row) ? std::nullopt : std::optional(chunk.int64s(column)[row]);
}

std::optional<std::string> name_or_none(const store::Chunk& chunk, size_t row) {
  return chunk.is_null(0, row) ? std::nullopt : std::optional(std::string(chunk.text(0, row)));
}

/// A row of the list for each row of the query.
template <class Row, class ToRow>
Result<std::vector<Row>> rows_of(store::Connection& connection, const std::string& sql, ToRow&& to_row) {
  std::vector<Row> rows;
  NL_CHECK(connection.stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) rows.push_back(to_row(chunk, i));
    return {};
  }));
  return rows;
}

Result<std::vector<RecordedScope>> scopes_of(store::Connection& connection, const std::string& sql) {
  return rows_of<RecordedScope>(connection, sql, [](const store::Chunk& chunk, size_t i) {
    return RecordedScope{name_or_none(chunk, i), number_or_none(chunk, 1, i), number_or_none(chunk, 2, i),
                         number_or_none(chunk, 3, i)};
  });
}

Result<std::vector<RecordedFunction>> functions_of(store::Connection& connection, const std::string& sql) {
  return rows_of<RecordedFunction>(connection, sql, [](const store::Chunk& chunk, size_t i) {
    RecordedFunction row{name_or_none(chunk, i), number_or_none(chunk, 1, i), number_or_none(chunk, 2, i),
                         number_or_none(chunk, 3, i)};
    if (row.own_ns && row.all_ns.value_or(0) > 0)
      row.share = static_cast<double>(*row.own_ns) / static_cast<double>(*row.all_ns);
    return row;
  });
}

Result<std::vector<RecordedWait>> waits_of(store::Connection& connection, const std::string& sql) {
  return rows_of<RecordedWait>(connection, sql, [](const store::Chunk& chunk, size_t i) {
    return RecordedWait{name_or_none(chunk, i), number_or_none(chunk, 1, i), number_or_none(chunk, 2, i)};
  });
}

std::string time_of(const std::optional<int64_t>& ns) {
  return ns ? duration_text(*ns) : "unknown";
}

std::string shown_name(const std::optional<std::string>& name, const TextStyle& style) {
  const size_t width = style.width > 70 ? static_cast<size_t>(style.width) - 40 : 30;
  return shortened(name.value_or("(no name)"), width);
}

std::string scopes_text(const std::vector<RecordedScope>& scopes, const TextStyle& style) {
  if (scopes.empty()) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kLeft});
  table.add({"own", "total", "calls", "scope"});
  for (const RecordedScope& row : scopes)
    table.add({time_of(row.own_ns), time_of(row.total_ns), grouped(row.calls.value_or(0)),
               shown_name(row.name, style)});
  return "\n" + bold("Top scopes, by their own time (without scopes inside them)", style) + "\n" +
         table.text("  ", true, style);
}

std::string functions_text(const std::vector<RecordedFunction>& functions, const char* title,
                           const TextStyle& style) {
  if (functions.empty()) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kLeft});
  table.add({"share", "own", "total", "function"});
  for (const RecordedFunction& row : functions)
    table.add({row.share ? percent_text(*row.share) : "-", time_of(row.own_ns), time_of(row.total_ns),
               shown_name(row.name, style)});
  return "\n" + bold(title, style) + "\n" + table.text("  ", true, style);
}

/// "Threads did not run: waiting 12.3 s (40 times), preempted 2.1 ms (7 times)"
std::string waits_text(const std::vector<RecordedWait>& waits) {
  std::string text;
  for (const RecordedWait& row : waits)
    text += fmt::format("{} {} {} ({})", text.empty() ? "Threads did not run:" : ",", row.name.value_or(""),
                        time_of(row.total_ns), counted(row.times.value_or(0), "time"));
  return text.empty() ? "" : "\n" + text + "\n";
}

}  // namespace

Result<std::optional<RecordedTimes>> recorded_times(store::OpenRun& run, int64_t top) {
  if (!run.files().formats.contains("recording")) return std::optional<RecordedTimes>();
  NL_TRY(store::Connection * connection, run.ask({"spans", "span_tree", "samples", "tracks"}));
  RecordedTimes times;
  times.queries = {kScopes + std::to_string(top), fmt::format(kFunctions, false, top),
                   fmt::format(kFunctions, true, top), kWaits};
  if (run.has("spans")) {
    NL_TRY(times.scopes, scopes_of(*connection, times.queries.scopes));
    NL_TRY(times.waits, waits_of(*connection, times.queries.waits));
  }
  if (run.has("samples")) {
    NL_TRY(times.functions, functions_of(*connection, times.queries.functions));
    NL_TRY(times.python, functions_of(*connection, times.queries.python));
  }
  return std::optional(std::move(times));
}

Result<std::optional<RecordedTimes>> recorded_part(store::OpenRun& run, const std::string& window,
                                                   int64_t top) {
  return window == "whole" || window == "steady" ? recorded_times(run, top) : std::optional<RecordedTimes>();
}

std::string recorded_times_text(const std::optional<RecordedTimes>& times, const TextStyle& style) {
  if (!times) return "";
  return scopes_text(times->scopes, style) +
         functions_text(times->functions, "Top functions, share of the sampled processor time", style) +
         functions_text(times->python, "Top Python functions (C code that they call counts as theirs)",
                        style) +
         waits_text(times->waits);
}

}  // namespace nl::ops

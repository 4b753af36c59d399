#include "ops/runs/recorded_times.h"

#include <fmt/core.h>

#include "ops/text/text.h"
#include "store/run_summary.h"

namespace nl::ops {
namespace {

using nlohmann::json;

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

json number_or_null(const store::Chunk& chunk, size_t column, size_t row) {
  return chunk.is_null(column, row) ? json(nullptr) : json(chunk.int64s(column)[row]);
}

Result<json> rows_of(store::Connection& connection, const std::string& sql,
                     const std::vector<const char*>& numbers) {
  json rows = json::array();
  NL_CHECK(connection.stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      json row = {{"name", chunk.is_null(0, i) ? json(nullptr) : json(std::string(chunk.text(0, i)))}};
      for (size_t n = 0; n < numbers.size(); n++) row[numbers[n]] = number_or_null(chunk, n + 1, i);
      rows.push_back(std::move(row));
    }
    return {};
  }));
  return rows;
}

void add_shares(json& functions) {
  for (json& row : functions) {
    const json all = row["all_ns"], own = row["own_ns"];
    const bool is_known = !own.is_null() && !all.is_null() && all > 0;
    row["share"] = is_known ? json(own.get<double>() / all.get<double>()) : json(nullptr);
  }
}

std::string time_of(const json& ns) {
  return ns.is_null() ? "unknown" : duration_text(ns);
}

std::string name_of(const json& row, const TextStyle& style) {
  const size_t width = style.width > 70 ? static_cast<size_t>(style.width) - 40 : 30;
  return shortened(row["name"].is_null() ? "(no name)" : row["name"].get<std::string>(), width);
}

std::string scopes_text(const json& scopes, const TextStyle& style) {
  if (scopes.empty()) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kLeft});
  table.add({"own", "total", "calls", "scope"});
  for (const json& row : scopes)
    table.add({time_of(row["own_ns"]), time_of(row["total_ns"]), grouped(row["calls"]), name_of(row, style)});
  return "\n" + bold("Top scopes, by the time that no scope inside of them has", style) + "\n" +
         table.text("  ", true, style);
}

std::string functions_text(const json& functions, const char* title, const TextStyle& style) {
  if (functions.empty()) return "";
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kLeft});
  table.add({"share", "own", "total", "function"});
  for (const json& row : functions)
    table.add({row["share"].is_null() ? "-" : percent_text(row["share"]), time_of(row["own_ns"]),
               time_of(row["total_ns"]), name_of(row, style)});
  return "\n" + bold(title, style) + "\n" + table.text("  ", true, style);
}

/// "Threads did not run: waiting 12.3 s (40 times), preempted 2.1 ms (7 times)"
std::string waits_text(const json& waits) {
  std::string text;
  for (const json& row : waits)
    text +=
        fmt::format("{} {} {} ({})", text.empty() ? "Threads did not run:" : ",",
                    row["name"].get<std::string>(), time_of(row["total_ns"]), counted(row["times"], "time"));
  return text.empty() ? "" : "\n" + text + "\n";
}

}  // namespace

Result<json> recorded_times(store::OpenRun& run, int64_t top) {
  if (!run.files().formats.contains("recording")) return json(nullptr);
  NL_TRY(store::Connection * connection, run.ask({"spans", "span_tree", "samples", "tracks"}));
  const auto has = [&](const char* table) { return run.has(table); };
  json times = {{"scopes", json::array()},
                {"functions", json::array()},
                {"python", json::array()},
                {"waits", json::array()},
                {"queries",
                 {{"scopes", kScopes + std::to_string(top)},
                  {"functions", fmt::format(kFunctions, false, top)},
                  {"python", fmt::format(kFunctions, true, top)},
                  {"waits", kWaits}}}};
  const auto ask = [&](const char* key, const std::vector<const char*>& numbers) -> Result<void> {
    NL_TRY(times[key], rows_of(*connection, times["queries"][key], numbers));
    return {};
  };
  if (has("spans")) {
    NL_CHECK(ask("scopes", {"calls", "own_ns", "total_ns"}));
    NL_CHECK(ask("waits", {"times", "total_ns"}));
  }
  for (const char* const key : {"functions", "python"}) {
    if (!has("samples")) break;
    NL_CHECK(ask(key, {"own_ns", "total_ns", "all_ns"}));
    add_shares(times[key]);
  }
  return times;
}

Result<json> recorded_part(store::OpenRun& run, const std::string& window, int64_t top) {
  return window == "whole" ? recorded_times(run, top) : json(nullptr);
}

std::string recorded_times_text(const json& times, const TextStyle& style) {
  if (times.is_null()) return "";
  return scopes_text(times["scopes"], style) +
         functions_text(times["functions"], "Top functions, share of the sampled processor time", style) +
         functions_text(times["python"], "Top Python functions, with what they call in C as their own",
                        style) +
         waits_text(times["waits"]);
}

}  // namespace nl::ops

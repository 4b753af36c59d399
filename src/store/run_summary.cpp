#include "store/run_summary.h"

#include <set>

#include "store/engine.h"

namespace nl::store {
namespace {

using nlohmann::json;

/// Rows of integers, texts and NULLs as JSON objects. Sums are cast by try_cast: one that does not fit is
/// unknown.
Result<json> rows_of(Connection& connection, const std::string& sql, const std::vector<std::string>& names,
                     bool first_is_text) {
  json rows = json::array();
  NL_CHECK(connection.stream(sql, [&](const Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      json row = json::object();
      for (size_t c = 0; c < names.size(); c++) {
        if (chunk.is_null(c, i)) {
          row[names[c]] = nullptr;
        } else if (c == 0 && first_is_text) {
          row[names[c]] = std::string(chunk.text(c, i));
        } else {
          row[names[c]] = chunk.int64s(c)[i];
        }
      }
      rows.push_back(row);
    }
    return {};
  }));
  return rows;
}

constexpr char kDevices[] = R"(
  SELECT device::BIGINT, sum(kernels)::BIGINT, try_cast(sum(kernel_ns) AS BIGINT), sum(copies)::BIGINT,
         try_cast(sum(copy_ns) AS BIGINT), try_cast(sum(copy_bytes) AS BIGINT)
  FROM (SELECT device, count(*) kernels, coalesce(sum(dur_ns), 0) kernel_ns, 0 copies, 0 copy_ns, 0 copy_bytes
        FROM kernels GROUP BY device
        UNION ALL
        SELECT device, 0, 0, count(*), coalesce(sum(dur_ns), 0), coalesce(sum(bytes), 0) FROM copies GROUP BY device)
  GROUP BY device ORDER BY device)";

constexpr char kKernels[] = R"(
  SELECT count(*)::BIGINT, try_cast(coalesce(sum(dur_ns), 0) AS BIGINT), count(DISTINCT name)::BIGINT,
         (SELECT count(launch_span_id) FROM kernel_links)::BIGINT, (SELECT count(op_id) FROM kernel_links)::BIGINT
  FROM kernels)";

constexpr char kTopKernels[] = R"(
  SELECT name, count(*)::BIGINT, try_cast(coalesce(sum(dur_ns), 0) AS BIGINT) total FROM kernels
  GROUP BY name ORDER BY sum(dur_ns) DESC NULLS LAST, name LIMIT )";

// An op's own time is its duration less that of the spans directly inside it.
constexpr char kOwnTimes[] = R"(
  WITH inner_ns AS (SELECT t.parent_id AS span_id, sum(coalesce(s.dur_ns, 0)) AS ns
                    FROM span_tree t JOIN spans s USING (span_id)
                    WHERE t.parent_id IS NOT NULL AND s.kind IN ('op', 'runtime') GROUP BY t.parent_id)
  SELECT s.name, count(*)::BIGINT, try_cast(sum(greatest(s.dur_ns - coalesce(i.ns, 0), 0)) AS BIGINT) total
  FROM spans s LEFT JOIN inner_ns i USING (span_id) WHERE s.kind = 'op' AND s.dur_ns IS NOT NULL
  GROUP BY s.name)";

constexpr char kOps[] = R"(
  SELECT count(*)::BIGINT, count(DISTINCT name)::BIGINT FROM spans WHERE kind = 'op')";

constexpr char kLayers[] = R"(
  SELECT count(*)::BIGINT, count(dur_ns)::BIGINT, try_cast(sum(dur_ns) AS BIGINT), max(calls)::BIGINT
  FROM ops WHERE op_id IS NULL)";

constexpr char kTopLayers[] = R"(
  SELECT name, calls, dur_ns FROM ops WHERE op_id IS NULL AND dur_ns IS NOT NULL
  ORDER BY dur_ns DESC, name LIMIT )";

json first_of(const json& rows) {
  return rows.empty() ? json::object() : rows[0];
}

Result<void> add_top(Connection& connection, json& summary, int64_t top_rows) {
  const std::vector<std::string> names = {"name", "calls", "total_ns"};
  const std::string limit = std::to_string(top_rows);
  int64_t whole =
      summary["kernels"]["total_ns"].is_null() ? 0 : summary["kernels"]["total_ns"].get<int64_t>();
  if (summary["kernels"]["count"] != 0) {
    summary["top_of"] = "kernels";
    NL_TRY(summary["top"], rows_of(connection, kTopKernels + limit, names, true));
  } else if (summary["layers"]["timed"] != 0) {
    summary["top_of"] = "layers";
    whole = summary["layers"]["total_ns"].is_null() ? 0 : summary["layers"]["total_ns"].get<int64_t>();
    NL_TRY(summary["top"], rows_of(connection, kTopLayers + limit, names, true));
  } else {
    summary["top_of"] = "ops";
    NL_TRY(summary["top"], rows_of(connection,
                                   "SELECT *, try_cast(sum(total) OVER () AS BIGINT) FROM (" +
                                       std::string(kOwnTimes) + ") ORDER BY total DESC, name LIMIT " + limit,
                                   {"name", "calls", "total_ns", "whole_ns"}, true));
    for (auto& row : summary["top"]) {
      whole = row["whole_ns"].is_null() ? 0 : row["whole_ns"].get<int64_t>();
      row.erase("whole_ns");
    }
  }
  for (auto& row : summary["top"]) {
    const bool known = whole > 0 && !row["total_ns"].is_null();
    row["share"] = known ? json(row["total_ns"].get<double>() / static_cast<double>(whole)) : json();
  }
  return {};
}

/// What the summary asks for; other tables need no view.
const std::set<std::string> kAskedFor = {"spans", "kernels", "copies", "kernel_links", "span_tree", "ops"};
constexpr int64_t kRowsForAThread = 500'000;

int threads_for(const RunFiles& files) {
  int64_t rows = 0;
  for (const auto& [table, n] : files.tables) rows += kAskedFor.contains(table) ? n : 0;
  return rows > kRowsForAThread ? 2 : 1;
}

/// A question about tables that the run does not have is answered without the engine.
Result<json> first_row(Connection& connection, bool has_rows, const char* sql,
                       const std::vector<std::string>& names, const json& none) {
  if (!has_rows) return none;
  NL_TRY(const json rows, rows_of(connection, sql, names, false));
  return first_of(rows);
}

}  // namespace

Result<json> summarize_run(OpenRun& run, int64_t top_rows) {
  NL_TRY(Connection * asked, run.ask(kAskedFor));
  Connection& connection = *asked;
  if (threads_for(run.files()) > 1)
    NL_CHECK(connection.run("SET threads = " + std::to_string(threads_for(run.files()))));
  const auto has = [&](const char* table) { return run.has(table); };
  json summary;
  NL_TRY(const json window, rows_of(connection, kCaptureWindow, {"start_ns", "dur_ns"}, false));
  summary["window"] = first_of(window);
  summary["devices"] = json::array();
  if (has("kernels") || has("copies")) {
    NL_TRY(summary["devices"],
           rows_of(connection, kDevices,
                   {"device", "kernels", "kernel_ns", "copies", "copy_ns", "copy_bytes"}, false));
  }
  NL_TRY(summary["kernels"],
         first_row(connection, has("kernels"), kKernels, {"count", "total_ns", "names", "linked", "in_ops"},
                   {{"count", 0}, {"total_ns", 0}, {"names", 0}, {"linked", 0}, {"in_ops", 0}}));
  NL_TRY(summary["ops"],
         first_row(connection, has("spans"), kOps, {"count", "names"}, {{"count", 0}, {"names", 0}}));
  NL_TRY(summary["layers"],
         first_row(connection, has("layers") || has("layer_times"), kLayers,
                   {"count", "timed", "total_ns", "iterations"},
                   {{"count", 0}, {"timed", 0}, {"total_ns", nullptr}, {"iterations", nullptr}}));
  NL_CHECK(add_top(connection, summary, top_rows));
  return summary;
}

}  // namespace nl::store

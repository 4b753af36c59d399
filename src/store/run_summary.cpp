#include "store/run_summary.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "store/engine.h"

namespace nl::store {
namespace {

using nlohmann::json;
__extension__ using Wide = __int128;

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

// Each table is read once; what the summary says of it is added up from these groups. A sum may be too large
// for an integer of 64 bits, so it comes in two parts: sum = high * kHigh + low.
constexpr Wide kHigh = Wide{1} << 32;

constexpr char kKernelGroups[] = R"(
  SELECT device::BIGINT, name, count(*)::BIGINT, (sum(dur_ns) // 4294967296)::BIGINT, (sum(dur_ns) % 4294967296)::BIGINT,
         min(start_ns), max(start_ns + dur_ns)
  FROM kernels GROUP BY device, name)";

constexpr char kCopyGroups[] = R"(
  SELECT device::BIGINT, count(*)::BIGINT, (sum(dur_ns) // 4294967296)::BIGINT, (sum(dur_ns) % 4294967296)::BIGINT,
         (sum(bytes) // 4294967296)::BIGINT, (sum(bytes) % 4294967296)::BIGINT, min(start_ns), max(start_ns + dur_ns)
  FROM copies GROUP BY device)";

constexpr char kLinkCounts[] = "SELECT count(launch_span_id)::BIGINT, count(op_id)::BIGINT FROM kernel_links";

constexpr char kSpanCounts[] = R"(
  SELECT count(*) FILTER (kind = 'op')::BIGINT, count(DISTINCT name) FILTER (kind = 'op')::BIGINT,
         min(start_ns) FILTER (kind <> 'instant'), max(start_ns + coalesce(dur_ns, 0)) FILTER (kind <> 'instant')
  FROM spans)";

// An op's own time is its duration less that of the spans directly inside it.
constexpr char kOwnTimes[] = R"(
  WITH inner_ns AS (SELECT t.parent_id AS span_id, sum(coalesce(s.dur_ns, 0)) AS ns
                    FROM span_tree t JOIN spans s USING (span_id)
                    WHERE t.parent_id IS NOT NULL AND s.kind IN ('op', 'runtime') GROUP BY t.parent_id)
  SELECT s.name, count(*)::BIGINT, try_cast(sum(greatest(s.dur_ns - coalesce(i.ns, 0), 0)) AS BIGINT) total
  FROM spans s LEFT JOIN inner_ns i USING (span_id) WHERE s.kind = 'op' AND s.dur_ns IS NOT NULL
  GROUP BY s.name)";

constexpr char kLayers[] = R"(
  SELECT count(*)::BIGINT, count(dur_ns)::BIGINT, try_cast(sum(dur_ns) AS BIGINT), max(calls)::BIGINT
  FROM ops WHERE op_id IS NULL)";

constexpr char kTopLayers[] = R"(
  SELECT name, calls, dur_ns FROM ops WHERE op_id IS NULL AND dur_ns IS NOT NULL
  ORDER BY dur_ns DESC, name LIMIT )";

// ---- Sums of the groups

using MaybeInteger = std::optional<int64_t>;

MaybeInteger integer_at(const Chunk& chunk, size_t column, size_t row) {
  return chunk.is_null(column, row) ? MaybeInteger() : chunk.int64s(column)[row];
}

/// Of two columns; nothing if no row of the group has a value.
std::optional<Wide> wide_sum(const Chunk& chunk, size_t high, size_t row) {
  if (chunk.is_null(high, row)) return {};
  return chunk.int64s(high)[row] * kHigh + chunk.int64s(high + 1)[row];
}

/// A number that does not fit is unknown.
json number_of(Wide value) {
  return value < INT64_MIN || value > INT64_MAX ? json() : json(static_cast<int64_t>(value));
}

class Window {
 public:
  void add(MaybeInteger start, MaybeInteger end) {
    if (start) start_ = std::min(start_.value_or(*start), *start);
    if (end) end_ = std::max(end_.value_or(*end), *end);
  }
  json tree() const {
    return {{"start_ns", start_ ? json(*start_) : json()},
            {"dur_ns", start_ && end_ ? number_of(Wide{*end_} - *start_) : json()}};
  }

 private:
  MaybeInteger start_, end_;
};

struct NameGroup {
  int64_t calls = 0;
  std::optional<Wide> ns = {};  ///< nothing: no call has a duration
};

struct DeviceSums {
  int64_t kernels = 0, copies = 0;
  Wide kernel_ns = 0, copy_ns = 0, copy_bytes = 0;
};

/// What is said of kernels, copies and spans. Names and devices may be unknown; those come last.
class Sums {
 public:
  Result<void> add_kernels(Connection& connection) {
    return connection.stream(kKernelGroups, [&](const Chunk& chunk) -> Result<void> {
      for (size_t row = 0; row < chunk.size(); row++) {
        const int64_t calls = chunk.int64s(2)[row];
        const std::optional<Wide> ns = wide_sum(chunk, 3, row);
        NameGroup& name = chunk.is_null(1, row) ? nameless_ : names_[std::string(chunk.text(1, row))];
        name.calls += calls;
        if (ns) name.ns = name.ns.value_or(0) + *ns;
        DeviceSums& device = device_of(integer_at(chunk, 0, row));
        device.kernels += calls;
        device.kernel_ns += ns.value_or(0);
        window_.add(integer_at(chunk, 5, row), integer_at(chunk, 6, row));
      }
      return {};
    });
  }

  Result<void> add_copies(Connection& connection) {
    return connection.stream(kCopyGroups, [&](const Chunk& chunk) -> Result<void> {
      for (size_t row = 0; row < chunk.size(); row++) {
        DeviceSums& device = device_of(integer_at(chunk, 0, row));
        device.copies += chunk.int64s(1)[row];
        device.copy_ns += wide_sum(chunk, 2, row).value_or(0);
        device.copy_bytes += wide_sum(chunk, 4, row).value_or(0);
        window_.add(integer_at(chunk, 6, row), integer_at(chunk, 7, row));
      }
      return {};
    });
  }

  Result<void> add_spans(Connection& connection) {
    return connection.stream(kSpanCounts, [&](const Chunk& chunk) -> Result<void> {
      if (chunk.size() == 0) return {};
      ops_ = {{"count", chunk.int64s(0)[0]}, {"names", chunk.int64s(1)[0]}};
      window_.add(integer_at(chunk, 2, 0), integer_at(chunk, 3, 0));
      return {};
    });
  }

  json window() const { return window_.tree(); }
  json ops() const { return ops_; }

  json devices() const {
    json rows = json::array();
    for (const auto& [number, sums] : devices_) rows.push_back(device_row(number, sums));
    if (of_no_device_) rows.push_back(device_row(nullptr, *of_no_device_));
    return rows;
  }

  /// Without the links.
  json kernels() const {
    int64_t count = 0;
    Wide total = 0;
    const auto add = [&](const NameGroup& group) {
      count += group.calls;
      total += group.ns.value_or(0);
    };
    for (const auto& [name, group] : names_) add(group);
    add(nameless_);
    return {{"count", count},
            {"total_ns", number_of(total)},
            {"names", static_cast<int64_t>(names_.size())},
            {"linked", 0},
            {"in_ops", 0}};
  }

  /// The longest first; those without a duration last, and those that are equal in the order of their names.
  json top_kernels(int64_t rows) const {
    std::vector<std::pair<const std::string*, const NameGroup*>> order;
    order.reserve(names_.size() + 1);
    for (const auto& [name, group] : names_) order.emplace_back(&name, &group);
    if (nameless_.calls > 0) order.emplace_back(nullptr, &nameless_);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      if (a.second->ns.has_value() != b.second->ns.has_value()) return a.second->ns.has_value();
      return a.second->ns.value_or(0) > b.second->ns.value_or(0);
    });
    json top = json::array();
    for (const auto& [name, group] : order) {
      if (static_cast<int64_t>(top.size()) == rows) break;
      top.push_back({{"name", name == nullptr ? json() : json(*name)},
                     {"calls", group->calls},
                     {"total_ns", number_of(group->ns.value_or(0))}});
    }
    return top;
  }

 private:
  DeviceSums& device_of(MaybeInteger device) {
    if (device) return devices_[*device];
    if (!of_no_device_) of_no_device_.emplace();
    return *of_no_device_;
  }

  static json device_row(const json& device, const DeviceSums& sums) {
    return {{"device", device},
            {"kernels", sums.kernels},
            {"kernel_ns", number_of(sums.kernel_ns)},
            {"copies", sums.copies},
            {"copy_ns", number_of(sums.copy_ns)},
            {"copy_bytes", number_of(sums.copy_bytes)}};
  }

  std::map<std::string, NameGroup> names_;
  NameGroup nameless_;
  std::map<int64_t, DeviceSums> devices_;
  std::optional<DeviceSums> of_no_device_;
  json ops_ = {{"count", 0}, {"names", 0}};
  Window window_;
};

// ---- The summary

json first_of(const json& rows) {
  return rows.empty() ? json::object() : rows[0];
}

Result<void> add_links(Connection& connection, json& kernels) {
  NL_TRY(const json rows, rows_of(connection, kLinkCounts, {"linked", "in_ops"}, false));
  if (!rows.empty()) kernels.update(rows[0]);
  return {};
}

Result<json> layers_of(OpenRun& run) {
  if (!run.has("layers") && !run.has("layer_times"))
    return json{{"count", 0}, {"timed", 0}, {"total_ns", nullptr}, {"iterations", nullptr}};
  NL_TRY(Connection * connection, run.ask({"ops", "spans"}));
  NL_TRY(const json rows, rows_of(*connection, kLayers, {"count", "timed", "total_ns", "iterations"}, false));
  return first_of(rows);
}

int64_t or_zero(const json& number) {
  return number.is_null() ? 0 : number.get<int64_t>();
}

Result<void> add_top_ops(OpenRun& run, json& summary, int64_t top_rows, int64_t& whole) {
  NL_TRY(Connection * connection, run.ask({"spans", "span_tree"}));
  NL_TRY(summary["top"],
         rows_of(*connection,
                 "SELECT *, try_cast(sum(total) OVER () AS BIGINT) FROM (" + std::string(kOwnTimes) +
                     ") ORDER BY total DESC, name LIMIT " + std::to_string(top_rows),
                 {"name", "calls", "total_ns", "whole_ns"}, true));
  for (auto& row : summary["top"]) {
    whole = or_zero(row["whole_ns"]);
    row.erase("whole_ns");
  }
  return {};
}

Result<void> add_top(OpenRun& run, const Sums& sums, json& summary, int64_t top_rows) {
  int64_t whole = or_zero(summary["kernels"]["total_ns"]);
  if (summary["kernels"]["count"] != 0) {
    summary["top_of"] = "kernels";
    summary["top"] = sums.top_kernels(top_rows);
  } else if (summary["layers"]["timed"] != 0) {
    summary["top_of"] = "layers";
    whole = or_zero(summary["layers"]["total_ns"]);
    NL_TRY(Connection * connection, run.ask({"ops", "spans"}));
    NL_TRY(summary["top"],
           rows_of(*connection, kTopLayers + std::to_string(top_rows), {"name", "calls", "total_ns"}, true));
  } else {
    summary["top_of"] = "ops";
    NL_CHECK(add_top_ops(run, summary, top_rows, whole));
  }
  for (auto& row : summary["top"]) {
    const bool known = whole > 0 && !row["total_ns"].is_null();
    row["share"] = known ? json(row["total_ns"].get<double>() / static_cast<double>(whole)) : json();
  }
  return {};
}

/// What the summary may ask for.
const std::set<std::string> kAskedFor = {"spans", "kernels", "copies", "kernel_links", "span_tree", "ops"};
constexpr int64_t kRowsForAThread = 500'000;

int threads_for(const RunFiles& files) {
  int64_t rows = 0;
  for (const auto& [table, n] : files.tables) rows += kAskedFor.contains(table) ? n : 0;
  return rows > kRowsForAThread ? 2 : 1;
}

}  // namespace

/// A question about tables that the run does not have is answered without the engine, and a view is made only
/// of what is asked for.
Result<json> summarize_run(OpenRun& run, int64_t top_rows) {
  NL_TRY(Connection * asked, run.ask({"spans", "kernels", "copies", "kernel_links"}));
  Connection& connection = *asked;
  if (threads_for(run.files()) > 1)
    NL_CHECK(connection.run("SET threads = " + std::to_string(threads_for(run.files()))));
  Sums sums;
  if (run.has("kernels")) NL_CHECK(sums.add_kernels(connection));
  if (run.has("copies")) NL_CHECK(sums.add_copies(connection));
  if (run.has("spans")) NL_CHECK(sums.add_spans(connection));
  json summary = {{"window", sums.window()},
                  {"devices", sums.devices()},
                  {"kernels", sums.kernels()},
                  {"ops", sums.ops()}};
  if (run.has("kernels")) NL_CHECK(add_links(connection, summary["kernels"]));
  NL_TRY(summary["layers"], layers_of(run));
  NL_CHECK(add_top(run, sums, summary, top_rows));
  return summary;
}

}  // namespace nl::store

#include "assemble/launch_joins.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "model/batch.h"

namespace nl::assemble {
namespace {

using store::Chunk;
using store::Connection;

/// Launches of one process, in their order.
struct LaunchList {
  std::vector<LaunchShape> shapes;
  std::vector<int64_t> rows;
  std::vector<int64_t> spans;  ///< of the launch calls, traces only; kNull where there is none
};
using Processes = std::map<int64_t, LaunchList>;

int32_t size_cell(const Chunk& chunk, size_t column, size_t row) {
  return chunk.is_null(column, row) ? -1 : chunk.int32s(column)[row];
}

/// Columns: row, process, name, grid x y z, block x y z, ranges, span of the launch call.
LaunchShape shape_of(const Chunk& chunk, size_t row) {
  LaunchShape shape;
  if (!chunk.is_null(2, row)) shape.name = chunk.text(2, row);
  for (size_t d = 0; d < 3; d++) {
    shape.grid[d] = size_cell(chunk, 3 + d, row);
    shape.block[d] = size_cell(chunk, 6 + d, row);
  }
  if (!chunk.is_null(9, row)) shape.ranges = chunk.text(9, row);
  return shape;
}

Result<Processes> read_launches(Connection& connection, const std::string& sql) {
  Processes processes;
  NL_CHECK(connection.stream(sql, [&](const Chunk& chunk) -> Result<void> {
    for (size_t row = 0; row < chunk.size(); row++) {
      LaunchList& list = processes[chunk.int64s(1)[row]];
      list.shapes.push_back(shape_of(chunk, row));
      list.rows.push_back(chunk.int64s(0)[row]);
      list.spans.push_back(chunk.is_null(10, row) ? model::kNull : chunk.int64s(10)[row]);
    }
    return {};
  }));
  return processes;
}

constexpr char kReplayed[] =
    "SELECT launch_id, coalesce(process_id, -1), kernel_name, grid_x, grid_y, grid_z, block_x, block_y, "
    "block_z, ranges, NULL::BIGINT FROM profiled_launches ORDER BY launch_id";

/// In the order of their launch calls; what has none stands where it started.
constexpr char kTraced[] =
    "SELECT k.kernel_id, coalesce(t.id_scope, 0)::BIGINT, k.name, k.grid_x, k.grid_y, k.grid_z, k.block_x, "
    "k.block_y, k.block_z, NULL::VARCHAR, k.launch_span_id FROM kernels k LEFT JOIN tracks t ON t.track_id = "
    "k.track_id "
    "LEFT JOIN spans l ON l.span_id = k.launch_span_id "
    "ORDER BY coalesce(l.start_ns, k.start_ns), k.correlation_id, k.kernel_id";

/// Names of the annotations around spans, outermost first.
class OpenRanges {
 public:
  static Result<OpenRanges> read(Connection& connection) {
    OpenRanges ranges;
    NL_CHECK(connection.stream(
        "SELECT span_id, coalesce(parent_id, -1), CASE kind WHEN 'annotation' THEN name END FROM spans",
        [&](const Chunk& chunk) -> Result<void> {
          for (size_t row = 0; row < chunk.size(); row++) {
            ranges.parents_.push_back(chunk.int64s(1)[row]);
            if (!chunk.is_null(2, row)) ranges.names_[chunk.int64s(0)[row]] = chunk.text(2, row);
          }
          return {};
        }));
    return ranges;
  }

  std::string around(int64_t span) const {
    std::string path;
    for (int depth = 0; span >= 0 && depth < kMostDepth; depth++) {
      const auto it = names_.find(span);
      if (it != names_.end()) path = it->second + (path.empty() ? "" : "/" + path);
      span = parents_[static_cast<size_t>(span)];
    }
    return path;
  }

 private:
  static constexpr int kMostDepth = 10'000;
  std::vector<int64_t> parents_;
  std::unordered_map<int64_t, std::string> names_;
};

bool has_ranges(const Processes& processes) {
  return std::any_of(processes.begin(), processes.end(), [](const auto& process) {
    const auto& shapes = process.second.shapes;
    return std::any_of(shapes.begin(), shapes.end(), [](const auto& shape) { return !shape.ranges.empty(); });
  });
}

Result<void> add_ranges(Connection& connection, Processes& traced) {
  NL_TRY(const OpenRanges ranges, OpenRanges::read(connection));
  for (auto& [process, list] : traced) {
    for (size_t i = 0; i < list.spans.size(); i++) {
      if (list.spans[i] != model::kNull) list.shapes[i].ranges = ranges.around(list.spans[i]);
    }
  }
  return {};
}

using Matches = std::vector<std::optional<LaunchMatch>>;

/// The process of the trace that agrees best, and how; it is taken out.
std::pair<LaunchList, Matches> best_match(const LaunchList& replayed, Processes& traced) {
  auto best = traced.end();
  Matches matches(replayed.shapes.size());
  int64_t most = 0;
  for (auto it = traced.begin(); it != traced.end(); ++it) {
    Matches found = match_launches(replayed.shapes, it->second.shapes);
    const int64_t n = std::count_if(found.begin(), found.end(), [](const auto& m) { return m.has_value(); });
    if (n <= most) continue;
    most = n;
    best = it;
    matches = std::move(found);
  }
  if (best == traced.end()) return {LaunchList{}, std::move(matches)};
  LaunchList list = std::move(best->second);
  traced.erase(best);
  return {std::move(list), std::move(matches)};
}

}  // namespace

Result<std::vector<std::optional<JoinedLaunch>>> join_launches(Connection& connection) {
  NL_TRY(const Processes replayed, read_launches(connection, kReplayed));
  NL_TRY(Processes traced, read_launches(connection, kTraced));
  if (has_ranges(replayed)) NL_CHECK(add_ranges(connection, traced));
  size_t rows = 0;
  for (const auto& [process, list] : replayed) rows += list.rows.size();
  std::vector<std::optional<JoinedLaunch>> joined(rows);
  for (const auto& [process, list] : replayed) {
    const auto [partner, matches] = best_match(list, traced);
    for (size_t i = 0; i < list.rows.size(); i++) {
      if (matches[i]) {
        joined[static_cast<size_t>(list.rows[i])] =
            JoinedLaunch{partner.rows[matches[i]->traced], *matches[i]};
      }
    }
  }
  return joined;
}

}  // namespace nl::assemble

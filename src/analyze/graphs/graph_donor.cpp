#include "analyze/graphs/graph_donor.h"

#include <algorithm>
#include <map>

#include "analyze/load/host_calls.h"
#include "analyze/load/module_paths.h"
#include "base/decimal.h"
#include "store/open_run.h"

namespace nl::analyze {
namespace {

using store::Chunk;

bool has_text(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

bool is_launch(std::string_view name) {
  return has_text(name, "LaunchKernel") || has_text(name, "LaunchCooperativeKernel");
}

/// From the begin of a stream's capture to its end, on one thread.
struct Recording {
  int32_t track;
  Interval time;
  uint32_t begin_span;
};

/// Spans of one thread in order of time, so that the next end belongs to the last begin.
std::vector<Recording> recordings_of(const Timeline& run, const std::vector<uint32_t>& order) {
  std::vector<Recording> list;
  std::map<int32_t, uint32_t> begun;
  for (const uint32_t span : order) {
    const std::string_view name = run.names[run.spans.name[span]];
    const int32_t track = run.spans.track[span];
    if (has_text(name, "StreamBeginCapture")) begun[track] = span;
    const auto it = begun.find(track);
    if (!has_text(name, "StreamEndCapture") || it == begun.end()) continue;
    list.push_back({track, {run.spans.end[it->second], run.spans.start[span]}, it->second});
    begun.erase(it);
  }
  return list;
}

/// Runtime calls in order of time.
std::vector<uint32_t> calls_in_order(const Timeline& run) {
  std::vector<uint32_t> order;
  for (uint32_t span = 0; span < run.spans.size(); span++) {
    if (run.spans.kind[span] == model::SpanKind::runtime) order.push_back(span);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return run.spans.start[a] < run.spans.start[b]; });
  return order;
}

/// What the source writes to launch calls: AMD's profiler names the kernel and its sizes there.
struct CallFacts {
  uint32_t kernel = kNoRow;
  uint64_t geometry = 0;
};

uint64_t geometry_in(const Chunk& chunk, size_t row, size_t first) {
  std::vector<int64_t> sizes;
  for (size_t c = first; c < first + 6; c++) {
    if (chunk.is_null(c, row)) return 0;
    sizes.push_back(chunk.int64s(c)[row]);
  }
  return geometry_of(sizes);
}

Result<std::map<uint32_t, CallFacts>> call_facts(store::Connection& connection, Names& texts) {
  std::map<uint32_t, CallFacts> facts;
  NL_CHECK(connection.stream(
      R"(SELECT span_id::BIGINT, a->>'kernel', try_cast(a->>'$.grid[0]' AS BIGINT),
                try_cast(a->>'$.grid[1]' AS BIGINT), try_cast(a->>'$.grid[2]' AS BIGINT),
                try_cast(a->>'$.block[0]' AS BIGINT), try_cast(a->>'$.block[1]' AS BIGINT),
                try_cast(a->>'$.block[2]' AS BIGINT)
         FROM (SELECT span_id, try_cast(args AS JSON) AS a FROM spans
               WHERE kind = 'runtime' AND contains(args, '"kernel"'))
         WHERE a->>'kernel' IS NOT NULL ORDER BY span_id)",
      [&](const Chunk& chunk) -> Result<void> {
        for (size_t i = 0; i < chunk.size(); i++)
          facts[static_cast<uint32_t>(chunk.int64s(0)[i])] = {
              texts.add(parse_kernel_name(chunk.text(1, i)).demangled), geometry_in(chunk, i, 2)};
        return {};
      }));
  return facts;
}

/// Makes launches with their ops from the time line of the donor.
class DonorReader {
 public:
  DonorReader(store::Connection& connection, const Timeline& run, const Taxonomy& taxonomy, GraphDonor& out)
      : connection_(connection), run_(run), taxonomy_(taxonomy), out_(out), paths_(run) {}

  Result<void> read() {
    NL_CHECK(read_recordings());
    if (out_.graphs.empty()) NL_CHECK(read_eager());
    NL_CHECK(read_shapes());
    settle_ops();
    return {};
  }

 private:
  Result<void> read_recordings() {
    const std::vector<uint32_t> calls = calls_in_order(run_);
    const std::vector<Recording> recordings = recordings_of(run_, calls);
    if (recordings.empty()) return {};
    NL_TRY(const auto facts, call_facts(connection_, out_.texts));
    const std::vector<bool> executed = calls_with_work();
    for (const Recording& recording : recordings) {
      DonorGraph graph{{}, batch_around(recording.begin_span)};
      for (const uint32_t call : calls_within(recording, calls)) {
        if (executed[call] || !is_outer_launch(call)) continue;
        const auto it = facts.find(call);
        add_launch(graph, call, it == facts.end() ? CallFacts{} : it->second);
      }
      if (!graph.launches.empty()) out_.graphs.push_back(std::move(graph));
    }
    if (!out_.graphs.empty()) out_.kind = DonorKind::kCapture;
    return {};
  }

  /// A call of the runtime may contain one of the driver for the same kernel.
  bool is_outer_launch(uint32_t call) const {
    const uint32_t parent = run_.spans.parent[call];
    return is_launch(name_of(call)) && (parent == kNoRow || !is_launch(name_of(parent)));
  }

  std::string_view name_of(uint32_t span) const { return run_.names[run_.spans.name[span]]; }

  /// What runs at once was not recorded.
  std::vector<bool> calls_with_work() const {
    std::vector<bool> executed(run_.spans.size());
    for (const uint32_t call : run_.kernels.launch) {
      if (call != kNoRow) executed[call] = true;
    }
    return executed;
  }

  std::vector<uint32_t> calls_within(const Recording& recording, const std::vector<uint32_t>& calls) const {
    auto it = std::partition_point(calls.begin(), calls.end(), [&](uint32_t call) {
      return run_.spans.start[call] < recording.time.begin;
    });
    std::vector<uint32_t> within;
    for (; it != calls.end() && run_.spans.start[*it] < recording.time.end; ++it) {
      if (run_.spans.track[*it] == recording.track) within.push_back(*it);
    }
    return within;
  }

  std::optional<int64_t> batch_around(uint32_t span) const {
    for (; span != kNoRow; span = run_.spans.parent[span]) {
      if (run_.spans.kind[span] != model::SpanKind::annotation) continue;
      if (const auto batch = captured_batch(name_of(span))) return batch;
    }
    return std::nullopt;
  }

  /// Kernels in the order of their launch calls.
  Result<void> read_eager() {
    const std::vector<HostCall> calls = host_calls(run_.names);
    const DeviceRows& kernels = run_.kernels;
    std::vector<uint32_t> order;
    for (uint32_t row = 0; row < kernels.size(); row++) {
      const uint32_t call = kernels.launch[row];
      if (call == kNoRow || run_.spans.op[call] == kNoRow) continue;
      if (calls[run_.spans.name[call]] != HostCall::kGraphLaunch) order.push_back(row);
    }
    if (order.empty()) return {};
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return run_.spans.start[kernels.launch[a]] < run_.spans.start[kernels.launch[b]];
    });
    NL_TRY(const auto geometries, kernel_geometries(connection_));
    DonorGraph graph;
    for (const uint32_t row : order) {
      const uint32_t name = out_.texts.add(parse_kernel_name(run_.names[kernels.name[row]]).demangled);
      add_launch(graph, kernels.launch[row], {name, row < geometries.size() ? geometries[row] : 0});
    }
    out_.graphs.push_back(std::move(graph));
    out_.kind = DonorKind::kEager;
    return {};
  }

  /// Until settle_ops, the op of a launch is the number of its call.
  void add_launch(DonorGraph& graph, uint32_t call, const CallFacts& facts) {
    const bool is_next = !graph.launches.empty() && run_.spans.op[call] != kNoRow &&
                         run_.spans.op[call] == run_.spans.op[calls_.back()];
    graph.launches.push_back({facts.kernel, static_cast<uint32_t>(calls_.size()), facts.geometry, !is_next});
    calls_.push_back(call);
  }

  /// The op whose shapes count is the innermost one, as everywhere.
  Result<void> read_shapes() {
    std::vector<bool> wanted(run_.spans.size());
    for (const uint32_t call : calls_) {
      if (run_.spans.op[call] != kNoRow) wanted[run_.spans.op[call]] = true;
    }
    uint32_t row = 0;
    return connection_.stream("SELECT shapes FROM spans", [&](const Chunk& chunk) -> Result<void> {
      for (size_t i = 0; i < chunk.size() && row < wanted.size(); i++, row++) {
        if (wanted[row] && !chunk.is_null(0, i)) shapes_[row] = out_.texts.add(chunk.text(0, i));
      }
      return {};
    });
  }

  void settle_ops() {
    std::map<DonorOp, uint32_t> known;
    for (DonorGraph& graph : out_.graphs) {
      for (DonorLaunch& launch : graph.launches) {
        const DonorOp op = op_of(calls_[launch.op]);
        const auto [it, is_new] = known.emplace(op, static_cast<uint32_t>(out_.ops.size()));
        if (is_new) out_.ops.push_back(op);
        launch.op = it->second;
      }
    }
  }

  DonorOp op_of(uint32_t call) {
    DonorOp out;
    const std::string& path = paths_.around(call);
    if (!path.empty()) out.module = out_.texts.add(path);
    const uint32_t op = run_.spans.op[call];
    if (op == kNoRow) return out;
    out.name = out_.texts.add(name_of(op));
    out.op_class = class_around(op);
    if (const auto it = shapes_.find(op); it != shapes_.end()) out.shapes = it->second;
    return out;
  }

  /// Of the innermost op that tells one: engines wrap ops in their own, and those in others.
  OpClass class_around(uint32_t op) const {
    for (; op != kNoRow;) {
      const OpClass found = taxonomy_.op(run_.names[run_.spans.op_type[op]]);
      if (found != OpClass::k_other) return found;
      const uint32_t parent = run_.spans.parent[op];
      op = parent == kNoRow ? kNoRow : run_.spans.op[parent];
    }
    return OpClass::k_other;
  }

  store::Connection& connection_;
  const Timeline& run_;
  const Taxonomy& taxonomy_;
  GraphDonor& out_;
  ModulePaths paths_;
  std::vector<uint32_t> calls_;          ///< launch calls, in the order in which they were added
  std::map<uint32_t, uint32_t> shapes_;  ///< by op
};

}  // namespace

std::string_view donor_kind_name(DonorKind kind) {
  static constexpr std::string_view kNames[] = {"capture", "eager", "none"};
  return kNames[static_cast<size_t>(kind)];
}

uint64_t geometry_of(const std::vector<int64_t>& grid_and_block) {
  uint64_t number = 0x9E3779B97F4A7C15;
  for (const int64_t size : grid_and_block) {
    number = (number ^ static_cast<uint64_t>(size)) * 0xBF58476D1CE4E5B9;
    number ^= number >> 29;
  }
  return number == 0 ? 1 : number;
}

Result<PagedVector<uint64_t>> kernel_geometries(store::Connection& connection) {
  PagedVector<uint64_t> geometries;
  NL_CHECK(connection.stream(
      "SELECT grid_x::BIGINT, grid_y::BIGINT, grid_z::BIGINT, block_x::BIGINT, block_y::BIGINT, "
      "block_z::BIGINT FROM kernels",
      [&](const Chunk& chunk) -> Result<void> {
        for (size_t i = 0; i < chunk.size(); i++) geometries.push_back(geometry_in(chunk, i, 0));
        return {};
      }));
  return geometries;
}

std::optional<int64_t> captured_batch(std::string_view range) {
  constexpr std::string_view kBegin = "capture_";
  if (!range.starts_with(kBegin)) return std::nullopt;
  range.remove_prefix(kBegin.size());
  const std::string_view number = range.substr(0, range.find('_'));
  int64_t batch = 0;
  if (!parse_int64(number, batch) || batch <= 0) return std::nullopt;
  return batch;
}

Result<GraphDonor> read_graph_donor(store::OpenRun& open, const Taxonomy& taxonomy) {
  NL_TRY(store::Connection * connection, open.ask({"tracks", "spans", "kernels", "copies", "span_tree",
                                                   "kernel_links", "copy_links", "clock_fits"}));
  NL_TRY(const Timeline run, load_timeline(open));
  GraphDonor donor;
  NL_CHECK(DonorReader(*connection, run, taxonomy, donor).read());
  return donor;
}

}  // namespace nl::analyze

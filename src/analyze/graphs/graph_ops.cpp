#include "analyze/graphs/graph_ops.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyze/graphs/replay_match.h"
#include "analyze/load/host_calls.h"
#include "store/open_run.h"

namespace nl::analyze {
namespace {

/// One launch of a graph: rows of its kernels, in order of their start.
struct Replay {
  uint32_t launch;
  std::vector<uint32_t> kernels;
};

/// Replays with the same kernels in the same order.
struct Repeated {
  std::vector<Replay> replays;
  int64_t kernel_ns = 0;
  std::optional<int64_t> requests = {};  ///< most that a step with such a replay decodes
  bool on_several_streams = false;       ///< then branches may run in another order than they were recorded
};

std::vector<Replay> replays_of(const Timeline& run, const Device& device) {
  const std::vector<HostCall> calls = host_calls(run.names);
  std::vector<Replay> replays;
  std::unordered_map<uint32_t, size_t> place;
  for (const Work& work : device.work) {
    if (work.table != WorkTable::kKernels || work.launch == kNoRow) continue;
    if (calls[run.spans.name[work.launch]] != HostCall::kGraphLaunch) continue;
    const auto [it, is_new] = place.emplace(work.launch, replays.size());
    if (is_new) replays.push_back({work.launch, {}});
    replays[it->second].kernels.push_back(work.row);
  }
  return replays;
}

std::optional<int64_t> requests_of(const PreparedRun& run, const Replay& replay) {
  const auto step = run.windows.steps.launched_at(run.timeline.spans.start[replay.launch]);
  if (!step || !run.windows.steps.list[*step].engine) return std::nullopt;
  const EngineStep& engine = *run.windows.steps.list[*step].engine;
  return engine.phase == Phase::kDecodeStep ? engine.decode_requests : std::nullopt;
}

std::vector<Repeated> repeated_replays(const PreparedRun& run) {
  const DeviceRows& kernels = run.timeline.kernels;
  std::map<std::vector<uint32_t>, size_t> place;  // by names
  std::vector<Repeated> list;
  for (const DeviceState& state : run.devices) {
    for (Replay& replay : replays_of(run.timeline, state.device)) {
      std::vector<uint32_t> names;
      int64_t kernel_ns = 0;
      bool on_several_streams = false;
      for (const uint32_t row : replay.kernels) {
        names.push_back(kernels.name[row]);
        kernel_ns += kernels.end[row] - kernels.start[row];
        on_several_streams |= kernels.track[row] != kernels.track[replay.kernels[0]];
      }
      const auto [it, is_new] = place.emplace(std::move(names), list.size());
      if (is_new) list.emplace_back();
      Repeated& group = list[it->second];
      group.kernel_ns += kernel_ns;
      group.on_several_streams |= on_several_streams;
      if (const auto requests = requests_of(run, replay))
        group.requests = std::max(group.requests.value_or(0), *requests);
      group.replays.push_back(std::move(replay));
    }
  }
  return list;
}

/// Whether shapes of the donor are those of the replay.
struct ShapesVerdict {
  bool hold = false;
  std::string why;
};

/// A donor's graph for a replay, and how well the two fit.
struct Fit {
  const DonorGraph* graph = nullptr;
  bool is_tied = false;  ///< another one with other ops fits as well
  ReplayMatch match;
};

class Lender {
 public:
  Lender(const PreparedRun& run, const PagedVector<uint64_t>& geometries, const GraphDonor& donor,
         const Taxonomy& taxonomy, GraphOps& out)
      : run_(run), geometries_(geometries), donor_(donor), taxonomy_(taxonomy), out_(out) {
    ids_.add("");  // 0: not known
    for (const DonorGraph& graph : donor.graphs) donor_keys_.push_back(keys_of(graph));
  }

  Result<void> lend() {
    for (const Repeated& group : repeated_replays(run_)) NL_CHECK(lend_to(group));
    finish();
    return {};
  }

 private:
  std::vector<LaunchKey> keys_of(const DonorGraph& graph) {
    std::vector<LaunchKey> keys;
    for (const DonorLaunch& launch : graph.launches) {
      LaunchKey key;
      if (launch.kernel == kNoRow) {
        key.op_class = donor_.ops[launch.op].op_class;
      } else {
        key = kernel_key(ids_.add(donor_.texts[launch.kernel]));
      }
      key.geometry = geometry_id(launch.geometry);
      keys.push_back(key);
    }
    return keys;
  }

  /// By the id of the readable name.
  const LaunchKey& kernel_key(uint32_t id) {
    const auto [it, is_new] = kernel_keys_.emplace(id, LaunchKey{});
    if (!is_new) return it->second;
    const KernelIdentity identity = taxonomy_.kernel(ids_[id]);
    const bool has_family = !identity.family.empty() && identity.family != "other";
    it->second = {id, has_family ? families_.add(identity.family) + 1 : 0, identity.op_class, 0};
    return it->second;
  }

  uint32_t geometry_id(uint64_t geometry) {
    if (geometry == 0) return 0;
    return geometry_ids_.emplace(geometry, static_cast<uint32_t>(geometry_ids_.size()) + 1).first->second;
  }

  /// By the name of the run.
  uint32_t kernel_id(uint32_t name) {
    const auto [it, is_new] = kernel_ids_.emplace(name, 0);
    if (is_new) it->second = ids_.add(parse_kernel_name(run_.timeline.names[name]).demangled);
    return it->second;
  }

  std::vector<LaunchKey> keys_of(const Replay& replay) {
    std::vector<LaunchKey> keys;
    for (const uint32_t row : replay.kernels) {
      keys.push_back(kernel_key(kernel_id(run_.timeline.kernels.name[row])));
      keys.back().geometry = geometry_id(row < geometries_.size() ? geometries_[row] : 0);
    }
    return keys;
  }

  Result<void> lend_to(const Repeated& group) {
    GraphOpsAnswer& answer = out_.answer;
    answer.graphs++;
    answer.replays += static_cast<int64_t>(group.replays.size());
    answer.kernel_ns += group.kernel_ns;
    answer.kernels += static_cast<int64_t>(group.replays.size() * group.replays[0].kernels.size());
    if (donor_.graphs.empty()) return {};
    NL_TRY(const Fit fit, best_fit(keys_of(group.replays[0]), group));
    if (fit.match.refused) {
      if (group.kernel_ns > refused_ns_) answer.refused = fit.match.refused;
      refused_ns_ = std::max(refused_ns_, group.kernel_ns);
      return {};
    }
    answer.graphs_matched++;
    const ShapesVerdict shapes = judge_shapes(fit, group);
    if (group.kernel_ns > judged_ns_) answer.shapes = shapes.why;
    judged_ns_ = std::max(judged_ns_, group.kernel_ns);
    for (const Replay& replay : group.replays) assign(replay, fit, shapes.hold);
    return {};
  }

  std::vector<std::string_view> names() const {
    std::vector<std::string_view> list;
    for (uint32_t id = 0; id < ids_.size(); id++) list.push_back(ids_[id]);
    return list;
  }

  Result<Fit> best_fit(const std::vector<LaunchKey>& replay, const Repeated& group) {
    const size_t best = best_graph(replay, group);
    Fit fit{&donor_.graphs[best], false, {}};
    if (donor_.kind == DonorKind::kEager) {
      NL_TRY(fit.match, match_eager(replay, donor_keys_[best], names()));
      return fit;
    }
    if (group.on_several_streams && !names_kernels(donor_keys_[best])) {
      fit.match.refused =
          "the other run does not name its kernels, and the replay uses several streams, so the position of "
          "a kernel does not tell its op";
      return fit;
    }
    NL_TRY(fit.match, match_capture(replay, donor_keys_[best], names()));
    fit.is_tied = has_equal(replay, best);
    return fit;
  }

  /// Kernels in common, as a share of the longer side; without names, whether the lengths are equal.
  double score(const std::vector<LaunchKey>& replay, size_t graph) const {
    const std::vector<LaunchKey>& donor = donor_keys_[graph];
    const auto longer = static_cast<double>(std::max(replay.size(), donor.size()));
    const auto common = static_cast<double>(common_kernels(replay, donor));
    return common / longer + (replay.size() == donor.size() ? 1 : 0);
  }

  /// Of equal ones, that of the smallest batch with room for the requests, as engines choose.
  size_t best_graph(const std::vector<LaunchKey>& replay, const Repeated& group) const {
    size_t best = 0;
    double most = -1;
    for (size_t i = 0; i < donor_keys_.size(); i++) {
      const double here = score(replay, i);
      if (here < most || (here == most && !fits_better(i, best, group))) continue;
      most = here;
      best = i;
    }
    return best;
  }

  bool fits_better(size_t graph, size_t than, const Repeated& group) const {
    const auto a = donor_.graphs[graph].batch, b = donor_.graphs[than].batch;
    if (!group.requests || !a || !b || *a < *group.requests) return false;
    return *b < *group.requests || *a < *b;
  }

  /// Another graph that fits as well, does other things and is not told apart by its batch.
  bool has_equal(const std::vector<LaunchKey>& replay, size_t best) const {
    const DonorGraph& chosen = donor_.graphs[best];
    for (size_t i = 0; i < donor_.graphs.size(); i++) {
      const DonorGraph& other = donor_.graphs[i];
      const bool told_apart = chosen.batch && other.batch && *chosen.batch != *other.batch;
      if (i == best || told_apart || score(replay, i) != score(replay, best)) continue;
      if (!std::equal(chosen.launches.begin(), chosen.launches.end(), other.launches.begin(),
                      other.launches.end(),
                      [](const DonorLaunch& a, const DonorLaunch& b) { return a.op == b.op; }))
        return true;
    }
    return false;
  }

  static ShapesVerdict judge_shapes(const Fit& fit, const Repeated& group) {
    const ReplayMatch& match = fit.match;
    const auto batch = fit.graph->batch;
    if (fit.is_tied) return {false, "not used: several graphs of the other run match equally well"};
    if (match.other_geometry > 0)
      return {false,
              fmt::format("not used: {} launches of the other run have another size", match.other_geometry)};
    if (match.by_name > 0 && match.by_class > 0)
      return {false,
              fmt::format(
                  "not used: {} kernels have another name than in the other run, as with another batch size",
                  match.by_class)};
    if (match.same_geometry > 0)
      return {true, fmt::format("verified: {} launches have the same size as in the other run",
                                match.same_geometry)};
    if (group.on_several_streams)
      return {false, "not used: the replay uses several streams, so the order of equal kernels is uncertain"};
    if (batch && group.requests && *batch == *group.requests)
      return {true, fmt::format("verified: recorded for a batch of {}, and the steps decode {}", *batch,
                                *group.requests)};
    if (batch && group.requests && *batch < *group.requests)
      return {false, fmt::format("not used: recorded for a batch of {}, but the steps decode {}", *batch,
                                 *group.requests)};
    return {true,
            "not verified: those of the other run; neither launch sizes nor batch sizes can be compared"};
  }

  void assign(const Replay& replay, const Fit& fit, bool with_shapes) {
    const DeviceRows& kernels = run_.timeline.kernels;
    for (size_t i = 0; i < replay.kernels.size(); i++) {
      const KernelMatch& match = fit.match.kernels[i];
      if (match.by == MatchedBy::kNothing) continue;
      const uint32_t op = fit.graph->launches[match.donor].op;
      if (donor_.ops[op].name == kNoRow) continue;  // launched outside of ops
      const uint32_t row = replay.kernels[i];
      const bool by_name = match.by == MatchedBy::kName;
      out_.op_of_kernel[row] = with_shapes ? op : op + static_cast<uint32_t>(donor_.ops.size());
      out_.begins_call[row] = fit.graph->launches[match.donor].begins_call;
      (by_name ? out_.answer.by_name : out_.answer.by_class)++;
      (by_name ? out_.answer.by_name_ns : out_.answer.by_class_ns) += kernels.end[row] - kernels.start[row];
    }
  }

  void finish() {
    GraphOpsAnswer& answer = out_.answer;
    if (answer.replays == 0) {
      answer.refused = "the run replays no graphs";
    } else if (donor_.kind == DonorKind::kNone) {
      answer.refused = "the other run records no graph, and none of its kernels outside of graphs has an op";
    }
    answer.matched = share_of(answer.by_name + answer.by_class, answer.kernels);
    answer.matched_time = share_of(answer.by_name_ns + answer.by_class_ns, answer.kernel_ns);
    answer.by_name_time = share_of(answer.by_name_ns, answer.kernel_ns);
    if (!answer.is_used()) answer.shapes = "none";
  }

  const PreparedRun& run_;
  const PagedVector<uint64_t>& geometries_;
  const GraphDonor& donor_;
  const Taxonomy& taxonomy_;
  GraphOps& out_;
  Names ids_, families_;
  std::unordered_map<uint32_t, uint32_t> kernel_ids_;
  std::unordered_map<uint32_t, LaunchKey> kernel_keys_;
  std::unordered_map<uint64_t, uint32_t> geometry_ids_;
  std::vector<std::vector<LaunchKey>> donor_keys_;
  int64_t refused_ns_ = -1, judged_ns_ = -1;  ///< the graph with the most time speaks for all
};

}  // namespace

bool has_graph_replays(const PreparedRun& run) {
  return std::any_of(run.devices.begin(), run.devices.end(), [&](const DeviceState& state) {
    return std::any_of(state.launches.begin(), state.launches.end(),
                       [](const Launch& launch) { return launch.is_graph && launch.kernels > 0; });
  });
}

Result<GraphOps> lend_ops(const PreparedRun& run, const PagedVector<uint64_t>& geometries,
                          std::shared_ptr<const GraphDonor> donor, const Taxonomy& taxonomy) {
  GraphOps out;
  out.donor = std::move(donor);
  out.ops = out.donor->ops;
  for (const DonorOp& op : out.donor->ops) {
    out.ops.push_back(op);
    out.ops.back().shapes = kNoRow;
  }
  for (const DonorOp& op : out.ops)
    out.module_of_op.emplace_back(op.module == kNoRow ? std::string_view() : out.text(op.module));
  out.op_of_kernel.assign(run.timeline.kernels.size(), kNoRow);
  out.begins_call.assign(run.timeline.kernels.size(), false);
  out.answer.donor_run_id = out.donor->run_id;
  out.answer.donor = out.donor->label;
  out.answer.chosen = out.donor->chosen;
  out.answer.kind = out.donor->kind;
  NL_CHECK(Lender(run, geometries, *out.donor, taxonomy, out).lend());
  return out;
}

namespace {

/// Ops of a donor that nobody named must fit almost to the last kernel.
constexpr double kLeastOfUnnamed = 0.99;

bool is_certain(const GraphOpsAnswer& answer) {
  const auto kernels = static_cast<double>(answer.kernels);
  return answer.kernels > 0 && static_cast<double>(answer.by_name) >= kLeastOfUnnamed * kernels;
}

bool records_graphs(const Names& names) {
  for (uint32_t id = 0; id < names.size(); id++) {
    if (names[id].find("StreamBeginCapture") != std::string_view::npos) return true;
  }
  return false;
}

Result<DonorChoice::Donor> own_graphs(store::OpenRun& open, const Taxonomy& taxonomy) {
  NL_TRY(GraphDonor donor, read_graph_donor(open, taxonomy));
  if (donor.kind != DonorKind::kCapture) return DonorChoice::Donor();
  donor.run_id = open.document()["run_id"];
  donor.label = "the run itself";
  donor.chosen = "it records the graphs that it replays";
  return std::make_shared<const GraphDonor>(std::move(donor));
}

}  // namespace

Result<std::optional<GraphOps>> graph_ops_of(store::OpenRun& open, const PreparedRun& run,
                                             const DonorChoice& choice, const Taxonomy& taxonomy) {
  using None = std::optional<GraphOps>;
  if (!choice.candidate || (!choice.is_named && !has_graph_replays(run))) return None();
  NL_TRY(store::Connection * connection, open.ask({"kernels"}));
  NL_TRY(const auto geometries, kernel_geometries(*connection));
  if (choice.is_named) {
    NL_TRY(auto donor, choice.candidate(0));
    NL_TRY(auto lent, lend_ops(run, geometries, std::move(donor), taxonomy));
    return None(std::move(lent));
  }
  if (records_graphs(run.timeline.names)) {
    NL_TRY(auto own, own_graphs(open, taxonomy));
    if (own) {
      NL_TRY(auto lent, lend_ops(run, geometries, std::move(own), taxonomy));
      if (is_certain(lent.answer)) return None(std::move(lent));
    }
  }
  for (size_t number = 0;; number++) {
    NL_TRY(auto donor, choice.candidate(number));
    if (!donor) break;
    NL_TRY(auto lent, lend_ops(run, geometries, std::move(donor), taxonomy));
    if (is_certain(lent.answer)) return None(std::move(lent));
  }
  return None();
}

std::vector<LentRow> lent_rows(const GraphOps& graphs, const Device& device, const IntervalSet& window) {
  std::vector<LentRow> rows(graphs.ops.size());
  const LentOps lent = graphs.lent();
  for (const Work& work : device.work) {
    const uint32_t op = lent.op(work);
    if (op == kNoRow || !touches(work, window)) continue;
    rows[op].device_ns += clipped_ns(work, window);
    rows[op].kernels++;
    rows[op].calls += graphs.begins_call[work.row];
  }
  std::vector<LentRow> found;
  for (uint32_t op = 0; op < rows.size(); op++) {
    rows[op].op = op;
    if (rows[op].kernels > 0) found.push_back(rows[op]);
  }
  return found;
}

}  // namespace nl::analyze

#include "analyze/time/host_profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "analyze/time/attribution.h"
#include "base/number_text.h"

namespace nl::analyze {
namespace {

constexpr int64_t kSlowCall = 10;         // a call of that many medians is slow
constexpr size_t kLeastRuns = 3;          // a median of fewer calls tells nothing
constexpr double kSlowCallsMatter = 0.1;  // share of the time of ops that they add
constexpr double kSingleCalls = 0.05;     // more slow calls than this are no accidents
constexpr double kFewOps = 0.01;          // ops that cover less do not show what the host did
constexpr double kMuchCommunication = 0.1;
constexpr size_t kMostNames = 4;

double ratio_of(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// a, b and c; of many the first ones.
std::string listed_names(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); i++) {
    if (i > 0) out += i + 1 == names.size() ? " and " : ", ";
    out += names[i];
  }
  return names.size() > kMostNames ? out + fmt::format(" and {} more", names.size() - kMostNames) : out;
}

void add_once(std::vector<std::string>& list, std::string_view text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.emplace_back(text);
}

/// The calls of one node of a graph. A node does the same work in each run, so its calls can be compared.
struct NodeCalls {
  PagedVector<int64_t> durations = {};
  OpClass op_class = OpClass::k_other;
  int64_t median_ns = 0;
};

/// A call that took many times as long as the other calls of its node.
struct SlowCall {
  uint32_t name;
  int64_t ns, median_ns;
};

class HostOps {
 public:
  HostOps(const PreparedRun& run, const Device& host, const IntervalSet& window)
      : run_(run), host_(host), window_(window), runs_(runs_in_window()) {
    for (const Work& work : host.work) {
      if (!contains(window, work.start)) continue;
      works_.push_back(&work);
      sum_ns_ += work.end - work.start;
      NodeCalls& node = nodes_[work.name];
      node.durations.push_back(work.end - work.start);
      node.op_class = run.classes.op[run.timeline.spans.op_type[work.row]];
    }
    for (auto& [name, node] : nodes_) node.median_ns = median(node.durations);
  }

  const std::vector<const Work*>& works() const { return works_; }
  const IntervalSet& runs() const { return runs_; }
  int64_t sum_ns() const { return sum_ns_; }
  int64_t window_ns() const { return total_length(window_); }
  /// Time in which any thread was inside an op.
  int64_t covered_ns() const { return total_length(intersect(host_.busy, window_)); }
  std::string_view type_of(const Work& work) const {
    return run_.timeline.names[run_.timeline.spans.op_type[work.row]];
  }
  std::string_view name_of(uint32_t name) const { return run_.timeline.names[name]; }

  std::set<int32_t> tracks() const {
    std::set<int32_t> tracks;
    for (const Work* work : works_) tracks.insert(work->track);
    return tracks;
  }

  /// Single slow calls, if they hold so much of the time that sums mislead; otherwise none.
  std::vector<SlowCall> slow_calls() const {
    std::vector<SlowCall> slow;
    int64_t excess = 0;
    for (const auto& [name, node] : nodes_) {
      if (runs_.size() < kLeastRuns || node.durations.size() != runs_.size()) continue;
      for (const int64_t ns : node.durations) {
        if (ns < kSlowCall * std::max<int64_t>(node.median_ns, 1)) continue;
        slow.push_back({name, ns, node.median_ns});
        excess += ns - node.median_ns;
      }
    }
    std::erase_if(slow, [&](const SlowCall& call) { return ratio_of(call.ns, sum_ns_) < 0.01; });
    const bool single = static_cast<double>(slow.size()) <= kSingleCalls * static_cast<double>(works_.size());
    if (!single || ratio_of(excess, sum_ns_) < kSlowCallsMatter) return {};
    std::sort(slow.begin(), slow.end(), [](const SlowCall& a, const SlowCall& b) { return a.ns > b.ns; });
    return slow;
  }

  /// What a call usually takes: the median of its node, which single slow calls do not change.
  int64_t usual_ns(const Work& work) const { return nodes_.at(work.name).median_ns; }
  int64_t usual_sum_ns() const {
    int64_t sum = 0;
    for (const Work* work : works_) sum += usual_ns(*work);
    return sum;
  }

  /// The class with the most time if each call had taken its usual time, and its share.
  std::pair<OpClass, double> usual_class() const {
    std::array<int64_t, kOpClasses> by_class{};
    for (const Work* work : works_)
      by_class[static_cast<size_t>(nodes_.at(work->name).op_class)] += usual_ns(*work);
    const auto top = std::max_element(by_class.begin(), by_class.end());
    return {static_cast<OpClass>(top - by_class.begin()), ratio_of(*top, usual_sum_ns())};
  }

 private:
  IntervalSet runs_in_window() const {
    IntervalSet runs = ranges_of_runs(run_.windows.steps);
    std::erase_if(runs, [&](const Interval& run) { return length_inside(window_, run) < run.length(); });
    return runs;
  }

  const PreparedRun& run_;
  const Device& host_;
  const IntervalSet& window_;
  IntervalSet runs_;
  std::vector<const Work*> works_;  // in order of time
  std::map<uint32_t, NodeCalls> nodes_;
  int64_t sum_ns_ = 0;
};

// ---- What the file lacks

/// Calls and ops that only exist where a job uses a device.
bool is_of_device_job(model::SpanKind kind, std::string_view name) {
  static constexpr std::string_view kPrefixes[] = {"nccl:", "aten::cudnn_", "aten::_cudnn", "aten::miopen_",
                                                   "aten::record_stream"};
  if (kind == model::SpanKind::runtime) return name.starts_with("cuda") || name.starts_with("hip");
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// The first name that shows that a device worked, though none is in the file.
std::optional<std::string> sign_of_device(const Timeline& run) {
  for (size_t i = 0; i < run.spans.size(); i++) {
    const std::string_view name = run.names[run.spans.name[i]];
    if (is_of_device_job(run.spans.kind[i], name)) return std::string(name);
  }
  return std::nullopt;
}

void add_missing_device(HostProfile& out, const Timeline& run) {
  const auto sign = sign_of_device(run);
  if (!sign) {
    out.remarks.push_back(
        {"no_device_work", "The file holds no device work: it is a profile of the CPU alone."});
    return;
  }
  out.can_judge = false;
  out.remarks.push_back(
      {"device_not_recorded",
       fmt::format("The file holds no device work, but {} shows that the job uses a device. The times of ops "
                   "are those of the host alone, so the file cannot tell what limits the run. Record the "
                   "device as well (with PyTorch: ProfilerActivity.CUDA).",
                   *sign)});
}

/// Ranges of collectives that run on the host, such as those of gloo.
void add_communication(HostProfile& out, const Timeline& run, const HostOps& ops, const IntervalSet& window) {
  PagedVector<Interval> ranges;
  std::vector<std::string> names;
  for (size_t i = 0; i < run.spans.size(); i++) {
    const std::string_view name = run.names[run.spans.name[i]];
    const bool on_host = name.starts_with("gloo:") || name.starts_with("mpi:") || name.starts_with("ucc:");
    if (!on_host || length_inside(window, run.spans.interval(i)) == 0) continue;
    ranges.push_back(run.spans.interval(i));
    add_once(names, name);
  }
  const double share =
      ratio_of(total_length(intersect(union_of(std::move(ranges)), window)), ops.window_ns());
  if (share < kMuchCommunication) return;
  out.remarks.push_back(
      {"communication_ranges", fmt::format("Ranges of communication ({}) cover {} of the window.",
                                           listed_names(names), percent_text(share))});
}

void add_missing_ops(HostProfile& out, const HostOps& ops) {
  const double share = ratio_of(ops.covered_ns(), ops.window_ns());
  if (!ops.runs().empty() || share >= kFewOps || ops.window_ns() == 0) return;
  out.can_judge = false;
  out.remarks.push_back(
      {"few_ops",
       fmt::format("Ops cover {} of the window, so the file does not show what the host did and cannot "
                   "tell what limits the run.",
                   percent_text(share))});
}

// ---- What the ops of a session tell

void add_slow_calls(HostProfile& out, const HostOps& ops) {
  const std::vector<SlowCall> slow = ops.slow_calls();
  if (slow.empty()) return;
  int64_t sum = 0, least = INT64_MAX, most = 0;
  std::vector<std::string> names;
  for (const SlowCall& call : slow) {
    const int64_t times = call.ns / std::max<int64_t>(call.median_ns, 1);
    sum += call.ns;
    least = std::min(least, times);
    most = std::max(most, times);
    add_once(names, ops.name_of(call.name));
  }
  const std::string times = least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
  out.remarks.push_back(
      {"slow_calls",
       fmt::format("{} single slow call{} take{} {} ({} of the time of ops), at {} times the median of their "
                   "own op: {}. Probably the thread was not running, which the file does not record. Do not "
                   "judge these ops by their sums.",
                   slow.size(), slow.size() == 1 ? "" : "s", slow.size() == 1 ? "s" : "", duration_text(sum),
                   percent_text(ratio_of(sum, ops.sum_ns())), times, listed_names(names))});
  const auto [op_class, share] = ops.usual_class();
  out.compute_words = fmt::format("ops on the host; by the medians of their calls mostly {} ({})",
                                  op_class_name(op_class), percent_text(share));
}

/// Threads that the runs of the session are marked on.
std::set<int32_t> tracks_of_runs(const Timeline& run) {
  std::set<int32_t> tracks;
  for (size_t i = 0; i < run.spans.size(); i++) {
    if (run.names[run.spans.name[i]] == "model_run") tracks.insert(run.spans.track[i]);
  }
  return tracks;
}

/// The session hands its ops to other threads than the one that called it, as only its parallel mode does.
bool is_handed_over(const Timeline& run, const HostOps& ops) {
  const std::set<int32_t> of_runs = tracks_of_runs(run), of_ops = ops.tracks();
  return std::none_of(of_ops.begin(), of_ops.end(), [&](int32_t track) { return of_runs.contains(track); });
}

/// Time of runs before their first and behind their last op.
int64_t edges_ns(const HostOps& ops) {
  int64_t sum = 0;
  for (const Interval& run : ops.runs()) {
    Interval inside{run.end, run.begin};
    for (const Work* work : ops.works()) {
      if (work->start < run.begin || work->end > run.end) continue;
      inside = {std::min(inside.begin, work->start), std::max(inside.end, work->end)};
    }
    if (inside.begin < inside.end) sum += run.length() - inside.length();
  }
  return sum;
}

void add_parallel_mode(HostProfile& out, const Timeline& run, const HostOps& ops) {
  // Times of the source are whole microseconds, so neighbours may seem to overlap a little.
  const bool overlap = ratio_of(ops.sum_ns() - ops.covered_ns(), ops.sum_ns()) > 0.01;
  if (overlap || ops.works().size() < 2 || !is_handed_over(run, ops)) return;
  const int64_t edges = edges_ns(ops);
  std::string text =
      "The ops ran on another thread than the runs that they belong to, as in the parallel mode of "
      "execution, but they never overlap, so the mode does not help here.";
  if (ratio_of(edges, ops.window_ns()) >= 0.05)
    text += fmt::format(
        " {} of the runs ({} of the window) lie before their first or after their last op: that looks "
        "like waiting for the other thread.",
        duration_text(edges), percent_text(ratio_of(edges, ops.window_ns())));
  out.remarks.push_back({"parallel_without_overlap", text + " Try sequential execution (ORT_SEQUENTIAL)."});
}

bool is_one_thread(const Timeline& run, const HostOps& ops, bool shows_pool) {
  return !shows_pool && ops.works().size() >= 2 && ops.tracks().size() == 1 && !is_handed_over(run, ops);
}

void add_one_thread(HostProfile& out, const Timeline& run, const HostOps& ops, bool shows_pool) {
  if (!is_one_thread(run, ops, shows_pool)) return;
  out.remarks.push_back(
      {"one_thread",
       "All ops ran on one thread, and the file shows no thread pool: the session has one intra-op thread."});
}

/// Ops that ONNX Runtime fuses with the op before them, unless it is told not to optimise the graph: what
/// follows a convolution, the parts of a Gelu around its Erf, and those of a layer norm around its Sqrt.
class UnfusedOps {
 public:
  explicit UnfusedOps(const HostOps& ops) : ops_(ops) {
    for (size_t i = 0; i < ops.works().size(); i++) {
      if (type(i) == "BatchNormalization" && i > 0 && type(i - 1) == "Conv") take_behind_conv(i);
      if (type(i) == "Erf") take_gelu(i);
      if (type(i) == "Sqrt" && i > 1 && type(i - 1) == "Add" && type(i - 2) == "ReduceMean") take_norm(i);
    }
  }
  const std::vector<std::string>& types() const { return types_; }
  double share() const { return ratio_of(usual_ns_, ops_.usual_sum_ns()); }
  int64_t sum_ns() const { return sum_ns_; }

 private:
  std::string_view type(size_t i) const { return ops_.type_of(*ops_.works()[i]); }
  bool is_part_of_gelu(size_t i) const { return type(i) == "Add" || type(i) == "Div" || type(i) == "Mul"; }

  void take(size_t i) {
    if (i < next_) return;  // a bias behind a norm, a norm behind a Gelu: each op once
    next_ = i + 1;
    add_once(types_, type(i));
    sum_ns_ += ops_.works()[i]->end - ops_.works()[i]->start;
    usual_ns_ += ops_.usual_ns(*ops_.works()[i]);
  }
  void take_behind_conv(size_t norm) {
    take(norm);
    if (norm + 1 < ops_.works().size() && type(norm + 1) == "Relu") take(norm + 1);
  }
  void take_gelu(size_t erf) {
    size_t first = erf, last = erf;
    while (first > 0 && is_part_of_gelu(first - 1)) first--;
    while (last + 1 < ops_.works().size() && is_part_of_gelu(last + 1)) last++;
    for (size_t i = first; i <= last; i++) take(i);
  }
  /// mean, x - mean, its square, the mean of that + epsilon, Sqrt, then the quotient, scale and bias.
  void take_norm(size_t root) {
    constexpr size_t kBehind = 3;
    size_t first = root - 2, last = root;
    while (first > 0 &&
           (type(first - 1) == "Pow" || type(first - 1) == "Sub" || type(first - 1) == "ReduceMean"))
      first--;
    while (last < root + kBehind && last + 1 < ops_.works().size() && is_part_of_gelu(last + 1)) last++;
    for (size_t i = first; i <= last; i++) take(i);
  }

  const HostOps& ops_;
  std::vector<std::string> types_;
  size_t next_ = 0;  // ops before it were looked at
  int64_t usual_ns_ = 0, sum_ns_ = 0;
};

void add_unfused_ops(HostProfile& out, const HostOps& ops) {
  if (ops.tracks().size() != 1) return;  // neighbours in time are then no neighbours in the graph
  const UnfusedOps unfused(ops);
  if (unfused.types().empty()) return;
  out.remarks.push_back(
      {"graph_not_optimised",
       fmt::format(
           "Graph optimisation seems to be off: {} run as separate ops ({} of the time of ops, by the "
           "medians of their calls). With ORT_ENABLE_ALL, ONNX Runtime fuses them into the ops before them.",
           listed_names(unfused.types()), percent_text(unfused.share()))});
}

}  // namespace

std::optional<SessionFacts> session_facts(const PreparedRun& run, const Device& host,
                                          const IntervalSet& window, bool shows_pool) {
  const HostOps ops(run, host, window);
  if (ops.runs().empty()) return std::nullopt;
  SessionFacts facts;
  facts.is_one_thread = is_one_thread(run.timeline, ops, shows_pool);
  if (ops.tracks().size() == 1) facts.unfused_ns = UnfusedOps(ops).sum_ns();
  facts.ops = ops.works();
  return facts;
}

HostProfile host_profile(const PreparedRun& run, const Device& host, const IntervalSet& window,
                         bool shows_pool) {
  HostProfile out;
  const HostOps ops(run, host, window);
  add_missing_device(out, run.timeline);
  if (!out.can_judge) return out;
  add_communication(out, run.timeline, ops, window);
  add_missing_ops(out, ops);
  if (ops.runs().empty()) return out;
  add_slow_calls(out, ops);
  add_parallel_mode(out, run.timeline, ops);
  add_one_thread(out, run.timeline, ops, shows_pool);
  add_unfused_ops(out, ops);
  return out;
}

}  // namespace nl::analyze

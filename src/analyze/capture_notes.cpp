#include "analyze/capture_notes.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/number_text.h"

namespace nl::analyze {
namespace {

using model::SpanKind;
using nlohmann::json;

constexpr double kHostMatters = 0.1;  // of the window
constexpr int64_t kFewKernels = 20;   // fewer say nothing of what was recorded
constexpr int64_t kLittleWorkNs = 100'000;
constexpr double kOneCallMatters = 0.25;  // of the window

/// What the notes ask of the names of calls. Names are few, spans are many: each name is looked at once.
struct CallKind {
  bool begins_capture = false;
  bool launches = false;
  bool loads_module = false;
};

CallKind call_kind(std::string_view name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string_view::npos; };
  return {has("StreamBeginCapture"), has("Launch"),
          name.starts_with("cuModuleLoad") || name.starts_with("cuLink") ||
              name.starts_with("cuLibraryLoad") || name.starts_with("hipModuleLoad")};
}

/// The calls of the host that notes are about, from one pass over the spans.
struct HostCallSums {
  bool captures_graph = false;
  int64_t modules_loaded = 0;        ///< in the window
  uint32_t slowest_launch = kNoRow;  ///< in the window
  int64_t slowest_launch_ns = 0;
};

HostCallSums host_call_sums(const Timeline& run, const IntervalSet& window) {
  std::vector<CallKind> kinds(run.names.size());
  for (uint32_t id = 0; id < kinds.size(); id++) kinds[id] = call_kind(run.names[id]);
  HostCallSums sums;
  for (uint32_t i = 0; i < run.spans.size(); i++) {
    const CallKind& kind = kinds[run.spans.name[i]];
    sums.modules_loaded += kind.loads_module && contains(window, run.spans.start[i]);
    if (run.spans.kind[i] != SpanKind::runtime) continue;
    sums.captures_graph = sums.captures_graph || kind.begins_capture;
    const int64_t ns = kind.launches ? length_inside(window, run.spans.interval(i)) : 0;
    if (ns <= sums.slowest_launch_ns) continue;
    sums.slowest_launch_ns = ns;
    sums.slowest_launch = i;
  }
  return sums;
}

class Notes {
 public:
  Notes(const PreparedRun& run, const Sources& sources, const IntervalSet& window, const Analysis& answer)
      : run_(run),
        sources_(sources),
        document_(sources.document),
        window_(window),
        answer_(answer),
        calls_(host_call_sums(run.timeline, window)) {}

  std::vector<Remark> take() {
    add_devices_left_out();
    add_missing_work();
    add_missing_launches();
    add_graph_capture();
    add_missing_ops();
    add_missing_ranks();
    add_profiler_cost();
    add_slow_call();
    add_missing_nodes();
    add_unknown_host();
    add_loaded_modules();
    add_redacted_shapes();
    return std::move(notes_);
  }

 private:
  void add(const char* what, std::string text) { notes_.push_back({what, std::move(text)}); }

  bool is_from(std::string_view format) const {
    const json sources = document_.value("sources", json::array());
    return std::any_of(sources.begin(), sources.end(),
                       [&](const json& source) { return source.value("format", "") == format; });
  }

  bool was_cuda_traced() const {
    const json nsys = document_.value("extensions", json::object()).value("nsys", json::object());
    return nsys.is_object() && nsys.value("cuda_trace", json(false)) == true;
  }

  /// For a file whose tool can record the work of devices.
  std::string_view how_to_record() const {
    if (was_cuda_traced()) return " CUDA calls were traced, but the program made none.";
    if (is_from("nsys"))
      return " It has no CUDA tables: record them with nsys profile --trace=cuda,nvtx,osrt, and profile the "
             "process that uses the GPU.";
    if (is_from("kineto")) return " Add ProfilerActivity.CUDA to the profiler's activities.";
    return "";
  }

  size_t kernels() const { return run_.timeline.kernels.size(); }

  void add_redacted_shapes() {
    const json options = document_.value("options", json::object());
    const auto became = options.find("redacted_shapes");
    if (became == options.end() || !became->is_string()) return;
    add("shapes_redacted",
        fmt::format("Shapes were {} before the run was given on, so figures that need them "
                    "(FLOP, bytes that must move, the roof) are absent.",
                    became->get<std::string>()));
  }

  void add_devices_left_out() {
    const DevicesLeftOut& left = run_.left_out;
    if (left.devices == 0) return;
    add("devices_left_out",
        fmt::format("The file names {} devices. The figures are of the {} with the longest work; {} kernels, "
                    "copies and spans of the others are in none of them.",
                    grouped(left.devices + static_cast<int64_t>(run_.devices.size())),
                    grouped(static_cast<int64_t>(run_.devices.size())), grouped(left.rows)));
  }

  void add_missing_work() {
    if (run_.devices.empty() && run_.timeline.spans.size() > 0)
      return add("no_device_work",
                 "The file holds no device work, only calls of the host." + std::string(how_to_record()));
    const bool has_records = std::any_of(run_.devices.begin(), run_.devices.end(),
                                         [](const DeviceState& state) { return state.device.has_records; });
    if (has_records && kernels() == 0)
      add("no_kernels",
          "The file holds no kernels, only copies and sets of memory: there is no run to judge.");
  }

  /// A stream runs in order: work without a launch in front of the first work that has one was queued before.
  void add_missing_launches() {
    int64_t queued = 0, unlinked = 0;
    for (const DeviceState& state : run_.devices) {
      if (state.device.is_host || !state.device.has_records) continue;
      std::set<int32_t> launched;  // streams that have shown launched work
      for (const Work& work : state.device.work) {
        if (work.launch != kNoRow) {
          launched.insert(work.track);
        } else {
          (launched.contains(work.track) ? unlinked : queued)++;
        }
      }
      if (launched.empty()) unlinked += std::exchange(queued, 0);
    }
    if (queued > 0 && unlinked * 10 <= queued) {
      add("queued_before_capture",
          fmt::format(
              "{} kernels and copies have no launch in the file: they were queued before the capture began. "
              "Their ops are unknown; nothing is wrong with the recording.",
              grouped(queued + unlinked)));
    } else if (unlinked * 100 > static_cast<int64_t>(kernels())) {
      add("launches_missing",
          fmt::format("{} kernels and copies have no launch in the file, so their ops and the causes of idle "
                      "time before them are unknown. Trace the calls of the runtime too.",
                      grouped(queued + unlinked)));
    }
  }

  /// Calls that record a graph, and next to no device work beside them.
  void add_graph_capture() {
    if (!calls_.captures_graph || busy_share() > 0.05) return;
    add("graph_capture",
        "The trace shows the capture of a graph, not its execution: the host only records kernels that run "
        "later, so the times of the device mean nothing here.");
  }

  double busy_share() const {
    double most = 0;
    for (const DeviceState& state : run_.devices)
      most = std::max(most, static_cast<double>(total_length(state.device.busy)) /
                                static_cast<double>(std::max<int64_t>(1, run_.windows.whole.length())));
    return most;
  }

  void add_missing_ops() {
    const auto& kinds = run_.timeline.spans.kind;
    if (kernels() < kFewKernels || std::find(kinds.begin(), kinds.end(), SpanKind::op) != kinds.end()) return;
    if (is_from("kineto"))
      add("no_ops", "No host ops were recorded, so the op of a kernel is unknown: add ProfilerActivity.CPU.");
  }

  void add_missing_ranks() {
    const auto hardware = document_.find("hardware");
    if (hardware == document_.end()) return;
    std::set<int64_t> ranks;
    int64_t world = 0;
    for (const json& rank : hardware->value("ranks", json::array())) {
      ranks.insert(rank.value("rank", int64_t{0}));
      world = std::max(world, rank.value("world_size", int64_t{0}));
    }
    if (ranks.empty() || static_cast<int64_t>(ranks.size()) >= world) return;
    add("ranks_missing",
        fmt::format(
            "{} of {} ranks of the job are in the file, so the rank that the others wait for is not known.",
            ranks.size(), world));
  }

  std::string recorded_with() const {
    std::vector<std::string> with;
    for (const json& flag : document_.value("capture", json::object()).value("flags", json::array())) {
      if (flag == "with_stack") with.emplace_back("stacks");
      if (flag == "record_shapes") with.emplace_back("shapes");
      if (flag == "profile_memory") with.emplace_back("memory");
    }
    if (with.empty() && sources_.arguments.texts.size() > 0) with.emplace_back("shapes");
    std::string text;
    for (size_t i = 0; i < with.size(); i++)
      text += (i == 0 ? "" : i + 1 == with.size() ? " and " : ", ") + with[i];
    return text;
  }

  void add_profiler_cost() {
    const bool host = std::any_of(
        answer_.limiters.begin(), answer_.limiters.end(),
        [](const LimiterAnswer& limiter) { return limiter.what == "host" && limiter.share > kHostMatters; });
    const std::string with = recorded_with();
    if (!host || with.empty()) return;
    add("profiler_cost",
        fmt::format("The trace was recorded with {}, which slows the host at every op, so the share of the "
                    "host is too high. Record once without them to see the true gaps.",
                    with));
  }

  /// One call that holds a good part of the window does not recur: code is loaded at its first use.
  void add_slow_call() {
    const auto total = static_cast<double>(std::max<int64_t>(1, answer_.window.total_ns));
    if (static_cast<double>(calls_.slowest_launch_ns) < kOneCallMatters * total || busy_share() > 0.5) return;
    add("one_slow_launch", fmt::format("One call of {} takes {}: at its first use the code of a kernel is "
                                       "loaded. This does not happen again.",
                                       run_.timeline.names[run_.timeline.spans.name[calls_.slowest_launch]],
                                       duration_text(calls_.slowest_launch_ns)));
  }

  /// Idle time between the first and the last kernel of single graph launches. A graph leaves no gaps between
  /// its kernels, so kernels are missing if there is much of it.
  void add_missing_nodes() {
    for (const DeviceState& state : run_.devices) {
      PagedVector<Interval> replays;
      for (const Launch& launch : state.launches) {
        if (launch.is_graph && launch.works > 1) replays.push_back({launch.called, launch.last_end});
      }
      const IntervalSet in_graphs = intersect(union_of(std::move(replays)), window_);
      const int64_t idle = total_length(subtract(in_graphs, state.device.busy));
      if (idle * 4 < answer_.window.total_ns) continue;
      return add("graph_nodes_missing", fmt::format("{} inside of graph launches show no work: kernels of "
                                                    "graphs are not all recorded, so this is not idle time.",
                                                    duration_text(idle)));
    }
  }

  /// The host was outside of every recorded call for most of the window, and no op or frame says in what.
  void add_unknown_host() {
    const auto& kinds = run_.timeline.spans.kind;
    const bool says = std::any_of(kinds.begin(), kinds.end(), [](SpanKind kind) {
      return kind == SpanKind::op || kind == SpanKind::python || kind == SpanKind::annotation;
    });
    for (const DeviceAnswer& device : answer_.devices) {
      const auto& other = device.metrics.get(Metric::idle_host_other_time);
      if (says || !other || *other < 0.5 * static_cast<double>(answer_.window.total_ns)) continue;
      return add("host_unknown",
                 "For most of the window the host was outside of any recorded call, and the file does not "
                 "say what it did. Record CPU samples or your own ranges.");
    }
  }

  void add_loaded_modules() {
    if (calls_.modules_loaded >= 3)
      add("modules_loaded", fmt::format("{} modules were loaded in the window: programs are compiled or "
                                        "loaded at their first call; later calls do not pay for this.",
                                        grouped(calls_.modules_loaded)));
  }

  const PreparedRun& run_;
  const Sources& sources_;
  const json& document_;
  const IntervalSet& window_;
  const Analysis& answer_;
  const HostCallSums calls_;
  std::vector<Remark> notes_;
};

}  // namespace

std::vector<Remark> capture_notes(const PreparedRun& run, const Sources& sources, const IntervalSet& window,
                                  const Analysis& answer) {
  return Notes(run, sources, window, answer).take();
}

std::optional<Remark> why_undecided(const PreparedRun& run, const Analysis& answer) {
  if (answer.limiters.empty() || answer.devices.front().is_host()) return std::nullopt;
  const auto has_note = [&](const char* what) {
    return std::any_of(answer.notes.begin(), answer.notes.end(),
                       [&](const Remark& note) { return note.id == what; });
  };
  if (has_note("graph_capture")) return Remark{"graph_capture", "the trace shows the capture of a graph"};
  if (has_note("graph_nodes_missing"))
    return Remark{"graph_nodes_missing", "kernels inside of graphs are not all recorded"};
  if (has_note("no_kernels")) return Remark{"no_kernels", "the file holds no kernels"};
  const LimiterAnswer& first = answer.limiters.front();
  if (first.what == "unlinked" || first.what == "queued")
    return Remark{"unknown_idle",
                  fmt::format("the file does not show why the device was idle for {} of the window",
                              percent_text(first.share))};
  const bool has_records = std::any_of(run.devices.begin(), run.devices.end(),
                                       [](const DeviceState& state) { return state.device.has_records; });
  int64_t most = 0, busy = 0;
  for (const DeviceAnswer& device : answer.devices) {
    most = std::max(most, static_cast<int64_t>(device.metrics.get(Metric::kernel_count).value_or(0)));
    busy = std::max(busy, device.time.busy_ns);
  }
  const bool fill_the_window = busy * 2 > answer.window.total_ns && busy > kLittleWorkNs;
  if (has_records && most < kFewKernels && !fill_the_window)
    return Remark{"little_work",
                  fmt::format("the window holds too little device work to judge ({} kernels)", most)};
  return std::nullopt;
}

}  // namespace nl::analyze

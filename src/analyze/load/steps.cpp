#include "analyze/load/steps.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <tuple>

#include "analyze/load/host_calls.h"
#include "analyze/load/period.h"

namespace nl::analyze {
namespace {

using model::SpanKind;

constexpr size_t kLeastRepeats = 3;
constexpr double kLeastCoverage = 0.5;
constexpr int64_t kKernelsOfAStep = 10;  // a graph with fewer is a part of a step

/// Ranges that pass and lie in no earlier one, in order of time. Of several ranks, those of the main
/// device's: the ranges of another rank overlap them and mark the same steps.
class MarkedRanges {
 public:
  MarkedRanges(const Timeline& run, const Device* main) : run_(run) {
    for (const Track& track : run.tracks)
      of_main_.push_back(main == nullptr || !main->rank || !track.rank || track.rank == main->rank);
  }

  std::vector<Step> where(const std::function<bool(size_t)>& passes) const {
    const Spans& spans = run_.spans;
    std::vector<uint32_t> found;
    for (size_t i = 0; i < spans.size(); i++) {
      if (spans.end[i] > spans.start[i] && is_of_main(i) && passes(i))
        found.push_back(static_cast<uint32_t>(i));
    }
    std::sort(found.begin(), found.end(), [&](uint32_t a, uint32_t b) {
      return std::tie(spans.start[a], spans.end[b], a) < std::tie(spans.start[b], spans.end[a], b);
    });
    std::vector<Step> steps;
    for (const uint32_t i : found) {
      if (!steps.empty() && spans.end[i] <= steps.back().time.end) continue;
      steps.push_back({spans.interval(i), std::string(run_.names[spans.name[i]]), spans.interval(i)});
    }
    return steps;
  }

  bool is_of_main(size_t span) const {
    const auto track = static_cast<size_t>(run_.spans.track[span]);
    return track >= of_main_.size() || of_main_[track];
  }

 private:
  const Timeline& run_;
  std::vector<bool> of_main_;
};

/// For each name, whether `is_marker` holds; names are few, spans are many.
std::vector<bool> marked_names(const Timeline& run, const std::function<bool(std::string_view)>& is_marker) {
  std::vector<bool> marked(run.names.size());
  for (size_t i = 0; i < marked.size(); i++) marked[i] = is_marker(run.names[static_cast<uint32_t>(i)]);
  return marked;
}

Steps steps_of_names(const Timeline& run, const MarkedRanges& ranges, std::string source,
                     const std::function<bool(std::string_view)>& is_marker, SpanKind unwanted) {
  const std::vector<bool> marked = marked_names(run, is_marker);
  if (std::find(marked.begin(), marked.end(), true) == marked.end()) return {};
  return {ranges.where([&](size_t i) { return marked[run.spans.name[i]] && run.spans.kind[i] != unwanted; }),
          std::move(source)};
}

using Annotation = std::pair<int32_t, uint32_t>;  // track and name

/// Annotations that repeat on their thread without overlap.
std::map<Annotation, PagedVector<Interval>> repeated_annotations(const Timeline& run,
                                                                 const MarkedRanges& ranges) {
  std::map<Annotation, PagedVector<Interval>> groups;
  for (size_t i = 0; i < run.spans.size(); i++) {
    if (run.spans.kind[i] != SpanKind::annotation || run.spans.end[i] <= run.spans.start[i]) continue;
    if (ranges.is_of_main(i))
      groups[{run.spans.track[i], run.spans.name[i]}].push_back(run.spans.interval(i));
  }
  std::erase_if(groups, [](const auto& group) {
    return group.second.size() < kLeastRepeats || union_of(group.second).size() != group.second.size();
  });
  return groups;
}

/// The annotation that covers the most of the capture, if that is at least half of it.
std::optional<Annotation> covering_annotation(const std::map<Annotation, PagedVector<Interval>>& groups,
                                              int64_t capture_ns) {
  std::optional<Annotation> best;
  auto best_ns = static_cast<int64_t>(kLeastCoverage * static_cast<double>(capture_ns));
  for (const auto& [key, ranges] : groups) {
    const int64_t ns = total_length(union_of(ranges));
    if (ns <= best_ns) continue;
    best = key;
    best_ns = ns;
  }
  return best;
}

/// A data loader's call opens a step and launches nothing itself: the step lasts until the next call.
void last_until_next(std::vector<Step>& steps, int64_t end) {
  for (size_t i = 0; i < steps.size(); i++) {
    const int64_t until = i + 1 < steps.size() ? steps[i + 1].host.begin : end;
    steps[i].time.end = steps[i].host.end = until;
  }
}

bool is_data_loading(const Timeline& run, const Annotation& annotation) {
  return host_call(run.names[annotation.second]) == HostCall::kDataLoading;
}

std::optional<Annotation> data_loader(const Timeline& run,
                                      const std::map<Annotation, PagedVector<Interval>>& groups) {
  for (const auto& [key, ranges] : groups) {
    if (is_data_loading(run, key)) return key;
  }
  return std::nullopt;
}

Steps steps_of_annotations(const Timeline& run, const MarkedRanges& ranges) {
  const auto groups = repeated_annotations(run, ranges);
  auto best = covering_annotation(groups, run.capture.length());
  if (!best) best = data_loader(run, groups);
  if (!best) return {};
  Steps steps{ranges.where([&](size_t i) {
                return run.spans.kind[i] == SpanKind::annotation && run.spans.track[i] == best->first &&
                       run.spans.name[i] == best->second;
              }),
              "annotation"};
  if (is_data_loading(run, *best)) last_until_next(steps.list, run.capture.end);
  return steps;
}

/// When the work of each marked step began on the main stream, and when all of it had ended.
struct StepWork {
  int64_t first = INT64_MAX;
  int64_t end = INT64_MIN;
};

std::vector<StepWork> work_of_steps(const Timeline& run, const Device& device, const Steps& steps) {
  const int32_t stream = main_stream(device);
  std::vector<StepWork> found(steps.list.size());
  for (const Work& work : device.work) {
    if (work.launch == kNoRow) continue;
    const auto step = steps.launched_at(run.spans.start[work.launch]);
    if (!step) continue;
    found[*step].end = std::max(found[*step].end, work.end);
    if (work.track == stream) found[*step].first = std::min(found[*step].first, work.start);
  }
  return found;
}

/// Steps tile: each ends where the next one begins. `ends`: of their own work; it closes the last one.
std::vector<Step> tiled(std::vector<Step> steps, const std::vector<int64_t>& ends) {
  for (size_t i = 0; i < steps.size(); i++)
    steps[i].time.end = i + 1 < steps.size() ? steps[i + 1].time.begin : ends[i];
  std::erase_if(steps, [](const Step& step) { return step.time.end <= step.time.begin; });
  return steps;
}

/// Moves marked steps to where their work ran. Steps without work on the main stream are counted and left
/// out; if none has any, the ranges of the host stay.
void place_on_device(const Timeline& run, const Device& device, Steps& steps) {
  if (device.is_host || device.work.empty()) return;
  const std::vector<StepWork> works = work_of_steps(run, device, steps);
  std::vector<Step> placed;
  std::vector<int64_t> ends;
  for (size_t i = 0; i < steps.list.size(); i++) {
    const bool in_order = placed.empty() || works[i].first > placed.back().time.begin;
    if (works[i].first == INT64_MAX || !in_order) continue;
    placed.push_back(steps.list[i]);
    placed.back().time.begin = works[i].first;
    ends.push_back(works[i].end);
  }
  if (placed.empty()) return;
  steps.without_work = static_cast<int64_t>(steps.list.size() - placed.size());
  steps.list = tiled(std::move(placed), ends);
}

/// Graph launches of one call that hold most of the kernel time: each replays one step of an engine.
Steps steps_of_graphs(const Timeline& run, const Device& device) {
  const std::vector<HostCall> calls = host_calls(run.names);
  struct Replay {
    int64_t first = INT64_MAX, end = INT64_MIN, kernels = 0, ns = 0;
  };
  std::map<uint32_t, Replay> replays;  // by launch
  int64_t all_ns = 0;
  for (const Work& work : device.work) {
    if (work.table == WorkTable::kKernels) all_ns += work.end - work.start;
    if (work.launch == kNoRow || calls[run.spans.name[work.launch]] != HostCall::kGraphLaunch) continue;
    Replay& replay = replays[work.launch];
    replay.first = std::min(replay.first, work.start);
    replay.end = std::max(replay.end, work.end);
    replay.kernels++;
    replay.ns += work.end - work.start;
  }
  std::erase_if(replays, [](const auto& replay) { return replay.second.kernels < kKernelsOfAStep; });
  std::vector<std::pair<uint32_t, Replay>> list(replays.begin(), replays.end());
  std::sort(list.begin(), list.end(), [](auto& a, auto& b) { return a.second.first < b.second.first; });
  int64_t in_graphs = 0;
  std::vector<Step> steps;
  std::vector<int64_t> ends;
  for (const auto& [launch, replay] : list) {
    in_graphs += replay.ns;
    steps.push_back({{replay.first, replay.end}, "", run.spans.interval(launch)});
    ends.push_back(replay.end);
  }
  const bool most = static_cast<double>(in_graphs) >= kLeastCoverage * static_cast<double>(all_ns);
  if (steps.size() < kLeastRepeats || !most) return {};
  return {tiled(std::move(steps), ends), "graph_launch"};
}

/// Where in a period the device pauses longest, summed over all repeats: that is where a step begins. The
/// beginning of the stretch if no pause stands out.
size_t pause_in_period(std::span<const Work> works, size_t period) {
  size_t best = 0;
  int64_t longest = 0, all = 0;
  for (size_t offset = 0; offset < period; offset++) {
    int64_t pause = 0;
    for (size_t i = offset; i < works.size(); i += period)
      pause += i == 0 ? 0 : std::max<int64_t>(0, works[i].start - works[i - 1].end);
    all += pause;
    if (pause <= longest) continue;
    longest = pause;
    best = offset;
  }
  const bool stands_out = longest > all / 4 && longest > (works.back().end - works.front().start) / 100;
  return stands_out ? best : 0;
}

Steps steps_of_period(const Device& device) {
  const int32_t stream = main_stream(device);
  PagedVector<uint32_t> sequence;
  PagedVector<Work> works;
  for (const Work& work : device.work) {
    if (work.kind == WorkKind::kCopy || work.track != stream) continue;
    sequence.push_back(work.name);
    works.push_back(work);
  }
  const auto repeats = find_repeats(sequence);
  if (!repeats) return {};
  Steps steps{{}, "period", repeats->confidence, static_cast<int64_t>(repeats->period)};
  std::vector<int64_t> ends;
  const size_t begin = repeats->begin + pause_in_period(std::span(works).subspan(
                                                            repeats->begin, repeats->end - repeats->begin),
                                                        repeats->period);
  for (size_t i = begin; i + repeats->period <= repeats->end; i += repeats->period) {
    steps.list.push_back({.time = {works[i].start, works[i].start}});
    ends.push_back(works[i + repeats->period - 1].end);
  }
  steps.list = tiled(std::move(steps.list), ends);
  return steps;
}

Steps marked_steps(const Timeline& run, const MarkedRanges& ranges, const PhaseNames& names) {
  const auto is = [](std::string_view wanted) {
    return [=](std::string_view name) { return name == wanted; };
  };
  const auto profiler_step = [](std::string_view name) { return name.starts_with("ProfilerStep#"); };
  const auto engine_step = [&](std::string_view name) {
    const auto phase = phase_of(name, names);
    return phase && *phase != Phase::kDecodeAll;
  };
  const SpanKind device = SpanKind::device_annotation;
  Steps steps = steps_of_names(run, ranges, "profiler_step", profiler_step, device);
  if (steps.list.empty()) steps = steps_of_names(run, ranges, "engine_step", engine_step, device);
  if (steps.list.empty()) steps = steps_of_names(run, ranges, "model_run", is("model_run"), device);
  if (steps.list.empty()) steps = steps_of_names(run, ranges, "inference", is("inference"), SpanKind::op);
  if (steps.list.empty()) steps = steps_of_annotations(run, ranges);
  return steps;
}

}  // namespace

std::optional<size_t> Steps::launched_at(int64_t time) const {
  const auto behind = std::upper_bound(list.begin(), list.end(), time,
                                       [](int64_t t, const Step& step) { return t < step.host.begin; });
  if (behind == list.begin() || std::prev(behind)->host.end <= time) return std::nullopt;
  return static_cast<size_t>(std::prev(behind) - list.begin());
}

bool has_less_compute(const Device& a, const Device& b) {
  return total_length(a.compute) < total_length(b.compute);
}

const Device* main_device(const std::vector<Device>& devices) {
  const auto most = std::max_element(devices.begin(), devices.end(), has_less_compute);
  return most == devices.end() ? nullptr : &*most;
}

int32_t main_stream(const Device& device) {
  std::map<int32_t, int64_t> times;
  for (const Work& work : device.work) {
    if (work.kind == WorkKind::kCompute) times[work.track] += work.end - work.start;
  }
  const auto most = std::max_element(times.begin(), times.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == times.end() ? device.work.front().track : most->first;
}

Steps find_steps(const Timeline& run, const std::vector<Device>& devices, const PhaseNames& names) {
  const Device* main = main_device(devices);
  Steps steps = marked_steps(run, MarkedRanges(run, main), names);
  const bool on_device = main != nullptr && !main->is_host && !main->work.empty();
  if (!steps.list.empty() && on_device) place_on_device(run, *main, steps);
  if (steps.list.empty() && on_device) steps = steps_of_graphs(run, *main);
  if (steps.list.empty() && on_device) steps = steps_of_period(*main);
  if (steps.list.empty()) steps.source = "none";
  for (Step& step : steps.list) {
    step.phase = phase_of(step.label, names);
    step.engine = engine_step_of(step.label);
  }
  return steps;
}

}  // namespace nl::analyze

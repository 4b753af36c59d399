#include "analyze/load/windows.h"

#include <algorithm>
#include <tuple>

#include "base/decimal.h"

namespace nl::analyze {
namespace {

using model::SpanKind;

constexpr std::string_view kTimes = "ns:";

std::vector<PhaseRange> find_phases(const Timeline& run, const PhaseNames& names) {
  std::vector<std::optional<Phase>> phases(run.names.size());
  for (size_t i = 0; i < phases.size(); i++) phases[i] = phase_of(run.names[static_cast<uint32_t>(i)], names);
  std::vector<PhaseRange> ranges;
  for (size_t i = 0; i < run.spans.size(); i++) {
    const auto& phase = phases[run.spans.name[i]];
    const bool host =
        run.spans.kind[i] != SpanKind::device_annotation && run.spans.kind[i] != SpanKind::instant;
    if (phase && host) ranges.push_back({*phase, run.spans.interval(i), static_cast<uint32_t>(i)});
  }
  std::sort(ranges.begin(), ranges.end(), [](const PhaseRange& a, const PhaseRange& b) {
    return std::tie(a.time.begin, a.time.end, a.span) < std::tie(b.time.begin, b.time.end, b.span);
  });
  return ranges;
}

/// The steps of that phase, which lie where their device work ran; else the ranges of the host.
IntervalSet of_phase(const Windows& windows, Phase phase) {
  PagedVector<Interval> ranges;
  for (const Step& step : windows.steps.list) {
    if (step.phase == phase) ranges.push_back(step.time);
  }
  if (!ranges.empty()) return union_of(std::move(ranges));
  for (const PhaseRange& range : windows.phases) {
    if (range.phase == phase) ranges.push_back(range.time);
  }
  return union_of(std::move(ranges));
}

IntervalSet of_annotation(const Timeline& run, std::string_view name) {
  PagedVector<Interval> ranges;
  for (size_t i = 0; i < run.spans.size(); i++) {
    const bool mark = run.spans.kind[i] == SpanKind::annotation || run.spans.kind[i] == SpanKind::op;
    if (mark && run.names[run.spans.name[i]] == name) ranges.push_back(run.spans.interval(i));
  }
  return union_of(std::move(ranges));
}

/// Parts outside may lie inside of its time: what ran between iterations that were measured one by one.
IntervalSet steady_window(const Steady& steady) {
  PagedVector<Interval> outside;
  outside.reserve(steady.outside.size());
  for (const OutsidePart& part : steady.outside) outside.push_back(part.time);
  return subtract(union_of({steady.time}), union_of(std::move(outside)));
}

/// ns:BEGIN..END, as times are in the tables of the run; what lies outside of the capture has nothing to say.
Result<IntervalSet> of_times(std::string_view name, Interval whole) {
  const std::string_view times = name.substr(kTimes.size());
  const size_t dots = times.find("..");
  Interval asked{};
  if (dots != std::string_view::npos && parse_int64(times.substr(0, dots), asked.begin) &&
      parse_int64(times.substr(dots + 2), asked.end)) {
    asked = {std::max(asked.begin, whole.begin), std::min(asked.end, whole.end)};
    if (asked.begin < asked.end) return union_of({asked});
  }
  return Error{
      ErrorCode::kNotFound, "there is no such window: " + std::string(name),
      "the run has " + std::string(kTimes) + std::to_string(whole.begin) + ".." + std::to_string(whole.end)};
}

}  // namespace

Windows find_windows(const Timeline& run, const std::vector<Device>& devices, const PhaseNames& names) {
  Windows windows{run.capture, find_steps(run, devices, names), {}, find_phases(run, names)};
  windows.steady = find_steady(run, devices, windows.steps);
  return windows;
}

Result<IntervalSet> window_named(const std::string& name, const Timeline& run, const Windows& windows) {
  if (name == "steady") return steady_window(windows.steady);
  if (name == "whole") return union_of({windows.whole});
  if (name.starts_with("step:")) {
    int64_t step = 0;
    const bool is_number = parse_int64(std::string_view(name).substr(5), step);
    if (is_number && step >= 0 && static_cast<size_t>(step) < windows.steps.list.size())
      return union_of({windows.steps.list[static_cast<size_t>(step)].time});
    return Error{ErrorCode::kNotFound, "there is no such step: " + name,
                 windows.steps.list.empty()
                     ? "the run has no steps"
                     : "the run has step:0 to step:" + std::to_string(windows.steps.list.size() - 1)};
  }
  if (name.starts_with(kTimes)) return of_times(name, windows.whole);
  for (const Phase phase : {Phase::kPrefill, Phase::kDecodeAll, Phase::kDecodeStep, Phase::kMixed}) {
    if (name != phase_name(phase)) continue;
    if (IntervalSet set = of_phase(windows, phase); !set.empty()) return set;
  }
  if (IntervalSet set = of_annotation(run, name); !set.empty()) return set;
  return Error{
      ErrorCode::kNotFound, "there is no such window: " + name,
      "steady, whole, step:N, ns:BEGIN..END, prefill, decode, decode_step, or the name of an annotation of "
      "the run"};
}

}  // namespace nl::analyze

#include "analyze/load/windows.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <tuple>

#include "base/call_control.h"

namespace nl::analyze {
namespace {

using model::SpanKind;

constexpr double kLeastConfidence = 0.9;
constexpr size_t kLeastRepeats = 3;
constexpr size_t kLeastKernels = 30;  // fewer repeat by chance
constexpr double kLeastCoverage = 0.5;

/// Ranges that pass and lie in no earlier one, in order of time.
std::vector<Step> ranges_where(const Timeline& run, const std::function<bool(size_t)>& passes) {
  std::vector<uint32_t> found;
  for (size_t i = 0; i < run.spans.size(); i++) {
    if (run.spans.end[i] > run.spans.start[i] && passes(i)) found.push_back(static_cast<uint32_t>(i));
  }
  const Spans& spans = run.spans;
  std::sort(found.begin(), found.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(spans.start[a], spans.end[b], a) < std::tie(spans.start[b], spans.end[a], b);
  });
  std::vector<Step> steps;
  for (const uint32_t i : found) {
    if (!steps.empty() && spans.end[i] <= steps.back().time.end) continue;
    steps.push_back({spans.interval(i), std::string(run.names[spans.name[i]])});
  }
  return steps;
}

/// For each name, whether `is_marker` holds; names are few, spans are many.
std::vector<bool> marked_names(const Timeline& run, const std::function<bool(std::string_view)>& is_marker) {
  std::vector<bool> marked(run.names.size());
  for (size_t i = 0; i < marked.size(); i++) marked[i] = is_marker(run.names[static_cast<uint32_t>(i)]);
  return marked;
}

Steps steps_of_names(const Timeline& run, std::string source,
                     const std::function<bool(std::string_view)>& is_marker, SpanKind unwanted) {
  const std::vector<bool> marked = marked_names(run, is_marker);
  if (std::find(marked.begin(), marked.end(), true) == marked.end()) return {};
  return {
      ranges_where(run, [&](size_t i) { return marked[run.spans.name[i]] && run.spans.kind[i] != unwanted; }),
      std::move(source)};
}

/// Annotations of one name on one thread that repeat, do not overlap and cover at least half of the capture.
Steps steps_of_annotations(const Timeline& run) {
  std::map<std::pair<int32_t, uint32_t>, std::vector<Interval>> groups;
  for (size_t i = 0; i < run.spans.size(); i++) {
    if (run.spans.kind[i] != SpanKind::annotation || run.spans.end[i] <= run.spans.start[i]) continue;
    groups[{run.spans.track[i], run.spans.name[i]}].push_back(run.spans.interval(i));
  }
  const std::pair<int32_t, uint32_t>* best = nullptr;
  int64_t best_ns = static_cast<int64_t>(kLeastCoverage * static_cast<double>(run.capture.length()));
  for (const auto& [key, ranges] : groups) {
    const IntervalSet set = union_of(ranges);
    if (ranges.size() < kLeastRepeats || set.size() != ranges.size() || total_length(set) <= best_ns)
      continue;
    best = &key;
    best_ns = total_length(set);
  }
  if (best == nullptr) return {};
  return {ranges_where(run,
                       [&](size_t i) {
                         return run.spans.kind[i] == SpanKind::annotation &&
                                run.spans.track[i] == best->first && run.spans.name[i] == best->second;
                       }),
          "annotation"};
}

/// Where the first full period begins that the next one repeats.
size_t first_repeat(const std::vector<uint32_t>& sequence, size_t period) {
  size_t matches = 0;
  for (size_t i = 0; i + period < sequence.size(); i++) {
    matches += sequence[i] == sequence[i + period];
    if (i >= period) matches -= sequence[i - period] == sequence[i];
    if (i + 1 >= period && static_cast<double>(matches) >= kLeastConfidence * static_cast<double>(period))
      return i + 1 - period;
  }
  return 0;
}

Steps steps_of_period(const std::vector<Device>& devices) {
  const Device* most = nullptr;
  for (const Device& device : devices) {
    if (!device.is_host && (most == nullptr || device.work.size() > most->work.size())) most = &device;
  }
  if (most == nullptr) return {};
  std::vector<uint32_t> sequence;
  std::vector<int64_t> starts;
  for (const Work& work : most->work) {
    if (work.kind == WorkKind::kCopy) continue;
    sequence.push_back(work.name);
    starts.push_back(work.start);
  }
  const auto period = find_period(sequence);
  if (!period) return {};
  Steps steps{{}, "period", period->confidence, static_cast<int64_t>(period->length)};
  for (size_t i = first_repeat(sequence, period->length); i + period->length < starts.size();
       i += period->length) {
    if (starts[i + period->length] > starts[i])
      steps.list.push_back({{starts[i], starts[i + period->length]}, ""});
  }
  return steps;
}

Steps find_steps(const Timeline& run, const std::vector<Device>& devices, const PhaseNames& names) {
  const auto is = [](std::string_view wanted) {
    return [=](std::string_view name) { return name == wanted; };
  };
  const auto profiler_step = [](std::string_view name) { return name.starts_with("ProfilerStep#"); };
  const auto engine_step = [&](std::string_view name) {
    const auto phase = phase_of(name, names);
    return phase && *phase != Phase::kDecodeAll;
  };
  const SpanKind device = SpanKind::device_annotation;
  Steps steps = steps_of_names(run, "profiler_step", profiler_step, device);
  if (steps.list.empty()) steps = steps_of_names(run, "engine_step", engine_step, device);
  if (steps.list.empty()) steps = steps_of_names(run, "model_run", is("model_run"), device);
  if (steps.list.empty()) steps = steps_of_names(run, "inference", is("inference"), SpanKind::op);
  if (steps.list.empty()) steps = steps_of_annotations(run);
  if (steps.list.empty()) steps = steps_of_period(devices);
  if (steps.list.empty()) steps.source = "none";
  return steps;
}

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

/// The number behind `key`; -1 if there is none.
int64_t number_behind(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return -1;
  const char* begin = text.data() + at + key.size();
  int64_t number = -1;
  std::from_chars(begin, text.data() + text.size(), number);
  return number;
}

/// vLLM: execute_<tokens>_context_<requests>(…)_generation_<requests>(…).
std::optional<Phase> phase_of_vllm(std::string_view name) {
  if (!name.starts_with("execute_")) return std::nullopt;
  const int64_t context = number_behind(name, "context_"), generation = number_behind(name, "generation_");
  if (context < 0 || generation < 0 || context + generation == 0) return std::nullopt;
  if (generation == 0) return Phase::kPrefill;
  return context == 0 ? Phase::kDecodeStep : Phase::kMixed;
}

/// SGLang: step[EXTEND bs=… toks=…], step[DECODE bs=…].
std::optional<Phase> phase_of_sglang(std::string_view name) {
  if (name.starts_with("step[EXTEND")) return Phase::kPrefill;
  if (name.starts_with("step[DECODE")) return Phase::kDecodeStep;
  if (name.starts_with("step[MIXED")) return Phase::kMixed;
  return std::nullopt;
}

std::vector<size_t> likely_periods(const std::vector<uint32_t>& sequence) {
  std::map<uint32_t, std::vector<size_t>> places;
  for (size_t i = 0; i < sequence.size(); i++) places[sequence[i]].push_back(i);
  std::vector<const std::vector<size_t>*> rarest;
  for (const auto& [name, at] : places) {
    if (at.size() >= kLeastRepeats) rarest.push_back(&at);
  }
  std::stable_sort(rarest.begin(), rarest.end(), [](auto* a, auto* b) { return a->size() < b->size(); });
  if (rarest.size() > 64) rarest.resize(64);
  std::map<size_t, size_t> distances;
  for (const auto* at : rarest) {
    for (size_t i = 1; i < at->size(); i++) distances[(*at)[i] - (*at)[i - 1]]++;
  }
  std::vector<std::pair<size_t, size_t>> ranked(distances.begin(), distances.end());
  std::stable_sort(ranked.begin(), ranked.end(), [](auto& a, auto& b) { return a.second > b.second; });
  if (ranked.size() > 64) ranked.resize(64);
  std::vector<size_t> periods;
  for (const auto& [distance, count] : ranked) periods.push_back(distance);
  std::sort(periods.begin(), periods.end());
  return periods;
}

double repeating_share(const std::vector<uint32_t>& sequence, size_t period) {
  stop_if_cancelled();
  size_t matches = 0;
  for (size_t i = 0; i + period < sequence.size(); i++) matches += sequence[i] == sequence[i + period];
  return static_cast<double>(matches) / static_cast<double>(sequence.size() - period);
}

IntervalSet of_phase(const Windows& windows, Phase phase) {
  std::vector<Interval> ranges;
  for (const PhaseRange& range : windows.phases) {
    if (range.phase == phase) ranges.push_back(range.time);
  }
  return union_of(std::move(ranges));
}

IntervalSet of_annotation(const Timeline& run, std::string_view name) {
  std::vector<Interval> ranges;
  for (size_t i = 0; i < run.spans.size(); i++) {
    const bool mark = run.spans.kind[i] == SpanKind::annotation || run.spans.kind[i] == SpanKind::op;
    if (mark && run.names[run.spans.name[i]] == name) ranges.push_back(run.spans.interval(i));
  }
  return union_of(std::move(ranges));
}

}  // namespace

std::string_view phase_name(Phase phase) {
  static constexpr std::string_view kNames[] = {"prefill", "decode", "decode_step", "mixed"};
  return kNames[static_cast<size_t>(phase)];
}

std::optional<Phase> phase_of(std::string_view name, const PhaseNames& names) {
  if (name == names.prefill) return Phase::kPrefill;
  if (name == names.decode_all) return Phase::kDecodeAll;
  if (name == names.decode_step) return Phase::kDecodeStep;
  const auto vllm = phase_of_vllm(name);
  return vllm ? vllm : phase_of_sglang(name);
}

Windows find_windows(const Timeline& run, const std::vector<Device>& devices, const PhaseNames& names) {
  return {run.capture, find_steps(run, devices, names), find_phases(run, names)};
}

Result<IntervalSet> window_named(const std::string& name, const Timeline& run, const Windows& windows) {
  if (name == "whole") return union_of({windows.whole});
  if (name.starts_with("step:")) {
    size_t step = 0;
    const auto [end, failed] = std::from_chars(name.data() + 5, name.data() + name.size(), step);
    if (failed == std::errc() && end == name.data() + name.size() && step < windows.steps.list.size()) {
      return union_of({windows.steps.list[step].time});
    }
    return Error{ErrorCode::kNotFound, "there is no such step: " + name,
                 windows.steps.list.empty()
                     ? "the run has no steps"
                     : "the run has step:0 to step:" + std::to_string(windows.steps.list.size() - 1)};
  }
  for (const Phase phase : {Phase::kPrefill, Phase::kDecodeAll, Phase::kDecodeStep, Phase::kMixed}) {
    if (name != phase_name(phase)) continue;
    if (IntervalSet set = of_phase(windows, phase); !set.empty()) return set;
  }
  if (IntervalSet set = of_annotation(run, name); !set.empty()) return set;
  return Error{ErrorCode::kNotFound, "there is no such window: " + name,
               "whole, step:N, prefill, decode, decode_step, or the name of an annotation of the run"};
}

std::optional<Period> find_period(const std::vector<uint32_t>& sequence) {
  if (sequence.size() < kLeastKernels) return std::nullopt;
  Period best{0, kLeastConfidence};
  for (const size_t period : likely_periods(sequence)) {
    if (period * kLeastRepeats > sequence.size()) continue;
    const double share = repeating_share(sequence, period);
    if (share > best.confidence + (best.length == 0 ? 0 : 0.01)) best = {period, share};
  }
  if (best.length == 0) return std::nullopt;
  return best;
}

}  // namespace nl::analyze

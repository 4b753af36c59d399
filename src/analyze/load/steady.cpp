#include "analyze/load/steady.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyze/load/launches.h"
#include "base/number_text.h"
#include "stats/warm_up.h"

namespace nl::analyze {
namespace {

constexpr double kSlowStep = 1.25;    // a first step this much longer than the others is warm-up
constexpr double kDensePart = 0.9;    // share of the device work that the dense part holds
constexpr double kMuchShorter = 0.5;  // the dense part is chosen if it is this much shorter than the whole
constexpr int64_t kLaunchTakesNs = 100'000;  // work that starts later than this was waiting for something

int64_t middle(PagedVector<int64_t> values) {
  return median(values);
}

PagedVector<int64_t> lengths_of(const std::vector<Step>& steps) {
  PagedVector<int64_t> lengths;
  lengths.reserve(steps.size());
  for (const Step& step : steps) lengths.push_back(step.time.length());
  return lengths;
}

/// How many steps at the beginning are slower than the rest. Few steps need a clear difference.
size_t slow_steps(const PagedVector<int64_t>& times) {
  const size_t n = times.size();
  if (n < 3) return n == 2 && times[0] > 2 * times[1] ? 1 : 0;
  const auto later = times.begin() + static_cast<ptrdiff_t>(n / 2);
  const double usual = static_cast<double>(middle({later, times.end()}));
  const double fence =
      std::max(kSlowStep * usual, static_cast<double>(*std::max_element(later, times.end())));
  const size_t most =
      std::max<size_t>(1, n / 4);  // what is slow for longer is no warm-up of so short a capture
  size_t slow = 0;
  while ((slow < most) && (static_cast<double>(times[slow]) > fence)) slow++;
  const auto found = stats::find_warm_up({times.begin(), times.end()});
  return std::max(slow, found ? found->iterations : 0);
}

/// Steps that take longer, and steps whose own work does: a host that waits for something else in each step
/// hides slow kernels from the length of the step.
size_t warm_up_steps(const std::vector<Step>& steps, size_t end, const Device* device) {
  PagedVector<int64_t> lengths, busy;
  for (size_t i = 0; i < end; i++) {
    lengths.push_back(steps[i].time.length());
    if (device != nullptr && !device->is_host) busy.push_back(length_inside(device->busy, steps[i].time));
  }
  return std::max(slow_steps(lengths), busy.empty() ? 0 : slow_steps(busy));
}

/// Work of each step on the main device, counted.
PagedVector<int64_t> works_of(const std::vector<Step>& steps, const Device& device) {
  PagedVector<int64_t> counts(steps.size());
  size_t step = 0;
  for (const Work& work : device.work) {
    while (step < steps.size() && steps[step].time.end <= work.start) step++;
    if (step == steps.size()) break;
    counts[step] += work.start >= steps[step].time.begin;
  }
  return counts;
}

/// The capture ended in the middle of the last step: it has clearly less work than the others of its phase.
bool is_cut_off(const std::vector<Step>& steps, const Device& device) {
  const PagedVector<int64_t> works = works_of(steps, device);
  PagedVector<int64_t> others;
  for (size_t i = 0; i + 1 < steps.size(); i++) {
    if (steps[i].phase == steps.back().phase) others.push_back(works[i]);
  }
  return others.size() >= 2 && works.back() * 10 < middle(others) * 9;
}

/// Work before `until` whose launch is not in the capture. A source that links nothing tells nothing.
int64_t queued_before_capture(const Device& device, int64_t until) {
  const auto is_linked = [](const Work& work) { return work.launch != kNoRow; };
  if (std::none_of(device.work.begin(), device.work.end(), is_linked)) return 0;
  return std::count_if(device.work.begin(), device.work.end(),
                       [&](const Work& work) { return work.start < until && !is_linked(work); });
}

/// Whether the first work of the main stream was launched long before it started, and no recorded work of
/// another stream fills that time. A queue runs in order, so the stream was busy with what the capture does
/// not show.
bool first_work_waited(const Timeline& run, const Device& device) {
  const int32_t stream = main_stream(device);
  const auto first = std::find_if(device.work.begin(), device.work.end(),
                                  [&](const Work& work) { return work.track == stream; });
  if (first == device.work.end() || first->launch == kNoRow) return false;
  const Interval wait{run.spans.end[first->launch], first->start};
  return wait.length() > kLaunchTakesNs && length_inside(device.busy, wait) * 2 < wait.length();
}

/// Evidence that the device was busy with work from before the capture; empty if there is none.
std::string earlier_work(const Timeline& run, const Device* device, int64_t until) {
  if (device == nullptr || device->is_host) return "";
  const std::string words = "capture began mid-run: the device was finishing earlier work";
  if (const int64_t queued = queued_before_capture(*device, until)) {
    return words + fmt::format(" ({} kernels and copies were queued before the capture began)", queued);
  }
  return first_work_waited(run, *device) ? words : "";
}

/// Puts a part outside unless it is empty.
void leave_out(Steady& steady, OutsidePart part) {
  if (part.time.length() > 0) steady.outside.push_back(std::move(part));
}

/// The time before the first step. What the host does of that step before its first device work is no set-up.
void leave_out_before_step(Steady& steady, const Timeline& run, const Device* device, const Step& step) {
  const Interval time{run.capture.begin, step.time.begin};
  if (std::string why = earlier_work(run, device, time.end); !why.empty())
    return leave_out(steady, {"capture_start", time, std::move(why)});
  const bool on_host = step.host.length() > 0 && step.host.begin < time.end;
  const int64_t begun = on_host ? std::max(step.host.begin, time.begin) : time.end;
  leave_out(steady, {"setup", {time.begin, begun}, "set-up before the first step"});
  leave_out(
      steady,
      {"first_step", {begun, time.end}, "the host's part of the first step, before its first device work"});
}

/// The time before the first work of a device without steps.
void leave_out_before_work(Steady& steady, const Timeline& run, const Device& device, int64_t first) {
  std::string why = earlier_work(run, &device, first);
  const bool earlier = !why.empty();
  leave_out(steady, {earlier ? "capture_start" : "setup",
                     {run.capture.begin, first},
                     earlier ? std::move(why) : "set-up before the first work of the device"});
}

/// Prefill takes longer than decode and is no warm-up: lengths are compared where all steps are of one phase.
bool are_alike(const std::vector<Step>& steps) {
  return std::all_of(steps.begin(), steps.end(),
                     [&](const Step& step) { return step.phase == steps.front().phase; });
}

std::string steps_text(size_t steps) {
  return counted(static_cast<int64_t>(steps), "step");
}

Steady by_steps(const Timeline& run, const Device* device, const Steps& steps) {
  const std::vector<Step>& list = steps.list;
  const PagedVector<int64_t> lengths = lengths_of(list);
  Steady steady;
  const bool cut_off = device != nullptr && !device->is_host && is_cut_off(list, *device);
  const size_t end = list.size() - cut_off;
  if (are_alike(list)) {
    steady.first_step = std::min(warm_up_steps(list, end, device), end - 1);
  }
  steady.steps = end - steady.first_step;
  steady.time = {list[steady.first_step].time.begin, list[end - 1].time.end};
  steady.why = fmt::format("{} by {}", steps_text(steady.steps), steps.source);
  leave_out_before_step(steady, run, device, list[0]);
  if (steady.first_step > 0) {
    const auto first = lengths.begin() + static_cast<ptrdiff_t>(steady.first_step);
    const int64_t usual = middle({first, lengths.begin() + static_cast<ptrdiff_t>(end)});
    leave_out(steady,
              {"warm_up",
               {list[0].time.begin, steady.time.begin},
               fmt::format("warm-up: {} of up to {}, compared with {} later", steps_text(steady.first_step),
                           duration_text(*std::max_element(lengths.begin(), first)), duration_text(usual))});
  }
  leave_out(steady, {"tail",
                     {steady.time.end, run.capture.end},
                     cut_off ? "the capture ended in the middle of a step" : "after the last step"});
  return steady;
}

/// Takes in the work on both sides that is no further away than pieces of the stretch are from each other.
Interval with_close_work(const IntervalSet& busy, size_t first, size_t last) {
  int64_t gap = 0;
  for (size_t i = first; i < last; i++) gap = std::max(gap, busy[i + 1].begin - busy[i].end);
  while (first > 0 && busy[first].begin - busy[first - 1].end <= 2 * gap) first--;
  while (last + 1 < busy.size() && busy[last + 1].begin - busy[last].end <= 2 * gap) last++;
  return {busy[first].begin, busy[last].end};
}

/// The shortest stretch that holds nine tenths of a device's busy time, and what lies close to it.
Interval dense_part(const IntervalSet& busy) {
  const auto wanted = static_cast<int64_t>(kDensePart * static_cast<double>(total_length(busy)));
  size_t best_first = 0, best_last = busy.size() - 1;
  int64_t inside = 0;
  for (size_t first = 0, last = 0; last < busy.size(); last++) {
    inside += busy[last].length();
    while (inside - busy[first].length() >= wanted) inside -= busy[first++].length();
    if (inside < wanted || busy[last].end - busy[first].begin >= busy[best_last].end - busy[best_first].begin)
      continue;
    best_first = first;
    best_last = last;
  }
  return with_close_work(busy, best_first, best_last);
}

/// Where the work is dense. Kernels count alone if nearly all of them lie close together: copies far before
/// them load weights.
Interval dense_part_of(const Device& device, const Interval& span) {
  if (!device.compute.empty()) {
    const Interval kernels = dense_part(device.compute);
    if (kernels.length() < span.length() / 10) return kernels;
  }
  return dense_part(device.busy);
}

Steady by_work(const Timeline& run, const Device& device) {
  const Interval span{device.busy.front().begin, device.busy.back().end};
  const Interval dense = dense_part_of(device, span);
  Steady steady;
  const bool much_shorter =
      static_cast<double>(dense.length()) < kMuchShorter * static_cast<double>(span.length());
  steady.time = much_shorter ? dense : span;
  steady.why = much_shorter ? "the part that holds nine tenths of the device's work; no steps were found"
                            : "from the first to the last work of the device; no steps were found";
  leave_out_before_work(steady, run, device, span.begin);
  if (much_shorter) {
    leave_out(steady,
              {"setup", {span.begin, dense.begin}, "little device work before the dense part: set-up"});
    leave_out(steady, {"tail", {dense.end, span.end}, "little device work after the dense part"});
  }
  leave_out(steady, {"tail", {span.end, run.capture.end}, "after the last work of the device"});
  return steady;
}

}  // namespace

Steady find_steady(const Timeline& run, const std::vector<Device>& devices, const Steps& steps) {
  const Device* device = main_device(devices);
  if (!steps.list.empty()) return by_steps(run, device, steps);
  if (device != nullptr && !device->is_host && !device->busy.empty()) return by_work(run, *device);
  Steady whole;
  whole.time = run.capture;
  whole.why = "the whole capture: no steps were found";
  return whole;
}

}  // namespace nl::analyze

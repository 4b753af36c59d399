#include "analyze/load/launches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analyze/load/host_calls.h"

namespace nl::analyze {
namespace {

/// Launch spans with their work, each group in order of time.
PagedVector<std::pair<uint32_t, uint32_t>> linked_work(const Device& device) {
  PagedVector<std::pair<uint32_t, uint32_t>> order;
  order.reserve(device.work.size());
  for (size_t i = 0; i < device.work.size(); i++) {
    if (device.work[i].launch != kNoRow) order.emplace_back(device.work[i].launch, static_cast<uint32_t>(i));
  }
  if (!std::is_sorted(order.begin(), order.end())) std::sort(order.begin(), order.end());
  return order;
}

void add_work(Launch& launch, const Work& work) {
  launch.last_end = std::max(launch.last_end, work.end);
  launch.works++;
  if (work.kind == WorkKind::kCopy) return;
  launch.kernels++;
  launch.kernels_ns += work.end - work.start;
}

Launch begin_launch(const Timeline& run, const Work& first) {
  const uint32_t span = first.launch;
  Launch launch{};
  launch.called = run.spans.start[span];
  launch.returned = run.spans.end[span];
  launch.first_start = first.start;
  launch.last_end = first.end;
  launch.span = span;
  launch.track = first.track;
  launch.is_graph = host_call(run.names[run.spans.name[span]]) == HostCall::kGraphLaunch;
  launch.is_kernel = first.kind != WorkKind::kCopy;
  return launch;
}

/// For each call, the earlier calls on its stream whose work ends later than it begins.
void count_queues(PagedVector<Launch>& launches) {
  std::map<int32_t, PagedVector<uint32_t>> streams;
  for (size_t i = 0; i < launches.size(); i++) streams[launches[i].track].push_back(static_cast<uint32_t>(i));
  for (auto& [track, calls] : streams) {
    PagedVector<int64_t> ends;
    for (const uint32_t i : calls) ends.push_back(launches[i].last_end);
    std::sort(ends.begin(), ends.end());
    size_t ended = 0;
    for (size_t n = 0; n < calls.size(); n++) {
      Launch& launch = launches[calls[n]];
      while (ended < ends.size() && ends[ended] <= launch.called) ended++;
      launch.queued = static_cast<int32_t>(n > ended ? n - ended : 0);
    }
  }
}

}  // namespace

PagedVector<Launch> launches_of(const Timeline& run, const Device& device) {
  PagedVector<Launch> launches;
  for (const auto& [span, place] : linked_work(device)) {
    const Work& work = device.work[place];
    if (launches.empty() || launches.back().span != work.launch) launches.push_back(begin_launch(run, work));
    add_work(launches.back(), work);
  }
  const auto by_call = [](const Launch& a, const Launch& b) {
    return std::tie(a.called, a.span) < std::tie(b.called, b.span);
  };
  if (!std::is_sorted(launches.begin(), launches.end(), by_call))
    std::sort(launches.begin(), launches.end(), by_call);
  count_queues(launches);
  return launches;
}

LaunchStats launch_stats(const PagedVector<Launch>& launches, const IntervalSet& window) {
  LaunchStats stats;
  for (const Interval& part : window) {
    auto it = std::lower_bound(launches.begin(), launches.end(), part.begin,
                               [](const Launch& l, int64_t time) { return l.called < time; });
    for (; it != launches.end() && it->called < part.end; ++it) {
      const int64_t delay = it->first_start - it->called;
      stats.calls++;
      stats.graph_calls += it->is_graph;
      stats.graph_kernels += it->is_graph ? it->kernels : 0;
      stats.api_ns += it->returned - it->called;
      stats.negative += delay < 0;
      stats.api.push_back(it->returned - it->called);
      stats.queue.push_back(it->queued);
      if (it->is_kernel) stats.delay.push_back(delay);
    }
  }
  return stats;
}

int64_t quantile(PagedVector<int64_t>& values, double q) {
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<ptrdiff_t>(rank == 0 ? 0 : rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

int64_t median(PagedVector<int64_t>& values) {
  return quantile(values, 0.5);
}

}  // namespace nl::analyze

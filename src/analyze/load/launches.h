#pragma once
// The launch calls of a device: how long each call takes, how long its work waits before it starts, and how
// much work is queued at that time.

#include <vector>

#include "analyze/load/devices.h"

namespace nl::analyze {

/// One call and all work that it started: one kernel or copy, or all kernels of a graph.
struct Launch {
  int64_t called, returned;  ///< of the call
  int64_t first_start;       ///< of its work
  int64_t last_end;
  int64_t kernels_ns;  ///< sum of its kernels
  uint32_t span;
  int32_t track;  ///< stream of its first work
  uint32_t works;
  uint32_t kernels;
  int32_t queued;  ///< calls on the same stream whose work had not ended at `called`
  bool is_graph;
  bool is_kernel;  ///< its first work is a kernel
};

/// In order of their calls.
PagedVector<Launch> launches_of(const Timeline& run, const Device& device);

struct LaunchStats {
  int64_t calls = 0, graph_calls = 0, api_ns = 0, negative = 0, graph_kernels = 0;
  PagedVector<int64_t> api, delay, queue;  ///< one value a call, to take medians of; delays of kernels only
};
/// Of the calls that begin in the window.
LaunchStats launch_stats(const PagedVector<Launch>& launches, const IntervalSet& window);

/// The middle value, of an even number the lower one; values are reordered.
int64_t median(PagedVector<int64_t>& values);
/// Nearest-rank quantile of values that are not empty.
int64_t quantile(PagedVector<int64_t>& values, double q);

}  // namespace nl::analyze

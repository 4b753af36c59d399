#pragma once
// Computes the metrics of one device in one window. metrics.def declares them.

#include <array>

#include "analyze/metrics/metric.h"
#include "analyze/time/attribution.h"
#include "analyze/time/prepared_run.h"

namespace nl::analyze {

/// What is equal for all devices: figures of the host, of steps, phases and ranges.
struct HostMetrics {
  MetricSet metrics;
  std::array<int64_t, kOpClasses> class_ns{};  ///< own time of the ops
  int64_t own_ns = 0;                          ///< the sum of it
};
HostMetrics host_metrics(const PreparedRun& run, const IntervalSet& window);

MetricSet device_metrics(const PreparedRun& run, const DeviceState& state, const IntervalSet& window,
                         const HostMetrics& host);
MetricSet device_metrics(const PreparedRun& run, const DeviceState& state, const IntervalSet& window);

}  // namespace nl::analyze

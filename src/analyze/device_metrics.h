#pragma once
// Computes the metrics of one device in one window. metrics.def declares them.

#include "analyze/metrics/metric.h"
#include "analyze/time/attribution.h"
#include "analyze/time/prepared_run.h"

namespace nl::analyze {

MetricSet device_metrics(const PreparedRun& run, const DeviceState& state, const IntervalSet& window);

}  // namespace nl::analyze

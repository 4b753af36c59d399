#pragma once
// The metrics of one device in one window, as metrics.def declares them.

#include "analyze/attribution.h"
#include "analyze/metric.h"
#include "analyze/prepared_run.h"

namespace nl::analyze {

MetricSet device_metrics(const PreparedRun& run, const DeviceState& state, const IntervalSet& window);

}  // namespace nl::analyze

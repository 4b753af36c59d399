#pragma once
// Metrics of a run, for operations that hold runs against each other.

#include <string>

#include "analyze/metric.h"
#include "base/result.h"
#include "ops/operation.h"
#include "ops/run_names.h"

namespace nl::ops {

/// All metrics of one device in one window, both as a prediction names them; not_found if the run has no such
/// window or device.
Result<analyze::MetricSet> metrics_of_run(Context& context, const NamedRun& run, const std::string& window,
                                          const std::string& device);

}  // namespace nl::ops

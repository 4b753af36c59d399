#include "ops/run_metrics.h"

namespace nl::ops {

Result<analyze::MetricSet> metrics_of_run(Context&, const NamedRun&, const std::string&, const std::string&) {
  return Error{ErrorCode::kUnsupported, "metrics of a run cannot be computed yet"};
}

}  // namespace nl::ops

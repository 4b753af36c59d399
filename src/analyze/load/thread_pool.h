#pragma once
// What ONNX Runtime reports about its thread pool. For each op: how long the main thread worked in parallel
// sections, and how long it distributed work and waited for the other threads.

#include <vector>

#include "analyze/load/intervals.h"
#include "base/known.h"
#include "base/result.h"
#include "store/open_run.h"

namespace nl::analyze {

struct PoolSample {
  int64_t start_ns;  ///< of the op
  int64_t run_us;
  int64_t other_us;  ///< distributing, enqueueing, waiting, revoking
};

/// In the order of spans; empty if the source shows no pool.
Result<std::vector<PoolSample>> pool_samples(store::OpenRun& open);

/// run / (run + other) over the ops that start in the window.
Known<double> parallel_efficiency(const std::vector<PoolSample>& samples, const IntervalSet& window);

}  // namespace nl::analyze

#pragma once
// Iterations that were timed from outside, summed up: how long one takes, and what the profiler adds to it.

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "ops/operation.h"
#include "store/open_run.h"

namespace nl::ops {

/// {passes: [{pass, iterations, warm_up, median_ns, low_ns, high_ns, p90_ns, p99_ns, min_ns, max_ns,
/// cpu_ns}], overhead: {turns, ratio, low, high, cpu_ratio, cpu_low, cpu_high}}; null if the run has none.
/// Warm-up counts in no figure; what a sample is too small to say is null.
Result<nlohmann::json> iteration_times(store::OpenRun& run);

/// A line for each pass and one for the overhead, beside the other lines of a run; nothing if there are none.
std::string iteration_text(const nlohmann::json& times, const TextStyle& style);

/// That figures of the profile are not those of an undisturbed run, if it costs more than a twentieth; else
/// empty.
std::string overhead_warning(const nlohmann::json& times);

}  // namespace nl::ops

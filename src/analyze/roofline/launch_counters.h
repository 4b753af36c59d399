#pragma once
// What a counter profiler measured on the replayed launches, by kernel: occupancy, efficiency, caches,
// memory, intensity and the roofline. The profiler replays launches with fixed clocks and cold caches, so
// their time only serves as a weight here and is never reported as time of the run.

#include <optional>

#include "analyze/answer/counters.h"
#include "analyze/roofline/device_peaks.h"
#include "base/json.h"
#include "base/result.h"
#include "store/open_run.h"

namespace nl::analyze {

/// Nothing without profiled launches. `hardware` is that of run.json.
Result<std::optional<CountersAnswer>> launch_counters(store::OpenRun& open, const nlohmann::json& hardware,
                                                      const PeakTable& peaks, int64_t top);

}  // namespace nl::analyze

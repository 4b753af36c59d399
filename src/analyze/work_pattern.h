#pragma once
// Work pattern of a device: how long its pieces of work are and what follows what. It tells models apart
// where sums of time do not.

#include <nlohmann/json.hpp>

#include "analyze/prepared_run.h"

namespace nl::analyze {

/// {durations {count, p10, p25, p50, p75, p90, p99}, by_time {the same without count}, pairs [[first, second,
/// count, ns]], pairs_left_out}. A piece is a kernel, a copy or, on the host, an outermost op that starts in
/// the window; by_time: the duration up to which that share of the time is spent. Pairs are neighbours on one
/// stream or thread, named by op type, or by class where no op is known; ns is that of the second one.
nlohmann::json work_pattern(const PreparedRun& run, const Device& device, const IntervalSet& window);

}  // namespace nl::analyze

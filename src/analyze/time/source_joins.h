#pragma once
// How the sources of a run fit together: clocks with what is known of them, kernels that seem to start too
// early, replayed launches that were found in a trace.

#include "analyze/load/timeline.h"
#include "base/json.h"

namespace nl::analyze {

/// Kernels that start before the one before them on their stream has ended: programmatic launches overlap so.
int64_t overlapping_kernels(const Timeline& run);

/// Block `clocks`: one row a fit, and kernels that seem to start before their launch, by class.
Result<nlohmann::json> clocks_json(store::Connection& connection, const Timeline& run);

/// Block `launch_matches`: null for runs without both a trace and replayed launches.
Result<nlohmann::json> launch_matches_json(store::Connection& connection, const store::RunFiles& files);

}  // namespace nl::analyze

#pragma once
// Reports how the sources of a run fit together: the clocks and what is known of them, kernels that seem to
// start too early, and replayed launches that were found in a trace.

#include <optional>

#include "analyze/answer/clocks.h"
#include "analyze/load/timeline.h"

namespace nl::analyze {

/// Kernels that start before the one before them on their stream has ended: programmatic launches overlap so.
int64_t overlapping_kernels(const Timeline& run);

/// One row a fit, and kernels that seem to start before their launch, by class.
Result<ClocksAnswer> clocks_of(store::OpenRun& open, const Timeline& run);

/// Nothing for runs without both a trace and replayed launches.
Result<std::optional<LaunchMatches>> launch_matches(store::OpenRun& open);

}  // namespace nl::analyze

#pragma once
// Reads from the tables of a recorded program where its time went (analyze/answer/recorded_times.h).

#include <optional>
#include <string>

#include "analyze/answer/recorded_times.h"
#include "base/result.h"
#include "ops/operation.h"
#include "store/open_run.h"

namespace nl::ops {

/// At most `top` rows of each list; nothing if the run is of no recording.
Result<std::optional<analyze::RecordedTimes>> recorded_times(store::OpenRun& run, int64_t top);

/// The same for an analysis: nothing if its window is not the whole run.
Result<std::optional<analyze::RecordedTimes>> recorded_part(store::OpenRun& run, const std::string& window,
                                                            int64_t top);

/// A table of each; empty if there are none.
std::string recorded_times_text(const std::optional<analyze::RecordedTimes>& times, const TextStyle& style);

}  // namespace nl::ops

#pragma once
// Where the time of a recorded program went (analyze/answer/recorded_times.h), read from its tables.

#include <optional>
#include <string>

#include "analyze/answer/recorded_times.h"
#include "base/result.h"
#include "ops/operation.h"
#include "store/run_views.h"

namespace nl::ops {

/// At most `top` rows of each list; nothing if the run is of no recording.
Result<std::optional<analyze::RecordedTimes>> recorded_times(const store::RunFiles& files, int64_t top);

/// The same for an analysis: nothing if its window is not the whole run.
Result<std::optional<analyze::RecordedTimes>> recorded_part(const store::RunFiles& files,
                                                            const std::string& window, int64_t top);

/// A table of each; empty if there are none.
std::string recorded_times_text(const std::optional<analyze::RecordedTimes>& times, const TextStyle& style);

}  // namespace nl::ops

#pragma once
// Finds what a reader must know of a capture: work that was queued before it began, launches that were not
// recorded, a graph that is captured and not run, missing ranks, a profiler that slows its host.

#include <vector>

#include "analyze/analysis.h"

namespace nl::analyze {

/// `answer` has its window, limiters and devices; it may list only the first pieces of the window.
std::vector<Remark> capture_notes(const PreparedRun& run, const Sources& sources, const IntervalSet& window,
                                  const Analysis& answer);

/// Why nobody could say from this capture what limits the run; nothing if it can be said. `answer` has its
/// notes.
std::optional<Remark> why_undecided(const PreparedRun& run, const Analysis& answer);

}  // namespace nl::analyze

#pragma once
// Makes the file of a run's time line: all spans, kernels, copies and synchronisations that have a time. On a
// thread a span lies in the row of its depth; device work lies in the row of its stream, synchronisations one
// below. What overlaps there gets lanes, so that nothing is hidden.

#include <string>

#include "base/result.h"
#include "store/open_run.h"

namespace nl::timeline {

/// Raised when the file or what lies on it changes.
inline constexpr int kVersion = 1;

/// The derived tables of the run must be there. The file has a name that begins with `aside` until it is
/// complete.
Result<void> build_timeline(store::OpenRun& run, const std::string& aside, const std::string& path);

}  // namespace nl::timeline

#pragma once
// A window of a run by its name, for operations that need only its times.

#include <string>

#include "analyze/load/intervals.h"
#include "base/result.h"
#include "ops/runs/run_names.h"

namespace nl::ops {

/// Sorted and not empty; not_found if the run has no such window.
Result<analyze::IntervalSet> named_window(const NamedRun& run, const std::string& name);

}  // namespace nl::ops

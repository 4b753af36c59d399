#pragma once
// Where the time of a recorded program went: its scopes by the time that is their own, and the functions that
// were sampled.

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "ops/operation.h"
#include "store/open_run.h"

namespace nl::ops {

/// {scopes: [{name, calls, own_ns, total_ns}], functions and python: [{name, own_ns, total_ns, all_ns,
/// share}], waits: [{name, times, total_ns}], queries: the SQL of each}, the longest own times first, at most
/// `top` of each; null if the run is of no recording. A function that calls itself counts once in `total_ns`;
/// `all_ns` is that of all samples, and `share` the own part of it.
Result<nlohmann::json> recorded_times(store::OpenRun& run, int64_t top);

/// The same for an analysis: null if its window is not the whole run.
Result<nlohmann::json> recorded_part(store::OpenRun& run, const std::string& window, int64_t top);

/// A table of each; nothing if there are none.
std::string recorded_times_text(const nlohmann::json& times, const TextStyle& style);

}  // namespace nl::ops

#pragma once
// The figures of the one-screen summary of a run, from its tables.

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "store/run_views.h"

namespace nl::store {

/// window {start_ns, dur_ns}, devices [{device, kernels, kernel_ns, copies, copy_ns, copy_bytes}], kernels
/// {count, total_ns, names, linked, in_ops}, ops {count, names}, layers {count,
/// timed, total_ns, iterations}, top [{name, calls, total_ns, share}] and
/// top_of: kernels, or for runs without kernels layers by their time, else ops by their own time. The share
/// is of the sum of all rows ranked.
Result<nlohmann::json> summarize_run(EngineStart& start, const RunFiles& files, int64_t top_rows);

/// What summarize_run needs.
EngineOptions summary_engine();

}  // namespace nl::store

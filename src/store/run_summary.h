#pragma once
// The figures of the one-screen summary of a run, computed from its tables.

#include "base/json.h"
#include "base/result.h"
#include "store/open_run.h"

namespace nl::store {

/// window {start_ns, dur_ns}, devices [{device, kernels, kernel_ns, copies, copy_ns, copy_bytes}], kernels
/// {count, total_ns, names, linked, in_ops}, ops {count, names}, layers {count,
/// timed, total_ns, iterations}, top [{name, calls, total_ns, share}] and
/// top_of: kernels, or for runs without kernels layers by their time, else ops by their own time. The share
/// is of the sum of all rows ranked.
Result<nlohmann::json> summarize_run(OpenRun& run, int64_t top_rows);

/// SQL over the views: first start and length of the capture, NULL if nothing has a time or the length does
/// not fit. A mark alone is no activity: a profiler sets some while it starts and stops.
inline constexpr char kCaptureWindow[] = R"(
  SELECT min(a), try_cast(max(b)::HUGEINT - min(a)::HUGEINT AS BIGINT) FROM (
    SELECT min(start_ns) a, max(start_ns + coalesce(dur_ns, 0)) b FROM spans WHERE kind <> 'instant'
    UNION ALL SELECT min(start_ns), max(start_ns + dur_ns) FROM kernels
    UNION ALL SELECT min(start_ns), max(start_ns + dur_ns) FROM copies))";

}  // namespace nl::store

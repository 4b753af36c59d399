#pragma once
// The report of a run as JSON, from which Markdown and HTML are made.

#include "ops/operation.h"
#include "ops/runs/run_names.h"

namespace nl::ops {

/// `given`: the options of the analysis (window, top, phase, peaks, rules) as the operation report takes
/// them. Tables have all rows: reports that show less cut them themselves.
Result<nlohmann::json> make_run_report(Context& context, const NamedRun& named, const nlohmann::json& given);

}  // namespace nl::ops

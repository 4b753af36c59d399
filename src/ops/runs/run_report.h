#pragma once
// Makes the report of a run. Markdown, HTML and JSON are made from it.

#include "ops/operation.h"
#include "ops/runs/run_names.h"
#include "report/report_json.h"

namespace nl::ops {

/// `given`: the options of the analysis (window, top, phase, peaks, rules) as the operation report takes
/// them. Tables have all rows: reports that show less cut them themselves.
Result<report::Report> make_run_report(Context& context, const NamedRun& named, const nlohmann::json& given);

}  // namespace nl::ops

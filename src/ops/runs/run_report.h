#pragma once
// Makes the report of a run. Markdown, HTML and JSON are made from it.

#include <map>
#include <optional>
#include <string>

#include "ops/operation.h"
#include "ops/runs/run_names.h"
#include "report/report_json.h"

namespace nl::ops {

using LabelValues = std::map<std::string, std::string>;

/// `given`: the options of the analysis (window, top, phase, peaks, rules) as the operation report takes
/// them. Tables have all rows: reports that show less cut them themselves. `made_with`: the labels that
/// figures depend on, if they are not to be those of today.
Result<report::Report> make_run_report(Context& context, const NamedRun& named, const nlohmann::json& given,
                                       const std::optional<LabelValues>& made_with = std::nullopt);

}  // namespace nl::ops

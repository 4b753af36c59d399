#pragma once
// The parameters that analyze, report and lint share.

#include "analyze/analysis.h"
#include "ops/operation.h"

namespace nl::ops {

/// window, top, phase, peaks and rules.
Result<analyze::AnalysisOptions> analysis_options(const nlohmann::json& parameters);

}  // namespace nl::ops

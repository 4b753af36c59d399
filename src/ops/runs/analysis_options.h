#pragma once
// Reads the parameters that analyze, report and lint have in common.

#include "analyze/analysis.h"
#include "ops/operation.h"

namespace nl::ops {

/// window, top, phase, peaks and rules.
Result<analyze::AnalysisOptions> analysis_options(const nlohmann::json& parameters);

}  // namespace nl::ops

#pragma once
// The parameters that analyze, report and lint share.

#include "analyze/analysis.h"
#include "ops/operation.h"

namespace nl::ops {

/// window, top, phase, peaks and rules. Files of this machine only where the context allows them.
Result<analyze::AnalysisOptions> analysis_options(const Context& context, const nlohmann::json& parameters);

}  // namespace nl::ops

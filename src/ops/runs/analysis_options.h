#pragma once
// Reads the parameters that analyze, report and lint have in common.

#include "analyze/analysis.h"
#include "ops/operation.h"

namespace nl::ops {

/// window, top, phase, peaks, rules and model_config.
Result<analyze::AnalysisOptions> analysis_options(const nlohmann::json& parameters);

/// Takes what the labels say of the model; a config that was given counts before their parameters.
void use_labels(analyze::AnalysisOptions& options, const std::map<std::string, std::string>& labels);

}  // namespace nl::ops

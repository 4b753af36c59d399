#pragma once
// The whole analysis of a run in a bundle: from its tables to JSON.

#include "analyze/analysis.h"

namespace nl::analyze {

/// analysis_json of the run's window, with layers and findings.
Result<nlohmann::json> analyze_run(store::EngineStart& engine, const std::string& bundle,
                                   const nlohmann::json& document, const AnalysisOptions& options);

}  // namespace nl::analyze

#pragma once
// The executive summary: sentences in plain words, each with the figure that proves it.

#include "base/json.h"

namespace nl::report {

/// [{text, figure}] of a report that has its analysis and figures.
nlohmann::json summary_of(const nlohmann::json& report);

}  // namespace nl::report

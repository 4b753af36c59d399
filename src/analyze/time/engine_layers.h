#pragma once
// Layers of a compiled engine with their times: what a run has that was profiled layer by layer.

#include "analyze/names/taxonomy.h"
#include "base/json.h"
#include "base/result.h"
#include "store/engine.h"
#include "store/run_views.h"

namespace nl::analyze {

/// {count, timed, total_ns, iterations, classes {class: ns}, top [...], not_shown {rows, total_ns}}; null
/// without layers.
Result<nlohmann::json> engine_layers(store::Connection& connection, const store::RunFiles& files,
                                     const Taxonomy& taxonomy, int64_t top);

}  // namespace nl::analyze

#pragma once
// Finds runs that can tell the ops of another run's graph replays.

#include <string>

#include "analyze/graphs/graph_ops.h"
#include "ops/operation.h"
#include "ops/runs/run_names.h"

namespace nl::ops {

/// The run that somebody named, opened when it is needed; not_found if there is no such run.
Result<analyze::DonorChoice> named_donor(Context& context, const std::string& name);

/// The newest runs of the ledger with the same label `model`, looked for when the first one is asked for.
/// None for a run without that label, or outside of a ledger.
analyze::DonorChoice donors_in_ledger(const NamedRun& run, const nlohmann::json& document);

}  // namespace nl::ops

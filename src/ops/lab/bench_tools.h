#pragma once
// What else can be asked of the target of a bench file: since which revision it is slower, and what this
// machine can tell apart with it.

#include "ops/operation.h"

namespace nl::ops {

/// bench bisect: the baseline of the target at each revision, or for each of a list of configurations.
Result<Outcome> bisect_target(Context& context, const nlohmann::json& parameters);

/// bench audit: pairs of runs of the same baseline (A/A).
Result<Outcome> audit_machine(Context& context, const nlohmann::json& parameters);
std::string audit_text(const Outcome& outcome, const TextStyle& style);

}  // namespace nl::ops

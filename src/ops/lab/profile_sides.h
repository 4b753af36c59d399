#pragma once
// Says why a variant is faster: profiles a run of each side, apart from the runs that are timed, and compares
// them.

#include "lab/run/claim_result.h"
#include "lab/targets/target.h"
#include "ops/operation.h"

namespace nl::ops {

/// Adds the profiled runs of both sides to the claim, and what their comparison says, or why there is none.
/// What the target does not ask for is not done. An error only if the call was cancelled.
Result<void> profile_sides(const Context& context, const lab::Target& target, const lab::Side& variant,
                           lab::ClaimResult& claim);

}  // namespace nl::ops

#pragma once
// Says why one thing is faster than another: profiles a run of each, apart from the runs that are timed, and
// compares them.

#include <functional>
#include <string>
#include <vector>

#include "lab/run/claim_result.h"
#include "lab/targets/target.h"
#include "ops/operation.h"

namespace nl::ops {

/// Parameters of the operation record, with a command and labels, for a run that is to be compared.
nlohmann::json recording(nlohmann::json parameters, const std::string& folder, int64_t seconds);

struct Explanation {
  std::vector<std::string> runs = {};  ///< one of each, under a profiler
  std::string why = {};                ///< what their comparison says, or why there is none
};
/// Each call profiles one of the two and gives the id of its run. An error only if the call was cancelled.
using ProfileCall = std::function<Result<std::string>()>;
Result<Explanation> explained(const Context& context, const ProfileCall& base, const ProfileCall& changed);

/// Adds the profiled runs of both sides to the claim, and what their comparison says, or why there is none.
/// What the target does not ask for is not done. An error only if the call was cancelled.
Result<void> profile_sides(const Context& context, const lab::Target& target, const lab::Side& variant,
                           lab::ClaimResult& claim);

}  // namespace nl::ops

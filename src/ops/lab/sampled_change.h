#pragma once
// What two recorded programs without a time line differ in, by samples of the processors: which functions
// took more or less time.

#include <string>
#include <vector>

#include "ops/operation.h"

namespace nl::ops {

/// One sentence about two runs. A function is only named if its difference is four times what chance does to
/// so many samples; without one the sentence says that. `unavailable` if a run has no samples.
Result<std::string> sampled_change(const Context& context, const std::vector<std::string>& runs);

}  // namespace nl::ops

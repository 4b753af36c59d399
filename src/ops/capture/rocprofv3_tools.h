#pragma once
// rocprofv3 as a tool of the operation `deep`: it traces in one pass and counts in another.

#include <string>
#include <vector>

#include "ops/capture/deep_tool.h"

namespace nl::ops {

/// `counters`: what to count, at once; empty: nothing. `unavailable` if rocprofv3 is not installed or cannot
/// count.
Result<DeepTools> rocprofv3_tools(const Environment& surroundings, const std::vector<std::string>& counters);

}  // namespace nl::ops

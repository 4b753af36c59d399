#pragma once
// The two workloads of `deep compare`. Each begins with a workload file, and what follows are its overrides:
// compare before.yaml after.yaml, compare w.yaml batch=8 w.yaml batch=16.

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace nl::ops {

using DeepSides = std::pair<std::vector<std::string>, std::vector<std::string>>;

/// Do these words ask for a comparison, rather than for a program of that name?
bool asks_for_comparison(const std::vector<std::string>& words);

/// The base first; bad_input unless there are two.
Result<DeepSides> deep_sides(const std::vector<std::string>& words);

}  // namespace nl::ops

#pragma once
// A comparison on one screen: verdict, wall time, parts with bars on a common axis, and what changed.

#include <string>

#include "ops/operation.h"

namespace nl::ops {

/// Of an outcome of the operation `compare`.
std::string compare_text(const Outcome& outcome, const TextStyle& style);

}  // namespace nl::ops

#pragma once
// An analysis on one screen: limiters, devices with their decomposition, kernels, ops, findings.

#include <string>

#include "ops/operation.h"

namespace nl::ops {

/// Of an outcome of the operation `analyze`.
std::string analyze_text(const Outcome& outcome, const TextStyle& style);

}  // namespace nl::ops

#pragma once
// The gate of a CI pipeline: does a comparison pass? A result that is not shown to be fine does not pass,
// unless the caller allows it.

#include <optional>

#include "compare/answer.h"

namespace nl::ops {

struct GateOptions {
  std::optional<double> allow_untested;  ///< one run a side passes up to this increase
  bool allow_inconclusive = false;
};

/// By the limits of the comparison if one of them is not met, else by its verdict.
compare::GateResult judge_gate(const compare::Comparison& comparison, const GateOptions& options);

}  // namespace nl::ops

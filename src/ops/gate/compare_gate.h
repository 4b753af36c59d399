#pragma once
// The gate of a CI pipeline: does a comparison pass? What is not shown to be fine does not pass, unless the
// caller allows it.

#include <optional>
#include <string>

#include "base/json.h"

namespace nl::ops {

struct GateOptions {
  std::optional<double> allow_untested;  ///< one run a side passes up to this increase
  bool allow_inconclusive = false;
};

struct GateResult {
  bool passed = false;
  std::string reason;
};

/// `comparison` is the data of the operation `compare`.
GateResult judge_gate(const nlohmann::json& comparison, const GateOptions& options);

}  // namespace nl::ops

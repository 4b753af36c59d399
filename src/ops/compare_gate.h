#pragma once
// The gate of a CI pipeline: does a comparison pass? What is not shown to be fine does not pass, unless the
// caller allows it.

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace nl::ops {

/// "3%", "3 %" or "0.03"; bad_input if it is not a share from 0 to 10.
Result<double> parse_share(const std::string& option, const std::string& text);

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

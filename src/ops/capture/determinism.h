#pragma once
// Does a workload do the same each time? Checked are its output over the runs without a tool, settings of its
// environment, and what Python processes of it that import neurolens say of themselves when they end
// (python/neurolens/_process_report.py). What cannot be known is absent, with the reason.

#include <string>
#include <vector>

#include "base/json.h"
#include "ops/capture/workload_file.h"

namespace nl::ops {

/// A Python process of the workload writes process-PID.json into the folder that this variable names.
inline constexpr const char* kProcessReportVariable = "NEUROLENS_PROCESS_REPORT";

struct DeterminismFacts {
  std::vector<std::string> variables = {};  ///< NAME=value that the workload gets; the last one counts
  nlohmann::json gpus = nullptr;            ///< capture::describe_gpus
  std::vector<std::string> repeats = {};    ///< folders of the passes without a tool
  std::vector<std::string> passes = {};     ///< folders of all passes
};

/// Checks that may be in the `allow` of a workload; bad_input if another one is.
Result<void> check_allowed(const Workload& workload);

/// [{check, status, value, reason}]. status: fixed, open (it may differ from run to run), allowed (open, and
/// the workload says why that is fine: `reason`), absent (not known, `reason` says why).
nlohmann::json check_determinism(const Workload& workload, const DeterminismFacts& facts);

}  // namespace nl::ops

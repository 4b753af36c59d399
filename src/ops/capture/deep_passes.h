#pragma once
// The passes of the operation `deep` over one workload: without a tool, under a tool that traces it, and
// under a tool that counts on some of its kernels. A pass that fails, hangs or records nothing is reported as
// such and does not affect the others.

#include <string>
#include <vector>

#include "capture/tools/pass.h"
#include "ops/capture/deep_tool.h"
#include "ops/capture/workload_file.h"
#include "ops/operation.h"

namespace nl::ops {

struct DeepPlan {
  Workload workload = {};
  DeepTools tools = {};
  int64_t repeats = 0;                      ///< of the pass without a tool
  size_t top = 0;                           ///< kernels to replay
  std::vector<std::string> functions = {};  ///< kernels to replay instead of the longest
  int64_t launches = 0;                     ///< to replay
  int64_t max_slowdown = 0;                 ///< of a pass, against the time without a tool
  capture::PassBudget budget = {};
};

struct DeepPasses {
  /// [{pass, status, reason, tool, version, command, attempts, exit_code, wall_ns, cpu_ns, wall_ratio,
  /// cpu_ratio, tool_wall_ns, files}], one for each pass. status: done, nothing_profiled, cut_short, failed,
  /// forbidden, not_run.
  nlohmann::json passes = nlohmann::json::array();
  nlohmann::json iterations = nlohmann::json::array();  ///< as capture.json has them
  nlohmann::json replays = nullptr;                     ///< replay_choice_json
  std::vector<std::string> sources = {};                ///< what can be imported
  std::vector<std::string> folders = {};                ///< of all passes that were run
  std::vector<std::string> warnings = {};
};

/// `artifacts` gets a folder for each pass; `scratch` is for what is not kept. An error if the workload fails
/// without any tool.
Result<DeepPasses> run_deep_passes(Context& context, const DeepPlan& plan, const std::string& artifacts,
                                   const std::string& scratch);

}  // namespace nl::ops

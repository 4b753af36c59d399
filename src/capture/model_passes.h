#pragma once
// A model measured twice in one process: as it is, and with ONNX Runtime's profiler. The two sessions take
// turns in short blocks, so that a machine that gets slower meanwhile slows both, and their ratio is what the
// profiler costs. Runs in a process of its own: a model that crashes or eats the memory takes nothing with
// it, and the memory measured is the model's.

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "capture/model/model_inputs.h"
#include "capture/model/onnx_runtime.h"

namespace nl::capture {

struct PassPlan {
  std::string library = {};
  SessionOptions session = {};  ///< its profile_prefix is that of the second session
  std::string inputs_file = {};
  InputOptions inputs = {};
  int64_t warm_up = 3;     ///< runs of each session that are recorded as such
  int64_t iterations = 0;  ///< of each session; 0: as many as fit into `seconds`, 10 to 200
  double seconds = 5;
};

nlohmann::json plan_json(const PassPlan& plan);

/// The first argument of the program when it is started as that process; the second is a folder.
inline constexpr const char* kModelProcess = "--measure-model";

/// What that process does: reads plan.json in the folder, writes passes.json, which `read_passes` reads, or
/// error.json. The exit code.
int measure_model(const std::string& folder);

/// What the process wrote, or the error that it met.
Result<nlohmann::json> read_passes(const std::string& folder);

}  // namespace nl::capture

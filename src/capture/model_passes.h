#pragma once
// Measures a model twice in one process: once as it is, and once with ONNX Runtime's profiler. The two
// sessions take turns in short blocks, so if the machine becomes slower, both slow down, and their ratio
// still shows what the profiler costs. The measurement runs in a process of its own: a model that crashes or
// runs out of memory does no harm to us, and the measured memory is that of the model alone.

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
  bool profiled = true;  ///< else the model is only timed, and there is no profile
};

nlohmann::json plan_json(const PassPlan& plan);

/// The first argument of the program when it is started as that process; the others are the plan and a
/// folder.
inline constexpr const char* kModelProcess = "--measure-model";

/// What that process does: reads the plan, writes passes.json into the folder, which `read_passes` reads, or
/// error.json. The exit code. The plan names the library that is loaded, so it lies in a private folder
/// (base/private_folder.h).
int measure_model(const std::string& plan, const std::string& folder);

/// What the process wrote, or the error that it met.
Result<nlohmann::json> read_passes(const std::string& folder);

}  // namespace nl::capture

#pragma once
// Measures an ONNX model with and without ONNX Runtime's profiler, in a separate process
// (capture/model_passes.h).

#include "capture/model/model_inputs.h"
#include "ops/capture/profile_run.h"

namespace nl::ops {

/// `parameters` are those of the operation profile. What was measured is in the folder.
Result<MeasuredProfile> profile_onnx(const Context& context, const nlohmann::json& parameters,
                                     const std::string& folder);

/// The same without the profiler: iterations are timed, and nothing else.
Result<MeasuredProfile> time_onnx(const Context& context, const nlohmann::json& parameters,
                                  const std::string& folder);

/// --shape and --size of the operation.
Result<capture::InputOptions> input_options(const nlohmann::json& parameters);

}  // namespace nl::ops

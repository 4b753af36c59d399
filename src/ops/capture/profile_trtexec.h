#pragma once
// An engine of TensorRT, or an ONNX model, timed by trtexec. Times of inferences are of a run without a
// profiler, times of layers of one more; trtexec does both.

#include "ops/capture/profile_run.h"

namespace nl::ops {

/// `parameters` are those of the operation profile. What was measured is in the folder.
Result<MeasuredProfile> profile_trtexec(const Context& context, const nlohmann::json& parameters,
                                        const std::string& folder);

}  // namespace nl::ops

#pragma once
// Times a TensorRT engine, or an ONNX model, with trtexec. Inference times come from a run without a profiler
// and layer times from a second run; trtexec does both.

#include "ops/capture/profile_run.h"

namespace nl::ops {

/// `parameters` are those of the operation profile. What was measured is in the folder.
Result<MeasuredProfile> profile_trtexec(const Context& context, const nlohmann::json& parameters,
                                        const std::string& folder);

}  // namespace nl::ops

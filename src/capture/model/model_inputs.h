#pragma once
// The inputs for a model: those that the user gave, and for the rest generated ones that fit what the model
// declares. Generated inputs are the same on every machine.

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/model/onnx_runtime.h"

namespace nl::capture {

struct InputOptions {
  std::map<std::string, int64_t> sizes = {};                ///< of the model's symbols, e.g. batch
  std::map<std::string, std::vector<int64_t>> shapes = {};  ///< of inputs
  std::vector<Tensor> given = {};
};

struct ModelInputs {
  std::vector<Tensor> tensors = {};
  std::vector<std::string> generated = {};  ///< names of inputs that were made
  std::vector<std::string> guessed =
      {};  ///< sizes that nobody said and were taken for 1, e.g. "x[0] (batch)"
};

/// Floating-point numbers are evenly spread from 0 to 1 by a fixed seed; integers and truths are 1, which is
/// a valid index, length and mask in most models; texts are empty.
Result<ModelInputs> make_inputs(const std::vector<InputSpec>& specs, const InputOptions& options);

}  // namespace nl::capture

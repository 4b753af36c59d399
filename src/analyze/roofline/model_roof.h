#pragma once
// Holds the steps of a language model against what its weights and its cache demand of the device.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/model_roof.h"
#include "analyze/answer/serving.h"
#include "analyze/models/language_model.h"
#include "analyze/roofline/device_peaks.h"
#include "analyze/time/serving.h"

namespace nl::analyze {

/// What is known of a model and of the steps that a source does not describe.
struct ModelFacts {
  std::optional<LanguageModel> model = {};
  StepFacts steps = {};                 ///< of steps that no engine describes
  std::optional<Bounds> context = {};   ///< tokens that one request attends to
  std::optional<int64_t> devices = {};  ///< that share the weights
};

/// What labels say: parameters and precision, phase, batch, input_length and output_length, tensor_parallel.
/// Labels are free text: what does not read as such says nothing.
ModelFacts model_facts(const std::map<std::string, std::string>& labels);

/// `world`: ranks of the job; without a label, between one and all of them share the weights.
ModelRoofAnswer model_roof(const ModelFacts& facts, const std::vector<ServingRow>& rows,
                           const Known<DevicePeaks>& peaks, int64_t world);

}  // namespace nl::analyze

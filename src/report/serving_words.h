#pragma once
// Steps of a serving engine and of a language model, for people.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyze/answer/model_roof.h"
#include "analyze/answer/serving.h"

namespace nl::report {

/// What kernels do, "gemm 61.0 %", "attention 20.5 %": the largest first, without those below 1 %.
std::vector<std::string> class_shares(const std::map<std::string, int64_t>& classes);
/// What a step of one phase does: "decode of 32 requests".
std::string serving_words(const analyze::ServingRow& row);
/// Which steps a row is about: "decode, 32 tokens a step".
std::string roof_title(const analyze::ModelRoofRow& row);
/// What the weights, the cache and the operations of the model demand of a step.
std::string model_roof_words(const analyze::ModelRoofRow& row);

}  // namespace nl::report

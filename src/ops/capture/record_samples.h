#pragma once
// The sampling part of `record`: samples the workload, keeps the file beside its markers, and reports the
// result in the answer.

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "capture/sample/cpu_sampler.h"
#include "ops/operation.h"

namespace nl::ops {

/// Runs `run` and samples what it starts, unless `hz` is 0. That there are no samples is no error: the end
/// says why.
Result<capture::SamplingEnd> run_sampled(const nlohmann::json& parameters, const std::string& folder,
                                         const std::function<Result<void>()>& run);

/// Of a recorder that was killed.
capture::SamplingEnd recovered_samples(const std::string& folder);

/// {recorded, lost, with_kernel}; python: {recorded, torn} and waits if they were asked for; a reason for
/// what is missing: absent_reason, no_python_reason, unnamed_reason.
nlohmann::json samples_json(const capture::SamplingEnd& end);

/// What of it is worth a warning.
void warn_of_samples(const nlohmann::json& samples, std::vector<std::string>& warnings);

/// "12 recorded, 3 lost" of markers or samples.
std::string tally_text(const nlohmann::json& counts);
/// A line beside that of the markers.
std::string samples_text(const nlohmann::json& samples, const TextStyle& style);

}  // namespace nl::ops

#pragma once
// Jobs as people and programs write them down: a YAML list, or JSON lines, or the parameters of a call. Each
// is a map of the same keys, see docs/guides/queue.md. Errors name the file and the line.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "lab/queue/job.h"

namespace nl::lab {

/// Of a file: .jsonl is JSON lines, all else YAML. Relative folders begin where the file lies.
Result<std::vector<JobPlan>> read_job_file(const std::string& path, const Environment& surroundings);

/// Of the keys of one entry; other keys are refused. Relative folders begin where the caller is.
Result<JobPlan> plan_of(const nlohmann::json& entry, const Environment& surroundings);

/// What a job gets of the caller's variables: a few that most programs need, and those that are named.
/// "NAME" stands for the value that it has now, "NAME=value" sets one.
Result<std::vector<std::string>> job_environment(const std::vector<std::string>& given,
                                                 const Environment& surroundings);

}  // namespace nl::lab

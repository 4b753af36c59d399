#pragma once
// Which bench files a call means, and what can be said of them without running anything: bench list, check,
// init.

#include "lab/targets/bench_file.h"
#include "ops/operation.h"

namespace nl::ops {

/// --file, or the only one in the caller's folder.
Result<lab::BenchFile> given_bench_file(const Context& context, const nlohmann::json& parameters);

/// All targets of the files in the folder and below, or of --file.
Result<Outcome> list_targets(Context& context, const nlohmann::json& parameters);
/// What cannot be right in them; exit code 1 if there is an error.
Result<Outcome> check_bench_files(Context& context, const nlohmann::json& parameters);
/// Writes bench.yaml from the models and scripts of the folder; a file that is there stays.
Result<Outcome> init_bench_file(Context& context, const nlohmann::json& parameters);

std::string bench_files_text(const Outcome& outcome, const TextStyle& style);

}  // namespace nl::ops

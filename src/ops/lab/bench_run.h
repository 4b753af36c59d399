#pragma once
// bench run: measures the targets of a bench file and judges their claims.

#include "ops/operation.h"

namespace nl::ops {

Result<Outcome> run_bench(Context& context, const nlohmann::json& parameters);

/// The answer for people: one line for each claim.
std::string bench_run_text(const Outcome& outcome, const TextStyle& style);

}  // namespace nl::ops

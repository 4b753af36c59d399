#pragma once
// Writes what was measured into the bench file as its expectations, and who did that, when, on which machine
// and commit, and what stood there before, into a file beside it: <file>.expectations.jsonl.

#include <vector>

#include "lab/run/expectation_update.h"
#include "ops/lab/bench_session.h"
#include "ops/operation.h"

namespace nl::ops {

/// What became of each expectation. `conflict`: the file was changed while it was measured, so nothing is
/// written.
Result<std::vector<lab::ExpectationUpdate>> keep_expectations(const Context& context,
                                                              const lab::BenchFile& file,
                                                              const BenchSession& session);
std::string kept_expectations_text(const nlohmann::json& updates, const TextStyle& style);

}  // namespace nl::ops

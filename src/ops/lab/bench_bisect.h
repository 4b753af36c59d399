#pragma once
// Which revision, configuration or version made a workload slower? The part of the operation `bench` that
// bisects: parameters in, the answer of lab/bisect out. Whoever calls it has the right to use the machine
// (lab/machine) and the right to execute.

#include <string>

#include "ops/operation.h"

namespace nl::ops {

/// Parameters: `command` (array) and, of a git history, `good` and `bad` (revisions of the checkout
/// `repository`, by default the working folder), or `list` (texts, the good one first). And: `build` (for sh
/// -c), `printed` (key of a line NAME=VALUE) or `pattern` (regular expression with one group) for a time that
/// the workload prints instead of its wall time; `folder` (for the files of the points; by default a
/// temporary one); `values` (file in which measured pairs are kept); `seed`, `error`, `most_pairs`;
/// `build_seconds` and `run_seconds`. Exit code 1 if there is no culprit.
Result<Outcome> bench_bisect(Context& context, const nlohmann::json& parameters);

std::string bench_bisect_text(const Outcome& outcome, const TextStyle& style);

}  // namespace nl::ops

#pragma once
// Proof: how the promises of the built-in rules compared with gains that were measured on pairs of runs. The
// record is data/proof/gains.yaml, written by tests/full/gains. It counts for one version of a rule: a rule
// that was changed since is unproved. Thread-safe.

#include <vector>

#include "analyze/rules/gain.h"
#include "analyze/rules/rule.h"

namespace nl::analyze {

/// The record in `text`; `name` stands in messages.
Result<std::vector<RuleScore>> parse_proofs(const std::string& text, const std::string& name);

/// The record of this build.
Result<std::vector<RuleScore>> built_in_proofs();

/// What a finding of the rule says of its proof.
std::string proof_of(const Rule& rule, const std::vector<RuleScore>& proofs);

}  // namespace nl::analyze

#pragma once
// Findings: what the rules say of the metrics of one device in one window. A rule whose metrics are not there
// abstains and says why. Pure functions, any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/metrics/metric.h"
#include "analyze/rules/rule.h"
#include "base/json.h"
#include "base/known.h"

namespace nl::analyze {

struct FindingEvidence {
  std::string of;  ///< metric or expression
  Known<double> value;
  std::string unit;
  std::string text;
};

struct FindingSuggestion {
  std::string text;
  Known<int64_t> gain_ns;
  bool at_most = false;  ///< the gain is an upper bound
};

struct Finding {
  std::string rule;
  int rule_version = 0;
  std::string title;
  Confidence confidence = Confidence::kLow;
  std::vector<FindingEvidence> evidence;
  int64_t at_stake_ns = 0;
  std::vector<FindingSuggestion> suggestions;
  std::vector<std::string> references;
};

struct Abstention {
  std::string rule;
  int rule_version = 0;
  std::string metric;  ///< empty if all metrics are there, e.g. at a division by zero
  std::string reason;
};

struct Evaluation {
  std::vector<Finding> findings = {};        ///< most time at stake first, then by rule
  std::vector<Abstention> abstentions = {};  ///< by rule
};

/// A rule abstains, whatever its condition might say, if a metric of its condition or of at_stake is absent,
/// or if fewer than two of its evidences have their metrics. An absent gain is no reason to abstain.
Evaluation evaluate_rules(const std::vector<Rule>& rules, const MetricSet& metrics);

nlohmann::json to_json(const Finding& finding);
nlohmann::json to_json(const Abstention& abstention);
/// {findings, abstentions}
nlohmann::json to_json(const Evaluation& evaluation);

}  // namespace nl::analyze

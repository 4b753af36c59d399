#pragma once
// Findings: what the rules conclude from the metrics of one device in one window. A rule whose metrics are
// missing abstains and says why. Pure functions, any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/metrics/metric.h"
#include "analyze/rules/rule.h"
#include "base/described.h"
#include "base/known.h"

namespace nl::analyze {

struct FindingEvidence {
  std::string of = {};  ///< metric or expression
  Known<double> value = Absent{};
  std::string unit = {};
  std::string text = {};

  static constexpr auto fields() {
    using F = FindingEvidence;
    return std::tuple{field("of", &F::of, "metric or expression"),
                      field_known("value", &F::value, "in its unit; null if it is absent"),
                      field("unit", &F::unit, "of the value"), field("text", &F::text, "what it is")};
  }
};

struct FindingSuggestion {
  int64_t suggestion = 0;  ///< its number, from 1
  std::string text = {};
  Known<int64_t> gain_ns = Absent{};
  bool at_most = false;  ///< the gain is an upper bound

  static constexpr auto fields() {
    using F = FindingSuggestion;
    return std::tuple{field("suggestion", &F::suggestion, "its number, from 1"),
                      field("text", &F::text, "what to try"),
                      field_known("gain_ns", &F::gain_ns, "time of the window that this would save"),
                      field("at_most", &F::at_most, "the gain is an upper bound")};
  }
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
  int64_t promised_ns = 0;
  std::vector<std::string> shared_with = {};
  std::string proof = {};  ///< of the rule

  static constexpr auto fields() {
    using F = Finding;
    return std::tuple{
        field("rule", &F::rule, "id of the rule that found it"),
        field("rule_version", &F::rule_version, "raised when the rule changes"),
        field("title", &F::title, "what was found"),
        field("confidence", &F::confidence, "how sure the finding is"),
        field("at_stake_ns", &F::at_stake_ns, "time of the window that it is about"),
        field("evidence", &F::evidence, "figures that it rests on"),
        field("promised_ns", &F::promised_ns,
              "time of the window that it may save and that no earlier finding promises; over all findings "
              "of a device, the sum is at most the window"),
        field("shared_with", &F::shared_with,
              "rules that promise a part of the same time, if this finding therefore promises less than its "
              "gain"),
        field(
            "proof", &F::proof,
            "how gains promised by this rule compare with gains measured on pairs of runs; unproved without "
            "such pairs"),
        field("suggestions", &F::suggestions, "what to try"),
        field("references", &F::references, "public documentation")};
  }
};

struct Abstention {
  std::string rule;
  int rule_version = 0;
  std::optional<std::string> metric;  ///< none if all metrics are there, e.g. at a division by zero
  std::string reason;

  static constexpr auto fields() {
    using A = Abstention;
    return std::tuple{field("rule", &A::rule, "id of the rule"),
                      field("rule_version", &A::rule_version, "raised when the rule changes"),
                      field("metric", &A::metric, "metric that is absent; null if none is"),
                      field("reason", &A::reason, "why the rule could not be evaluated")};
  }
};

struct Evaluation {
  std::vector<Finding> findings = {};        ///< most time at stake first, then by rule
  std::vector<Abstention> abstentions = {};  ///< by rule

  static constexpr auto fields() {
    return std::tuple{field("findings", &Evaluation::findings, "most time at stake first"),
                      field("abstentions", &Evaluation::abstentions, "rules that could not be evaluated")};
  }
};

/// A rule abstains, whatever its condition might say, if a metric of its condition or of at_stake is absent,
/// or if fewer than two of its evidences have their metrics. An absent gain is no reason to abstain.
Evaluation evaluate_rules(const std::vector<Rule>& rules, const MetricSet& metrics);

}  // namespace nl::analyze

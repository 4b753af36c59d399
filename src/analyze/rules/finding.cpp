#include "analyze/rules/finding.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

namespace nl::analyze {
namespace {

constexpr size_t kLeastEvidence = 2;

/// The first metric of an expression that is not there.
std::optional<Metric> missing_metric(const Expression& expression, const MetricSet& metrics) {
  for (const Metric metric : expression.needed()) {
    if (!metrics.get(metric)) return metric;
  }
  return std::nullopt;
}

Abstention abstain(const Rule& rule, std::optional<std::string> metric, std::string reason) {
  return {rule.id, rule.version, std::move(metric), std::move(reason)};
}

Abstention abstain(const Rule& rule, Metric metric, const MetricSet& metrics) {
  return abstain(rule, std::string(metric_info(metric).id), metrics.get(metric).reason());
}

std::optional<Metric> missing_evidence(const Rule& rule, const MetricSet& metrics) {
  size_t there = 0;
  std::optional<Metric> first;
  for (const auto& evidence : rule.evidence) {
    const auto missing = missing_metric(evidence.value, metrics);
    if (!missing) there++;
    if (!first) first = missing;
  }
  return there < kLeastEvidence ? first : std::nullopt;
}

/// What the rule cannot do without, looked at before anything is evaluated.
std::optional<Metric> missing_for(const Rule& rule, const MetricSet& metrics) {
  if (const auto missing = missing_metric(rule.condition, metrics)) return missing;
  if (const auto missing = missing_metric(rule.at_stake, metrics)) return missing;
  return missing_evidence(rule, metrics);
}

Known<int64_t> whole_ns(const Known<double>& ns) {
  return map(ns, [](double value) -> Known<int64_t> {
    if (std::abs(value) >= 9.2e18) return Absent{"too large for ns"};
    return static_cast<int64_t>(std::llround(value));
  });
}

/// Sums over kernels that run side by side can be longer than the window; no more than it can be won.
Known<int64_t> in_window(const Known<int64_t>& ns, const MetricSet& metrics) {
  const Known<int64_t> total = whole_ns(metrics.get(Metric::total_time));
  return ns && total ? Known<int64_t>(std::min(*ns, *total)) : ns;
}

Known<int64_t> gain_of(const RuleSuggestion& suggestion, const MetricSet& metrics) {
  if (!suggestion.gain) return Absent{"the metrics do not give a value"};
  return in_window(whole_ns(suggestion.gain->number(metrics)), metrics);
}

/// Advice that depends on a figure that is absent is not given.
bool fits(const RuleSuggestion& suggestion, const MetricSet& metrics) {
  if (!suggestion.when) return true;
  const Known<bool> holds = suggestion.when->truth(metrics);
  return holds && *holds;
}

Finding finding_of(const Rule& rule, const MetricSet& metrics, int64_t at_stake_ns) {
  Finding finding{rule.id, rule.version, rule.title, rule.confidence, {}, at_stake_ns, {}, rule.references};
  finding.proof = rule.proof;
  for (const auto& evidence : rule.evidence) {
    finding.evidence.push_back(
        {evidence.value.text(), evidence.value.number(metrics), evidence.value.unit().text(), evidence.text});
  }
  for (size_t i = 0; i < rule.suggestions.size(); i++) {
    const RuleSuggestion& suggestion = rule.suggestions[i];
    if (!fits(suggestion, metrics)) continue;
    finding.suggestions.push_back(
        {static_cast<int64_t>(i) + 1, suggestion.text, gain_of(suggestion, metrics), suggestion.at_most});
  }
  return finding;
}

void evaluate(const Rule& rule, const MetricSet& metrics, Evaluation& out) {
  if (const auto missing = missing_for(rule, metrics)) {
    out.abstentions.push_back(abstain(rule, *missing, metrics));
    return;
  }
  const Known<bool> holds = rule.condition.truth(metrics);
  if (!holds) {
    out.abstentions.push_back(abstain(rule, std::nullopt, holds.reason()));
    return;
  }
  if (!*holds) return;
  const Known<int64_t> at_stake = in_window(whole_ns(rule.at_stake.number(metrics)), metrics);
  if (!at_stake) {
    out.abstentions.push_back(abstain(rule, std::nullopt, at_stake.reason()));
    return;
  }
  out.findings.push_back(finding_of(rule, metrics, *at_stake));
}

}  // namespace

Evaluation evaluate_rules(const std::vector<Rule>& rules, const MetricSet& metrics) {
  Evaluation out;
  for (const auto& rule : rules) evaluate(rule, metrics, out);
  std::sort(out.findings.begin(), out.findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(b.at_stake_ns, a.rule) < std::tie(a.at_stake_ns, b.rule);
  });
  std::sort(out.abstentions.begin(), out.abstentions.end(),
            [](const Abstention& a, const Abstention& b) { return a.rule < b.rule; });
  return out;
}

}  // namespace nl::analyze

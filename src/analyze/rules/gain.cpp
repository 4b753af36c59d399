#include "analyze/rules/gain.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "stats/sample.h"

namespace nl::analyze {
namespace {

/// Promises are whole ns of a window, so a bound may be off by a rounding.
constexpr double kRounding = 1e-6;

bool is_bound(double promised, double gained) {
  return promised * (1 + kRounding) >= gained;
}

/// The part of the window in which units of work ran; between runs of a session there are none.
Known<double> working_ns(const MetricSet& metrics) {
  return map(metrics.get(Metric::total_time), [&](double total) -> Known<double> {
    const double working = total - metrics.get(Metric::idle_between_runs_time).value_or(0) -
                           metrics.get(Metric::idle_setup_time).value_or(0);
    if (working <= 0) return Absent{"no work in the window"};
    return working;
  });
}

/// Time of the window as time of one unit of work. Shares of all steps together and the median step: single
/// slow steps change neither much.
Known<double> per_unit(const Known<double>& window_ns, const GainSide& side) {
  return combine(window_ns, working_ns(side.metrics),
                 [&](double ns, double working) { return ns / working * side.unit_ns; });
}

Known<double> largest_gain(const Finding& finding, int64_t suggestion) {
  Known<double> most = Absent{"no gain was promised"};
  for (const FindingSuggestion& one : finding.suggestions) {
    if (!one.gain_ns || *one.gain_ns <= 0 || (suggestion != 0 && one.suggestion != suggestion)) continue;
    most = std::max(most.value_or(0), static_cast<double>(*one.gain_ns));
  }
  return most;
}

}  // namespace

Known<Gain> gain_of(const Rule& rule, const Finding& finding, int64_t suggestion, const GainSide& before,
                    const GainSide& after, std::optional<double> least_ns) {
  const Known<double> promised = per_unit(largest_gain(finding, suggestion), before);
  return map(promised, [&](double promised_ns) -> Known<Gain> {
    Gain gain{.rule = rule.id, .rule_version = rule.version, .promised_ns = promised_ns};
    const Known<double> was = per_unit(rule.at_stake.number(before.metrics), before);
    const Known<double> is = per_unit(rule.at_stake.number(after.metrics), after);
    const Known<double> own = combine(was, is, [](double a, double b) { return a - b; });
    const double whole_ns = before.unit_ns - after.unit_ns;
    if (own) gain.own_ns = *own;
    if (!own) gain.note = "the gain is that of the whole unit of work: " + own.reason();
    gain.gained_ns = std::min(own.value_or(whole_ns), whole_ns);
    gain.ratio = gain.gained_ns / promised_ns;
    gain.held = is_bound(promised_ns, std::min(gain.gained_ns, least_ns.value_or(gain.gained_ns)));
    gain.covers_whole = is_bound(promised_ns, std::min(whole_ns, least_ns.value_or(whole_ns)));
    return gain;
  });
}

bool promises_gain(const Rule& rule) {
  return std::any_of(rule.suggestions.begin(), rule.suggestions.end(),
                     [](const RuleSuggestion& one) { return one.gain.has_value(); });
}

std::string_view rule_verdict_name(RuleVerdict verdict) {
  constexpr std::string_view kNames[] = {"unproved", "held", "proved", "too_generous", "wrong"};
  return kNames[static_cast<size_t>(verdict)];
}

RuleVerdict verdict_on(int64_t pairs, int64_t held, std::optional<double> median_ratio) {
  if (pairs == 0) return RuleVerdict::kUnproved;
  if (static_cast<double>(held) < kHeldShare * static_cast<double>(pairs)) return RuleVerdict::kWrong;
  if (pairs < kPairsForProof) return RuleVerdict::kHeld;
  return median_ratio.value_or(0) < kLeastMedianRatio ? RuleVerdict::kTooGenerous : RuleVerdict::kProved;
}

std::vector<RuleScore> rule_scores(const std::vector<Gain>& gains) {
  std::map<std::string, RuleScore> scores;
  std::map<std::string, std::vector<double>> ratios;
  for (const Gain& gain : gains) {
    RuleScore& score = scores[gain.rule];
    score.rule = gain.rule;
    score.rule_version = gain.rule_version;
    score.pairs++;
    score.held += gain.held;
    score.covers_whole += gain.covers_whole;
    ratios[gain.rule].push_back(gain.ratio);
  }
  std::vector<RuleScore> list;
  for (auto& [rule, score] : scores) {
    score.median_ratio = stats::median(stats::sorted(ratios[rule]));
    score.verdict = verdict_on(score.pairs, score.held, score.median_ratio);
    list.push_back(std::move(score));
  }
  return list;
}

std::string proof_text(const RuleScore& score) {
  if (score.pairs == 0) return std::string(rule_verdict_name(RuleVerdict::kUnproved));
  return fmt::format("held in {} of {} pair{}, median {:.2f} gained of promised", score.held, score.pairs,
                     score.pairs == 1 ? "" : "s", score.median_ratio.value_or(0));
}

}  // namespace nl::analyze

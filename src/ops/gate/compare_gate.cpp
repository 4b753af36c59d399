#include "ops/gate/compare_gate.h"

#include <fmt/core.h>

#include <cmath>

#include "base/number_text.h"

namespace nl::ops {
namespace {

using compare::Comparison;
using compare::GateResult;

/// More by one part in a hundred: 0.01.
double increase_of(const Comparison& comparison) {
  return comparison.ratio ? *comparison.ratio - 1 : 0;
}

/// "4.2 % slower", "0.3 % faster".
std::string change_text(double increase) {
  return percent_text(std::abs(increase)) + (increase > 0 ? " slower" : " faster");
}

GateResult judge_untested(const Comparison& comparison, const GateOptions& options) {
  const double increase = increase_of(comparison);
  if (!options.allow_untested)
    return {false,
            "one run on each side cannot be tested; compare several, or allow it with --allow-untested 5%"};
  return {increase <= *options.allow_untested,
          fmt::format("not tested; {}, and up to {} slower is allowed", change_text(increase),
                      percent_text(*options.allow_untested))};
}

GateResult judge_verdict(const Comparison& comparison, const GateOptions& options) {
  switch (comparison.verdict) {
    case stats::Verdict::kRegression:
      return {false, "a regression is shown"};
    case stats::Verdict::kImprovement:
      return {true, "an improvement is shown"};
    case stats::Verdict::kNoChange:
      return {true, "no change that matters"};
    case stats::Verdict::kNotTested:
      return judge_untested(comparison, options);
    case stats::Verdict::kInconclusive:
      if (options.allow_inconclusive) return {true, "inconclusive, which is allowed"};
      return {false, "too few runs, or too much noise, to decide; add runs, or pass --allow-inconclusive"};
    case stats::Verdict::kIncomparable:
      break;
  }
  return {false, "the two sides cannot be compared"};
}

}  // namespace

GateResult judge_gate(const Comparison& comparison, const GateOptions& options) {
  GateResult result = judge_verdict(comparison, options);
  if (!result.passed) result.failed_on.emplace_back(compare::kGateWindow);
  const auto& limits = comparison.expectations;
  size_t unmet = 0;
  for (const auto& limit : limits) {
    if (limit.met) continue;
    unmet++;
    result.failed_on.push_back(fmt::format("{} {}: at most {}", limit.kind, limit.what, limit.limit));
  }
  if (unmet == 0) return result;
  const std::string broken = fmt::format("{} of {} limits are not kept", unmet, limits.size());
  return {false, result.passed ? broken : broken + "; " + result.reason, std::move(result.failed_on)};
}

}  // namespace nl::ops

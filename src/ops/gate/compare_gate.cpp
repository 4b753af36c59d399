#include "ops/gate/compare_gate.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/number_text.h"

namespace nl::ops {
namespace {

using compare::Comparison;
using compare::GateResult;

/// More by one part in a hundred: 0.01.
double increase_of(const Comparison& comparison) {
  return comparison.ratio ? *comparison.ratio - 1 : 0;
}

GateResult judge_untested(const Comparison& comparison, const GateOptions& options) {
  const double increase = increase_of(comparison);
  if (!options.allow_untested)
    return {false, "one run a side cannot be tested; compare several, or allow it with --allow-untested 5%"};
  if (increase <= *options.allow_untested)
    return {true, fmt::format("not tested, and {} more is within the {} that is allowed",
                              percent_text(increase), percent_text(*options.allow_untested))};
  return {false, fmt::format("not tested, and {} more is above the {} that is allowed",
                             percent_text(increase), percent_text(*options.allow_untested))};
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
      return {false, "the runs do not decide it; add runs, or pass --allow-inconclusive"};
    case stats::Verdict::kIncomparable:
      break;
  }
  return {false, "the two sides cannot be compared"};
}

}  // namespace

GateResult judge_gate(const Comparison& comparison, const GateOptions& options) {
  const auto& limits = comparison.expectations;
  const auto unmet =
      std::count_if(limits.begin(), limits.end(), [](const auto& limit) { return !limit.met; });
  if (unmet > 0) return {false, fmt::format("{} of {} limits are not kept", unmet, limits.size())};
  return judge_verdict(comparison, options);
}

}  // namespace nl::ops

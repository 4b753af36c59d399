#include "ops/gate/compare_gate.h"

#include <fmt/core.h>

#include "base/number_text.h"

namespace nl::ops {
namespace {

using nlohmann::json;

/// More by one part in a hundred: 0.01.
double increase_of(const json& comparison) {
  return comparison["ratio"].is_null() ? 0 : comparison["ratio"].get<double>() - 1;
}

GateResult judge_untested(const json& comparison, const GateOptions& options) {
  const double increase = increase_of(comparison);
  if (!options.allow_untested)
    return {false, "one run a side cannot be tested; compare several, or allow it with --allow-untested 5%"};
  if (increase <= *options.allow_untested)
    return {true, fmt::format("not tested, and {} more is within the {} that is allowed",
                              percent_text(increase), percent_text(*options.allow_untested))};
  return {false, fmt::format("not tested, and {} more is above the {} that is allowed",
                             percent_text(increase), percent_text(*options.allow_untested))};
}

}  // namespace

GateResult judge_gate(const json& comparison, const GateOptions& options) {
  const std::string verdict = comparison["verdict"];
  if (verdict == "regression") return {false, "a regression is shown"};
  if (verdict == "improvement") return {true, "an improvement is shown"};
  if (verdict == "no_change") return {true, "no change that matters"};
  if (verdict == "not_tested") return judge_untested(comparison, options);
  if (verdict == "inconclusive" && options.allow_inconclusive)
    return {true, "inconclusive, which is allowed"};
  if (verdict == "inconclusive")
    return {false, "the runs do not decide it; add runs, or pass --allow-inconclusive"};
  return {false, "the two sides cannot be compared"};
}

}  // namespace nl::ops

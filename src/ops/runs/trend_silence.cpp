#include "ops/runs/trend_silence.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "stats/sample.h"

namespace nl::ops {
namespace {

constexpr size_t kEnoughRuns = 2 * stats::kSeparatedValues;

std::string enough_words() {
  return fmt::format("{} before it and {} after it that do not overlap are enough", stats::kSeparatedValues,
                     stats::kSeparatedValues);
}

/// The largest change that the threshold hides; 0 if there is none.
double hidden_change(const std::vector<double>& values, stats::ChangePointOptions options) {
  options.min_magnitude = 0;
  double largest = 0;
  for (const stats::ChangePoint& point : stats::find_change_points(values, options)) {
    if (point.alert && point.before != 0)
      largest = std::max(largest, std::abs(point.after / point.before - 1));
  }
  return largest;
}

std::string noise_words(const std::vector<double>& values, const stats::ChangePointOptions& options) {
  const double level = std::abs(stats::median(stats::sorted(values)));
  if (level == 0) return "no change was found";
  return fmt::format(
      "no change was found: the value varies by about {} from run to run, so a lasting change of less than "
      "about {} would not show in {} runs",
      percent_text(stats::spread_of(values) / level),
      percent_text(stats::least_visible_change(values, options) / level), values.size());
}

}  // namespace

std::string why_group_is_silent(const std::vector<double>& values, const stats::ChangePointOptions& options) {
  const auto n = values.size();
  if (n == 1) return "there is only one run: nothing to compare it with";
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*low == *high) return fmt::format("all {} runs have the same value", n);
  if (n < kEnoughRuns)
    return fmt::format("{} runs are too few to tell a change from noise; {}", n, enough_words());
  if (const double hidden = hidden_change(values, options); hidden > 0)
    return fmt::format("the level changed by {}, which is below the threshold of {}", percent_text(hidden),
                       percent_text(options.min_magnitude));
  return noise_words(values, options);
}

std::optional<std::string> why_trend_is_silent(const compare::Trend& trend) {
  if (trend.matching == 0) return "no run matches the conditions";
  if (trend.groups.empty()) {
    const auto most = std::max_element(trend.left_out.begin(), trend.left_out.end(),
                                       [](const auto& a, const auto& b) { return a.runs < b.runs; });
    return "no run has this figure" + (most == trend.left_out.end() ? "" : ": " + most->reason);
  }
  size_t runs = 0, largest = 0;
  bool any_change = false;
  for (const compare::TrendGroup& group : trend.groups) {
    runs += group.points.size();
    largest = std::max(largest, group.points.size());
    any_change = any_change || !group.change_points.empty();
  }
  if (any_change || trend.groups.size() == 1 || runs < kEnoughRuns || largest >= kEnoughRuns)
    return std::nullopt;
  return fmt::format(
      "the {} runs are in {} groups by {}, the largest with {}: runs of different groups are not compared. "
      "Give runs of one kind the same labels, or choose other keys with --group-by",
      runs, trend.groups.size(), fmt::join(trend.group_by, ","),
      counted(static_cast<int64_t>(largest), "run"));
}

}  // namespace nl::ops

#pragma once
// Why a trend lists no change, in plain words: too few runs, too much noise, a change below the threshold, or
// runs that are in groups of their own. A history that says nothing looks like one where all is well.

#include <optional>
#include <string>
#include <vector>

#include "compare/trend_answer.h"
#include "stats/change_points.h"

namespace nl::ops {

/// Of a group in which no change was found; values in the order of time.
std::string why_group_is_silent(const std::vector<double>& values, const stats::ChangePointOptions& options);

/// Of the whole answer: no run has the figure, or no group has enough runs. Nothing if groups tell it
/// themselves.
std::optional<std::string> why_trend_is_silent(const compare::Trend& trend);

}  // namespace nl::ops

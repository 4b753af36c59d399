#pragma once
// How many runs would probably decide: from the spread of the runs that are there, and from what a rank test
// can say at all with so many runs. Shared by `judge` and by claims. Pure functions; any thread.

#include <cstdint>
#include <optional>
#include <vector>

namespace nl::stats {

/// More than so many runs a side are never named: nobody would measure them.
inline constexpr int64_t kMostRuns = 1000;

/// The same on every machine; infinite where there is none.
double natural_log(double x);

/// Spread of the logarithms inside the two sides, both together; absent if a value is zero or the sides have
/// no more than one value each.
std::optional<double> log_spread(const std::vector<double>& a, const std::vector<double>& b);

/// Runs a side with which the interval of the ratio reaches less far than `gap` (of logarithms) to either
/// side in four of five cases. `tail`: the chance that the truth lies beyond one end of the interval. Absent
/// above kMostRuns.
std::optional<int64_t> runs_by_spread(double spread, double gap, double tail);

/// Runs a side with which a two-sided p this small can be reached at all.
int64_t runs_to_reach(double p);

}  // namespace nl::stats

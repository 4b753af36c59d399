#pragma once
// How large a difference is: the Hodges-Lehmann shift and ratio with exact intervals, and the ratio of
// medians with a bootstrap interval. Samples must be sorted and not empty. Pure functions; any thread.

#include <optional>
#include <vector>

#include "stats/sample.h"

namespace nl::stats {

/// Median of all differences b - a.
double hodges_lehmann(const std::vector<double>& a, const std::vector<double>& b);

/// Median of all ratios b / a of values >= 0: the shift of the logarithms. 0 / 0 counts as 1; it may be
/// infinite.
struct Ratio {
  double value = 1;
  /// From the distribution of Mann-Whitney's U: holds for any distribution, says its real coverage. Absent
  /// where even the smallest and largest ratio have less: for 95 % below 4 + 4 values.
  std::optional<Interval> interval;
};
Ratio typical_ratio(const std::vector<double>& a, const std::vector<double>& b,
                    double confidence = kConfidence);

/// median(b) / median(a); absent if that of a is zero.
std::optional<double> ratio_of_medians(const std::vector<double>& a, const std::vector<double>& b);
/// BCa bootstrap of the ratio of medians by resampling runs, with a fixed seed. Coverage is what was asked
/// for, not what is reached: with few runs it is too narrow (docs/analysis/statistics.md), so no verdict
/// rests on it.
std::optional<Interval> bootstrap_ratio_interval(const std::vector<double>& a, const std::vector<double>& b,
                                                 int resamples = 2000, double confidence = kConfidence);

}  // namespace nl::stats

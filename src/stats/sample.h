#pragma once
// What one sample of repeats looks like: order statistics, and how well they know the median. Values are
// never left out. Pure functions; any thread.

#include <cstddef>
#include <optional>
#include <vector>

namespace nl::stats {

/// [low, high] that holds the true value with the probability `coverage`, which is at least what was asked
/// for.
struct Interval {
  double low = 0;
  double high = 0;
  double coverage = 0;
  bool operator==(const Interval&) const = default;
};

inline constexpr double kConfidence = 0.95;

std::vector<double> sorted(std::vector<double> values);

/// Between two values linearly: position q * (n - 1) of the sorted, non-empty sample.
double quantile(const std::vector<double>& sorted_values, double q);
double median(const std::vector<double>& sorted_values);
/// Absent where the sample has no value beyond it: p99 needs 100 values, p90 needs 10.
std::optional<double> tail_quantile(const std::vector<double>& sorted_values, double q);

/// From order statistics, without assuming a distribution. Absent if even [min, max] has less confidence: for
/// 95 % below 6 values.
std::optional<Interval> median_interval(const std::vector<double>& sorted_values,
                                        double confidence = kConfidence);

struct Summary {
  size_t n = 0;
  double min = 0;
  double quartile1 = 0;
  double median = 0;
  double quartile3 = 0;
  double max = 0;
  std::optional<Interval> median_interval;
};
/// Of a sorted sample; all zero if it is empty.
Summary summary_of(const std::vector<double>& sorted_values);

}  // namespace nl::stats

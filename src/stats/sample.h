#pragma once
// Describes one sample of repeats: order statistics, and how precisely they determine the median. No value is
// ever discarded as an outlier. Pure functions; any thread.

#include <cstddef>
#include <optional>
#include <vector>

#include "base/described.h"

namespace nl::stats {

/// [low, high] that holds the true value with the probability `coverage`, which is at least what was asked
/// for.
struct Interval {
  double low = 0;
  double high = 0;
  double coverage = 0;
  static constexpr auto fields() {
    return std::tuple{
        field_maybe_endless("low", &Interval::low, "null if it is infinite"),
        field_maybe_endless("high", &Interval::high, "null if it is infinite"),
        field("coverage", &Interval::coverage, "probability that the true value is inside, at least")};
  }
  bool operator==(const Interval&) const = default;
};

inline constexpr double kConfidence = 0.95;

/// Finite and above 0.
bool is_time(double value);

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
  static constexpr auto fields() {
    using S = Summary;
    return std::tuple{field("n", &S::n, "values"),
                      field("min", &S::min, "least value"),
                      field("quartile1", &S::quartile1, "a quarter of the values is below it"),
                      field("median", &S::median, "middle value"),
                      field("quartile3", &S::quartile3, "a quarter of the values is above it"),
                      field("max", &S::max, "largest value"),
                      field("median_interval", &S::median_interval, "null with too few values")};
  }
};
/// Of a sorted sample; all zero if it is empty.
Summary summary_of(const std::vector<double>& sorted_values);

}  // namespace nl::stats

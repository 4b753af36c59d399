#include "stats/sample.h"

#include <algorithm>
#include <cmath>

#include "stats/distributions.h"

namespace nl::stats {
namespace {

/// How many values may be cut off at each end, and the chance that the median lies beyond one end.
struct TrimmedSample {
  size_t values = 0;
  double tail = 0;
};

/// Values on one side of the median are counted by a binomial distribution with p = 1/2.
TrimmedSample exact_cut(size_t n, double tail) {
  double density = std::pow(0.5, static_cast<double>(n));
  TrimmedSample cut;
  for (double sum = density; sum <= tail; sum += density) {
    cut = {cut.values + 1, sum};
    density *= static_cast<double>(n - cut.values + 1) / static_cast<double>(cut.values);
  }
  return cut;
}

TrimmedSample normal_cut(size_t n, double tail) {
  const double middle = static_cast<double>(n) / 2;
  const double spread = std::sqrt(static_cast<double>(n)) / 2;
  const auto values = static_cast<size_t>(middle + 0.5 + spread * normal_quantile(tail));
  return {values, normal_tail((middle + 0.5 - static_cast<double>(values)) / spread)};
}

}  // namespace

bool is_time(double value) {
  return std::isfinite(value) && value > 0;
}

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

double quantile(const std::vector<double>& sorted_values, double q) {
  const double position = q * static_cast<double>(sorted_values.size() - 1);
  const auto before = static_cast<size_t>(position);
  const size_t after = std::min(before + 1, sorted_values.size() - 1);
  if (sorted_values[before] == sorted_values[after]) return sorted_values[before];
  const double part = position - static_cast<double>(before);
  return sorted_values[before] * (1 - part) + sorted_values[after] * part;
}

double median(const std::vector<double>& sorted_values) {
  return quantile(sorted_values, 0.5);
}

std::optional<double> tail_quantile(const std::vector<double>& sorted_values, double q) {
  const double beyond = static_cast<double>(sorted_values.size()) * std::min(q, 1 - q);
  if (sorted_values.empty() || beyond < 1 - 1e-9) return std::nullopt;
  return quantile(sorted_values, q);
}

std::optional<Interval> median_interval(const std::vector<double>& sorted_values, double confidence) {
  constexpr size_t kExact = 1000;
  const size_t n = sorted_values.size();
  const double tail = (1 - confidence) / 2;
  const TrimmedSample cut = n <= kExact ? exact_cut(n, tail) : normal_cut(n, tail);
  if (n == 0 || cut.values == 0) return std::nullopt;
  return Interval{sorted_values[cut.values - 1], sorted_values[n - cut.values], 1 - 2 * cut.tail};
}

Summary summary_of(const std::vector<double>& sorted_values) {
  if (sorted_values.empty()) return {};
  return {.n = sorted_values.size(),
          .min = sorted_values.front(),
          .quartile1 = quantile(sorted_values, 0.25),
          .median = median(sorted_values),
          .quartile3 = quantile(sorted_values, 0.75),
          .max = sorted_values.back(),
          .median_interval = median_interval(sorted_values)};
}

}  // namespace nl::stats

#include "stats/rank_test.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "stats/distributions.h"

namespace nl::stats {
namespace {

/// Ways to fill the smaller sample from values in ascending order: ways[chosen][doubled rank sum].
class RankSums {
 public:
  RankSums(size_t chosen, size_t all) : width_(2 * all * chosen + 1), ways_((chosen + 1) * width_) {
    ways_[0] = 1;
  }

  /// `count` equal values follow; each has the doubled middle rank `rank`.
  void add_group(size_t count, size_t rank) {
    const std::vector<double> before = ways_;
    double choices = 1;
    for (size_t taken = 1; taken <= std::min(count, chosen()); taken++) {
      choices *= static_cast<double>(count - taken + 1) / static_cast<double>(taken);
      for (size_t k = taken; k <= chosen(); k++) add_shifted(before, k, taken, rank * taken, choices);
    }
  }
  /// By doubled rank sum.
  const double* of_whole_sample() const { return &ways_[chosen() * width_]; }
  size_t width() const { return width_; }

 private:
  size_t chosen() const { return ways_.size() / width_ - 1; }
  void add_shifted(const std::vector<double>& before, size_t k, size_t taken, size_t shift, double choices) {
    const double* from = &before[(k - taken) * width_];
    double* to = &ways_[k * width_];
    for (size_t sum = 0; sum + shift < width_; sum++) to[sum + shift] += choices * from[sum];
  }

  size_t width_;
  std::vector<double> ways_;
};

/// Sizes of the groups of equal values in both samples together, ascending, and what the test needs of them.
struct Pooled {
  std::vector<size_t> groups;
  size_t doubled_u = 0;  ///< 2 * pairs in which b is greater, ties once
  double tie_term = 0;   ///< sum of t^3 - t
};

/// Values equal to `value` from `at` on; moves `at` behind them.
size_t take_equal(const std::vector<double>& values, size_t& at, double value) {
  const size_t begin = at;
  while (at < values.size() && values[at] == value) at++;
  return at - begin;
}

Pooled pool(const std::vector<double>& a, const std::vector<double>& b) {
  Pooled pooled;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const double next = j == b.size() || (i < a.size() && a[i] < b[j]) ? a[i] : b[j];
    const size_t smaller_a = i;
    const size_t in_a = take_equal(a, i, next);
    const size_t in_b = take_equal(b, j, next);
    const auto size = static_cast<double>(in_a + in_b);
    pooled.groups.push_back(in_a + in_b);
    pooled.doubled_u += in_b * (2 * smaller_a + in_a);
    pooled.tie_term += size * size * size - size;
  }
  return pooled;
}

/// Share of the ways in which the doubled U of the smaller sample is at least as far from n1 * n2 as seen.
double counted_p(const Pooled& pooled, size_t smaller, size_t all) {
  RankSums sums(smaller, all);
  size_t rank = 0;
  for (const size_t count : pooled.groups) {
    sums.add_group(count, 2 * rank + count + 1);
    rank += count;
  }
  const auto middle = static_cast<int64_t>(smaller * (all + 1));
  const int64_t far =
      std::abs(static_cast<int64_t>(pooled.doubled_u) - static_cast<int64_t>(smaller * (all - smaller)));
  double extreme = 0, total = 0;
  for (size_t sum = 0; sum < sums.width(); sum++) {
    const double ways = sums.of_whole_sample()[sum];
    total += ways;
    if (std::abs(static_cast<int64_t>(sum) - middle) >= far) extreme += ways;
  }
  return extreme / total;
}

double approximate_p(const Pooled& pooled, double n1, double n2) {
  const double n = n1 + n2;
  const double variance = n1 * n2 / 12 * (n + 1 - pooled.tie_term / (n * (n - 1)));
  if (variance <= 0) return 1;
  const double far = std::abs(static_cast<double>(pooled.doubled_u) - n1 * n2) / 2;
  return std::min(1.0, 2 * normal_tail((far - 0.5) / std::sqrt(variance)));
}

/// Without ties p depends on U alone: the distribution of the sizes last asked for is kept.
double untied_p(size_t doubled_u, size_t n1, size_t n2) {
  struct Kept {
    size_t n1, n2;
    RankDistribution distribution;
  };
  thread_local Kept kept{1, 1, RankDistribution(1, 1)};
  if (kept.n1 != n1 || kept.n2 != n2) kept = {n1, n2, RankDistribution(n1, n2)};
  const size_t u = doubled_u / 2;
  return std::min(1.0, 2 * kept.distribution.at_most(std::min(u, n1 * n2 - u)));
}

}  // namespace

RankDistribution::RankDistribution(size_t n1, size_t n2) : below_or_at_(n1 * n2 + 1) {
  const size_t smaller = std::min(n1, n2);
  RankSums sums(smaller, n1 + n2);
  for (size_t i = 0; i < n1 + n2; i++) sums.add_group(1, 2 * (i + 1));
  double sum = 0;
  for (size_t u = 0; u <= n1 * n2; u++) {
    below_or_at_[u] = sum += sums.of_whole_sample()[2 * u + smaller * (smaller + 1)];
  }
  for (double& p : below_or_at_) p /= sum;
}

size_t RankDistribution::cut(double tail) const {
  size_t pairs = 0;
  while (pairs < below_or_at_.size() && below_or_at_[pairs] <= tail) pairs++;
  return pairs;
}

RankTest mann_whitney(const std::vector<double>& a, const std::vector<double>& b) {
  const Pooled pooled = pool(a, b);
  RankTest test{
      .p = 1, .u = static_cast<double>(pooled.doubled_u) / 2, .exact = a.size() * b.size() <= kExactPairs};
  if (!test.exact) {
    test.p = approximate_p(pooled, static_cast<double>(a.size()), static_cast<double>(b.size()));
  } else if (pooled.tie_term == 0) {
    test.p = untied_p(pooled.doubled_u, a.size(), b.size());
  } else {
    test.p = counted_p(pooled, std::min(a.size(), b.size()), a.size() + b.size());
  }
  return test;
}

double smallest_p(size_t n1, size_t n2) {
  double ways = 1;
  for (size_t i = 1; i <= std::min(n1, n2); i++) {
    ways *= static_cast<double>(n1 + n2 - i + 1) / static_cast<double>(i);
  }
  return std::min(1.0, 2 / ways);
}

double rounded_p(double p) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, p, std::chars_format::general, 3).ptr;
  double rounded = 0;
  std::from_chars(text, end, rounded);
  return rounded;
}

double cliffs_delta(const RankTest& test, size_t n1, size_t n2) {
  return 2 * test.u / (static_cast<double>(n1) * static_cast<double>(n2)) - 1;
}

}  // namespace nl::stats

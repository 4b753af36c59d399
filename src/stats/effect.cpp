#include "stats/effect.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "stats/distributions.h"
#include "stats/random.h"
#include "stats/rank_test.h"

namespace nl::stats {
namespace {

/// Up to this many pairs are listed; beyond, the wanted ones are found by halving.
constexpr size_t kListedPairs = 4096;

double ratio_of(double b, double a) {
  if (a != 0) return b / a;
  return b == 0 ? 1 : std::numeric_limits<double>::infinity();
}

double difference_of(double b, double a) {
  return b - a;
}

/// Numbers in the order of doubles, so that halving between two of them ends.
int64_t place_of(double value) {
  const auto bits = std::bit_cast<int64_t>(value);
  return bits >= 0 ? bits : std::numeric_limits<int64_t>::min() - bits;
}

double at_place(int64_t place) {
  return std::bit_cast<double>(place >= 0 ? place : std::numeric_limits<int64_t>::min() - place);
}

/// All pairs of two sorted samples under an operation that grows with b and falls with a.
template <double (*kOf)(double, double)>
class Pairs {
 public:
  Pairs(const std::vector<double>& a, const std::vector<double>& b) : a_(a), b_(b) {
    if (a.size() * b.size() > kListedPairs) return;
    listed_.reserve(a.size() * b.size());
    for (const double x : a) {
      for (const double y : b) listed_.push_back(kOf(y, x));
    }
    std::sort(listed_.begin(), listed_.end());
  }

  size_t count() const { return a_.size() * b_.size(); }
  /// The k-th smallest, from 0.
  double at(size_t k) const { return listed_.empty() ? halved(k) : listed_[k]; }
  double middle() const {
    const double low = at((count() - 1) / 2);
    const double high = at(count() / 2);
    return low == high ? low : (low + high) / 2;
  }

 private:
  double halved(size_t k) const {
    int64_t low = place_of(kOf(b_.front(), a_.back()));
    int64_t high = place_of(kOf(b_.back(), a_.front()));
    while (low < high) {
      const int64_t middle = std::midpoint(low, high);  // rounds towards low
      if (at_most(at_place(middle)) > k) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return at_place(low);
  }
  size_t at_most(double value) const {
    size_t pairs = 0, taken = 0;
    for (const double x : a_) {
      while (taken < b_.size() && kOf(b_[taken], x) <= value) taken++;
      pairs += taken;
    }
    return pairs;
  }

  const std::vector<double>& a_;
  const std::vector<double>& b_;
  std::vector<double> listed_;
};

/// Pairs to leave out at each end, and the chance of the truth beyond one end.
struct Cut {
  size_t pairs = 0;
  double tail = 0;
};

Cut exact_cut(size_t n1, size_t n2, double tail) {
  struct Kept {
    size_t n1 = 0, n2 = 0;
    double tail = 0;
    Cut cut;
  };
  thread_local Kept kept;
  if (kept.n1 != n1 || kept.n2 != n2 || kept.tail != tail) {
    const RankDistribution distribution(n1, n2);
    const size_t pairs = distribution.cut(tail);
    kept = {n1, n2, tail, {pairs, pairs == 0 ? 0 : distribution.at_most(pairs - 1)}};
  }
  return kept.cut;
}

Cut normal_cut(size_t n1, size_t n2, double tail) {
  const auto a = static_cast<double>(n1), b = static_cast<double>(n2);
  const double spread = std::sqrt(a * b * (a + b + 1) / 12);
  const double pairs = std::floor(a * b / 2 + 0.5 + spread * normal_quantile(tail));
  if (pairs < 1) return {};
  return {static_cast<size_t>(pairs), normal_tail((a * b / 2 + 0.5 - pairs) / spread)};
}

}  // namespace

double hodges_lehmann(const std::vector<double>& a, const std::vector<double>& b) {
  return Pairs<difference_of>(a, b).middle();
}

Ratio typical_ratio(const std::vector<double>& a, const std::vector<double>& b, double confidence) {
  const Pairs<ratio_of> pairs(a, b);
  const double tail = (1 - confidence) / 2;
  const bool exact = pairs.count() <= kExactPairs;
  const Cut cut = exact ? exact_cut(a.size(), b.size(), tail) : normal_cut(a.size(), b.size(), tail);
  Ratio ratio{.value = pairs.middle(), .interval = std::nullopt};
  if (cut.pairs == 0) return ratio;
  ratio.interval = {pairs.at(cut.pairs - 1), pairs.at(pairs.count() - cut.pairs), 1 - 2 * cut.tail};
  return ratio;
}

std::optional<double> ratio_of_medians(const std::vector<double>& a, const std::vector<double>& b) {
  const double below = median(a);
  if (below == 0) return std::nullopt;
  return median(b) / below;
}

namespace {

constexpr uint64_t kSeed = 0x4E4C5354415453;

std::vector<double> resampled(const std::vector<double>& values, Random& random) {
  std::vector<double> drawn(values.size());
  for (double& value : drawn) value = values[random.below(values.size())];
  return sorted(std::move(drawn));
}

std::vector<double> without(const std::vector<double>& values, size_t left_out) {
  std::vector<double> rest = values;
  rest.erase(rest.begin() + static_cast<ptrdiff_t>(left_out));
  return rest;
}

/// Ratios with one run left out: their skew says how the spread grows with the ratio.
std::vector<double> jackknife(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); i++) ratios.push_back(median(b) / median(without(a, i)));
  for (size_t i = 0; i < b.size(); i++) ratios.push_back(median(without(b, i)) / median(a));
  return ratios;
}

double acceleration(const std::vector<double>& ratios) {
  double mean = 0, squares = 0, cubes = 0;
  for (const double r : ratios) mean += r / static_cast<double>(ratios.size());
  for (const double r : ratios) {
    squares += (mean - r) * (mean - r);
    cubes += (mean - r) * (mean - r) * (mean - r);
  }
  return squares <= 0 ? 0 : cubes / (6 * squares * std::sqrt(squares));
}

/// Where the sorted resamples lie below the estimate, ties by half, kept off 0 and 1.
double share_below(const std::vector<double>& resamples, double estimate) {
  const auto [low, high] = std::equal_range(resamples.begin(), resamples.end(), estimate);
  const auto below = static_cast<double>(low - resamples.begin());
  const auto equal = static_cast<double>(high - low);
  const auto n = static_cast<double>(resamples.size());
  return std::clamp((below + equal / 2) / n, 1 / n, 1 - 1 / n);
}

}  // namespace

std::optional<Interval> bootstrap_ratio_interval(const std::vector<double>& a, const std::vector<double>& b,
                                                 int resamples, double confidence) {
  if (a.size() < 2 || b.size() < 2 || a.front() <= 0 || resamples < 2) return std::nullopt;
  Random random(kSeed);
  std::vector<double> ratios;
  for (int i = 0; i < resamples; i++) {
    const double below = median(resampled(a, random));
    ratios.push_back(median(resampled(b, random)) / below);
  }
  ratios = sorted(std::move(ratios));
  const double bias = normal_quantile(share_below(ratios, median(b) / median(a)));
  const double skew = acceleration(jackknife(a, b));
  const auto end = [&](double tail) {
    const double z = bias + normal_quantile(tail);
    return quantile(ratios, normal_tail(-(bias + z / (1 - skew * z))));
  };
  const double tail = (1 - confidence) / 2;
  return Interval{end(tail), end(1 - tail), confidence};
}

}  // namespace nl::stats

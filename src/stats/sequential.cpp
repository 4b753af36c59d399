#include "stats/sequential.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stats/runs_needed.h"
#include "stats/sample.h"
#include "stats/usual.h"

namespace nl::stats {
namespace {

constexpr double kFreedom = 4;         // of the noise: 1 % of the pairs are further away than 4.6 spreads
constexpr double kLeastSpread = 2e-4;  // what clocks and rounded prints resolve, as a share of the time
constexpr int kSpreads = 40;           // points of the grid
constexpr int kChanges = 33;

/// How much louder than at the ends the noise may be at a step, and how much that is believed.
struct Loudness {
  double factor;
  double belief;
};
constexpr std::array<Loudness, 2> kLoudness = {{{1, 0.7}, {2, 0.3}}};

double log_ratio(const TimePair& pair) {
  return natural_log(pair.candidate) - natural_log(pair.good);
}

/// Logarithm of the density of Student's t, less a constant.
double log_density(double distance, double spread) {
  const double z = distance / spread;
  return -(kFreedom + 1) / 2 * std::log1p(z * z / kFreedom) - std::log(spread);
}

/// What bets on "the bad one is slower in more than half of the pairs" have ever won: the mean of
/// bets on several shares, so that a small change is found, too.
double most_won(const std::vector<double>& log_ratios) {
  constexpr std::array kShares = {0.6, 0.7, 0.8, 0.9, 0.98};
  std::array<double, kShares.size()> won{};
  won.fill(1.0 / kShares.size());
  double most = 1;
  for (const double ratio : log_ratios) {
    double all = 0;
    for (size_t i = 0; i < kShares.size(); i++) {
      if (ratio != 0) won[i] *= 2 * (ratio > 0 ? kShares[i] : 1 - kShares[i]);
      all += won[i];
    }
    most = std::max(most, all);
  }
  return most;
}

/// log(sum(exp(values)))
double log_sum(const std::vector<double>& values) {
  const double largest = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (const double v : values) sum += std::exp(v - largest);
  return largest + std::log(sum);
}

/// From low to high, each by the same factor above the one before.
std::vector<double> spread_grid(double low, double high) {
  std::vector<double> spreads;
  for (int i = 0; i < kSpreads; i++) spreads.push_back(low * std::pow(high / low, i / (kSpreads - 1.0)));
  return spreads;
}

/// Changes that may be true: evenly around the middle of the ends, and in their direction.
std::vector<double> change_grid(double middle, double reach) {
  std::vector<double> changes;
  for (int i = 0; i < kChanges; i++) {
    const double change = middle + reach * (2.0 * i / (kChanges - 1) - 1);
    if (change > 0) changes.push_back(change);
  }
  return changes;
}

}  // namespace

std::string_view step_decision_name(StepDecision decision) {
  static constexpr std::array<std::string_view, kStepDecisions> kNames = {"slow", "as_good", "undecided"};
  return kNames[static_cast<size_t>(decision)];
}

Result<EndsMeasured> EndsMeasured::of(const std::vector<TimePair>& ends, double error) {
  if (ends.size() < kLeastPairs) return Error{ErrorCode::kBadInput, "too few pairs of the two ends"};
  std::vector<double> ratios, turned;
  for (const TimePair& pair : ends) {
    if (!is_time(pair.good) || !is_time(pair.candidate))
      return Error{ErrorCode::kBadInput, "a time is not finite, or not above zero"};
    ratios.push_back(log_ratio(pair));
    turned.push_back(-ratios.back());
  }
  const Usual usual = usual_of(ratios);
  EndsMeasured measured;
  measured.change_ = std::exp(usual.median);
  measured.spread_ = std::max(usual.spread, kLeastSpread);
  measured.is_slower_ = most_won(ratios) >= 1 / error && usual.median > 0;
  measured.is_faster_ = most_won(turned) >= 1 / error && usual.median < 0;
  if (usual.median <= 0) return measured;
  const double reach = 8 * measured.spread_ / std::sqrt(static_cast<double>(ratios.size()));
  for (const double s : spread_grid(std::max(kLeastSpread, measured.spread_ / 8), measured.spread_ * 16)) {
    for (const double change : change_grid(usual.median, reach)) {
      double weight = 0;
      for (const double ratio : ratios) weight += log_density(ratio - change, s);
      measured.points_.push_back({change, s, weight});
    }
  }
  measured.is_clear_ = measured.chance_of_less_than_half() <= error;
  return measured;
}

double EndsMeasured::chance_of_less_than_half() const {
  std::vector<double> all, less;
  for (const Point& point : points_) {
    all.push_back(point.log_weight);
    if (point.change < natural_log(change_) / 2) less.push_back(point.log_weight);
  }
  return less.empty() ? 0 : std::exp(log_sum(less) - log_sum(all));
}

double EndsMeasured::expected_pairs(double error) const {
  const double change = natural_log(change_);
  const double each = change * change / (2 * spread_ * spread_);
  return std::max(static_cast<double>(StepTest::kLeastPairs), 1 + std::log(1 / error) / each);
}

StepTest::StepTest(const EndsMeasured& ends, double error) : ends_(ends), bound_(std::log(1 / error)) {
  for (const Loudness& loudness : kLoudness) {
    for (const auto& point : ends.points_)
      with_change_.push_back(point.log_weight + std::log(loudness.belief));
  }
  without_change_ = with_change_;
}

StepDecision StepTest::add(const TimePair& pair) {
  const double ratio = log_ratio(pair);
  size_t i = 0;
  for (const Loudness& loudness : kLoudness) {
    for (const auto& point : ends_.points_) {
      with_change_[i] += log_density(ratio - point.change, point.spread * loudness.factor);
      without_change_[i] += log_density(ratio, point.spread * loudness.factor);
      i++;
    }
  }
  pairs_++;
  return decision();
}

double StepTest::evidence() const {
  return log_sum(with_change_) - log_sum(without_change_);
}

StepDecision StepTest::decision() const {
  if (pairs_ < kLeastPairs) return StepDecision::kUndecided;
  const double evidence = this->evidence();
  if (evidence >= bound_) return StepDecision::kSlow;
  return evidence <= -bound_ ? StepDecision::kAsGood : StepDecision::kUndecided;
}

}  // namespace nl::stats

#include "stats/noise_floor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "stats/distributions.h"
#include "stats/effect.h"
#include "stats/random.h"
#include "stats/runs_needed.h"
#include "stats/usual.h"

namespace nl::stats {
namespace {

constexpr uint64_t kFloorSeed = 0x4E4C464C4F4F52;
constexpr int kFloorResamples = 1000;
constexpr std::array<int64_t, 5> kFloorRuns = {5, 10, 20, 40, 80};
/// For a promise of 95 %: of heavy-tailed noise a redrawn sample understates what comes next.
constexpr double kShareBelowFloor = 0.98;
constexpr double kPower = 0.8;
constexpr double kDriftLevel = 0.01;

std::vector<double> drawn(const std::vector<double>& from, int64_t count, Random& random) {
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values) value = from[random.below(from.size())];
  return sorted(std::move(values));
}

/// t with P(|T| >= t) = p.
double student_quantile(double p, double freedom) {
  double low = 0, high = 1000;
  for (int i = 0; i < 60; i++) {
    const double middle = (low + high) / 2;
    (student_two_sided(middle, freedom) > p ? low : high) = middle;
  }
  return low;
}

/// std::vector<double> drawn again spread less than those of a new day, since the middle and the spread are
/// themselves estimates: by how much a quantile is to be moved out, for normal values.
double prediction_factor(size_t values) {
  const auto n = static_cast<double>(values);
  return std::sqrt(n / (n - 1)) * student_quantile(1 - kShareBelowFloor, n - 1) /
         normal_quantile((1 + kShareBelowFloor) / 2);
}

FloorOfRuns floor_of(const std::vector<double>& all, int64_t runs, Random& random) {
  std::vector<double> differences, effects;
  for (int i = 0; i < kFloorResamples; i++) {
    const Ratio ratio = typical_ratio(drawn(all, runs, random), drawn(all, runs, random));
    differences.push_back(std::abs(natural_log(ratio.value)));
    if (ratio.interval) effects.push_back(-natural_log(ratio.interval->low));  // one above shows: low > 1
  }
  const double factor = prediction_factor(all.size());
  FloorOfRuns floor;
  floor.runs = runs;
  floor.floor = std::expm1(factor * quantile(sorted(std::move(differences)), kShareBelowFloor));
  if (!effects.empty()) floor.detectable = std::expm1(factor * quantile(sorted(std::move(effects)), kPower));
  return floor;
}

/// Kendall's test and the slope of Theil and Sen over the pairs, by the logarithm of what a pair took.
void find_drift(const std::vector<SamePair>& pairs, NoiseFloor& out) {
  std::vector<double> level, slopes;
  for (const SamePair& pair : pairs)
    level.push_back((natural_log(pair.first) + natural_log(pair.second)) / 2);
  double score = 0;
  for (size_t i = 0; i < level.size(); i++) {
    for (size_t j = i + 1; j < level.size(); j++) {
      slopes.push_back((level[j] - level[i]) / static_cast<double>(j - i));
      score += level[j] > level[i] ? 1 : level[j] < level[i] ? -1 : 0;
    }
  }
  const auto n = static_cast<double>(level.size());
  const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  out.drift_p = std::min(1.0, 2 * normal_tail((std::abs(score) - 1) / deviation));
  out.drift_of_all = std::expm1(median(sorted(std::move(slopes))) * (n - 1));
  if (out.drift_p < kDriftLevel) out.drift = score > 0 ? Drift::kSlower : Drift::kFaster;
}

/// The second runs of pairs against the first: the median of the ratios, since the two of a pair share what
/// drifts.
void compare_places(const std::vector<SamePair>& pairs, NoiseFloor& out) {
  std::vector<double> ratios;
  for (const SamePair& pair : pairs) ratios.push_back(pair.second / pair.first);
  ratios = sorted(std::move(ratios));
  out.second_to_first = median(ratios);
  out.second_to_first_interval = median_interval(ratios);
}

}  // namespace

std::string_view drift_name(Drift drift) {
  static constexpr std::array<std::string_view, kDrifts> kNames = {"none", "slower", "faster"};
  return kNames[static_cast<size_t>(drift)];
}

Result<NoiseFloor> noise_floor(const std::vector<SamePair>& pairs) {
  if (pairs.size() < kLeastSamePairs)
    return Error{ErrorCode::kBadInput,
                 "too few pairs to tell how much runs vary: " + std::to_string(pairs.size()) + " of " +
                     std::to_string(kLeastSamePairs)};
  std::vector<double> all, logs;
  for (const SamePair& pair : pairs) {
    for (const double time : {pair.first, pair.second}) {
      if (!is_time(time)) return Error{ErrorCode::kBadInput, "a time is not finite, or not above zero"};
      all.push_back(time);
      logs.push_back(natural_log(time));
    }
  }
  const Usual usual = usual_of(logs);
  NoiseFloor out;
  out.pairs = static_cast<int64_t>(pairs.size());
  out.spread = log_spread(all, {all.front()}).value_or(0);
  out.typical_spread = usual.spread;
  out.outliers = std::count_if(logs.begin(), logs.end(), [&](double v) { return is_unusual(usual, v, 0); });
  compare_places(pairs, out);
  find_drift(pairs, out);
  Random random(kFloorSeed);
  for (const int64_t runs : kFloorRuns) out.by_runs.push_back(floor_of(all, runs, random));
  return out;
}

}  // namespace nl::stats

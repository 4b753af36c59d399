// What a machine can tell apart, from runs of the same thing.

#include "stats/noise_floor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/effect.h"
#include "stats/random.h"

namespace nl::stats {
namespace {

double noisy(Random& random, double spread) {
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += random.uniform();
  return 1000 * (1 + spread * sum);
}

std::vector<SamePair> quiet_pairs(uint64_t seed, size_t n, double spread = 0.02) {
  Random random(seed);
  std::vector<SamePair> pairs;
  for (size_t i = 0; i < n; i++) {
    const double first = noisy(random, spread);
    pairs.push_back({first, noisy(random, spread)});
  }
  return pairs;
}

TEST(NoiseFloor, KnowsTheSpread) {
  const NoiseFloor floor = *noise_floor(quiet_pairs(1, 60));
  EXPECT_NEAR(floor.spread, 0.02, 0.004);
  EXPECT_NEAR(floor.typical_spread, 0.02, 0.006);
  EXPECT_EQ(floor.outliers, 0);
  EXPECT_EQ(floor.drift, Drift::kNone);
  EXPECT_NEAR(floor.second_to_first, 1, 0.01);
  ASSERT_EQ(floor.by_runs.size(), 5U);
}

TEST(NoiseFloor, MoreRunsSeeSmallerThings) {
  const NoiseFloor floor = *noise_floor(quiet_pairs(2, 40));
  for (size_t i = 1; i < floor.by_runs.size(); i++) {
    EXPECT_LT(floor.by_runs[i].floor, floor.by_runs[i - 1].floor);
    EXPECT_LT(*floor.by_runs[i].detectable, *floor.by_runs[i - 1].detectable);
  }
  // Of means of 20 + 20 normal values: 2.33 * 0.02 * sqrt(2 / 20) = 1.47 %; (1.96 + 0.84) of the same: 1.77
  // %.
  EXPECT_NEAR(floor.by_runs[2].floor, 0.0147, 0.004);
  EXPECT_NEAR(*floor.by_runs[2].detectable, 0.0177, 0.006);
}

TEST(NoiseFloor, HoldsForWhatIsMeasuredAfterwards) {
  int above = 0, tried = 0;
  for (uint64_t seed = 100; seed < 120; seed++) {
    const NoiseFloor floor = *noise_floor(quiet_pairs(seed, 20));
    for (uint64_t again = 0; again < 25; again++, tried++) {
      std::vector<double> a, b;
      for (const SamePair& pair : quiet_pairs(seed * 1000 + again, 10)) {
        a.push_back(pair.first);
        b.push_back(pair.second);
      }
      above +=
          std::abs(std::log(typical_ratio(sorted(a), sorted(b)).value)) > std::log1p(floor.by_runs[1].floor);
    }
  }
  EXPECT_LE(above, tried / 20);
}

TEST(NoiseFloor, SeesDriftAndThePlaceInAPair) {
  auto pairs = quiet_pairs(3, 30, 0.005);
  for (size_t i = 0; i < pairs.size(); i++) {
    pairs[i].first *= 1 + 0.002 * static_cast<double>(i);
    pairs[i].second *= 1.03 * (1 + 0.002 * static_cast<double>(i));
  }
  const NoiseFloor floor = *noise_floor(pairs);
  EXPECT_EQ(floor.drift, Drift::kSlower);
  EXPECT_NEAR(floor.drift_of_all, 0.058, 0.01);
  EXPECT_GT(floor.second_to_first_interval->low, 1.02);
  for (SamePair& pair : pairs) pair = {1e6 / pair.first, 1e6 / pair.second};
  EXPECT_EQ(noise_floor(pairs)->drift, Drift::kFaster);
}

TEST(NoiseFloor, CountsOutliersAndKeepsThem) {
  auto pairs = quiet_pairs(4, 30);
  pairs[7].second *= 2;
  const NoiseFloor floor = *noise_floor(pairs);
  EXPECT_EQ(floor.outliers, 1);
  EXPECT_GT(floor.spread, 2 * floor.typical_spread);
}

TEST(NoiseFloor, TheSameValuesGiveTheSameFigures) {
  const auto pairs = quiet_pairs(5, 12);
  EXPECT_EQ(noise_floor(pairs)->by_runs[0].floor, noise_floor(pairs)->by_runs[0].floor);
  const std::vector<SamePair> equal(10, {5, 5});
  EXPECT_EQ(noise_floor(equal)->by_runs[0].floor, 0);
  EXPECT_EQ(noise_floor(equal)->by_runs[0].detectable, 0);
}

TEST(NoiseFloor, RefusesTooLittle) {
  EXPECT_EQ(noise_floor(quiet_pairs(6, 7)).error().code, ErrorCode::kBadInput);
  auto pairs = quiet_pairs(6, 9);
  pairs[2].first = -1;
  EXPECT_EQ(noise_floor(pairs).error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace nl::stats

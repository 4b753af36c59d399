// Change points and warm-up on series with a known truth.

#include "stats/change_points.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "stats/random.h"
#include "stats/segments.h"
#include "stats/warm_up.h"

namespace nl::stats {
namespace {

#ifdef __OPTIMIZE__
constexpr int kSeries = 60;
#else
constexpr int kSeries = 8;  // under a sanitizer, for its sake
#endif

class Noise {
 public:
  explicit Noise(uint64_t seed) : random_(seed) {}
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - random_.uniform()));
    return radius * std::cos(2 * std::numbers::pi * random_.uniform());
  }
  size_t below(size_t end) { return random_.below(end); }
  double uniform() { return random_.uniform(); }

 private:
  Random random_;
};

/// n values of 1000 with a spread of 1 %, `factor` times as much from `at` on.
std::vector<double> stepped(Noise& noise, size_t n, size_t at, double factor) {
  std::vector<double> values;
  for (size_t i = 0; i < n; i++) values.push_back(1000 * (i < at ? 1 : factor) * (1 + 0.01 * noise.normal()));
  return values;
}

std::vector<size_t> alerts(const std::vector<ChangePoint>& points) {
  std::vector<size_t> at;
  for (const ChangePoint& p : points) {
    if (p.alert) at.push_back(p.at);
  }
  return at;
}

bool is_near(size_t a, size_t b) {
  return a <= b + 2 && b <= a + 2;
}

TEST(ChangePoints, AStepIsFoundWhereItIs) {
  Noise noise(1);
  int found = 0, extra = 0;
  for (int i = 0; i < kSeries; i++) {
    const size_t at = 20 + noise.below(160);
    const auto points = find_change_points(stepped(noise, 200, at, 1.05));
    for (const size_t p : alerts(points)) (is_near(p, at) ? found : extra)++;
  }
  EXPECT_GE(found, kSeries * 95 / 100);
  EXPECT_LE(extra, kSeries / 10);
}

TEST(ChangePoints, NoiseAloneHasFew) {
  Noise noise(2);
  int with_any = 0;
  for (int i = 0; i < kSeries; i++)
    with_any += !alerts(find_change_points(stepped(noise, 200, 0, 1))).empty();
  EXPECT_LE(with_any, kSeries / 10 + 1);
}

TEST(ChangePoints, LevelsAreMediansOfBothSides) {
  std::vector<double> values(30, 100);
  values.resize(60, 110);
  const auto points = find_change_points(values);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0], (ChangePoint{30, 100, 110, 0, true}));
}

TEST(ChangePoints, ASingleOutlierIsNone) {
  Noise noise(3);
  auto values = stepped(noise, 100, 0, 1);
  values[50] *= 3;
  EXPECT_TRUE(alerts(find_change_points(values)).empty());
}

TEST(ChangePoints, OneNewValueIsNoAlert) {
  Noise noise(4);
  int after_two = 0, after_four = 0;
  for (int i = 0; i < kSeries; i++) {
    ChangePointSeries series;
    for (const double v : stepped(noise, 60, 0, 1)) series.append(v);
    series.append(1200);
    ASSERT_EQ(series.points().back().at, 60U);
    EXPECT_FALSE(series.points().back().alert);
    series.append(1205);
    after_two += series.points().back().at == 60 && series.points().back().alert;
    series.append(1190);
    series.append(1195);
    after_four += series.points().back().at == 60 && series.points().back().alert;
  }
  EXPECT_GE(after_two, kSeries * 8 / 10);
  EXPECT_GE(after_four, kSeries * 95 / 100);
}

TEST(ChangePoints, PersistenceDelaysTheAlert) {
  std::vector<double> values(30, 100);
  values.resize(33, 110);
  EXPECT_TRUE(find_change_points(values)[0].alert);
  EXPECT_FALSE(find_change_points(values, {.persistence = 4})[0].alert);
}

TEST(ChangePoints, SmallOnesAreLeftOutOnDemand) {
  Noise noise(5);
  const auto values = stepped(noise, 200, 100, 1.03);
  EXPECT_EQ(alerts(find_change_points(values)).size(), 1U);
  EXPECT_TRUE(alerts(find_change_points(values, {.min_magnitude = 0.05})).empty());
}

TEST(ChangePoints, ShortAndConstantSeries) {
  for (size_t n = 0; n < 8; n++) EXPECT_TRUE(find_change_points(std::vector<double>(n, 5)).empty());
  EXPECT_TRUE(find_change_points(std::vector<double>(300, 5)).empty());
  EXPECT_TRUE(find_change_points(std::vector<double>(300, 0)).empty());
}

/// Steps, bumps, memory and outliers at random places.
std::vector<double> wild(Noise& noise, size_t n) {
  std::vector<double> values;
  double level = 1000, memory = 0;
  for (size_t i = 0; i < n; i++) {
    if (noise.below(40) == 0) level *= 0.9 + 0.2 * noise.uniform();
    memory = 0.4 * memory + noise.normal();
    values.push_back(level * (1 + 0.01 * memory) * (noise.below(50) == 0 ? 1.4 : 1));
  }
  return values;
}

TEST(ChangePoints, AppendingGivesTheSameAsFromScratch) {
  Noise noise(6);
  for (int i = 0; i < std::max(1, kSeries / 8); i++) {
    const auto values = wild(noise, 150 + noise.below(200));
    const ChangePointOptions options{.window = 20 + noise.below(40)};
    ChangePointSeries series(options);
    std::vector<double> so_far;
    for (const double v : values) {
      so_far.push_back(v);
      series.append(v);
      ASSERT_EQ(series.points(), find_change_points(so_far, options)) << so_far.size();
    }
  }
}

TEST(ChangePoints, AppendingEvaluatesOnlyTheWindowsOfTheValue) {
  Noise noise(7);
  ChangePointSeries series;
  for (size_t i = 0; i < 1000; i++) {
    const uint64_t before = series.evaluated_windows();
    series.append(1000 + noise.normal());
    EXPECT_LE(series.evaluated_windows() - before, 2U);
  }
}

/// As `trend` asks: changes of 1 % and more.
constexpr ChangePointOptions kOfRuns{.min_magnitude = 0.01, .separated = true};

TEST(ChangePoints, FiveAndFiveRunsThatDoNotOverlapAreAChange) {
  Noise noise(20);
  int found = 0;
  for (int i = 0; i < 1000; i++) {
    std::vector<double> values;
    for (int k = 0; k < 10; k++) values.push_back((k < 5 ? 1000 : 1040) + 20 * noise.uniform());
    const auto points = find_change_points(values, kOfRuns);
    found += points.size() == 1 && points[0].at == 5 && points[0].alert;
  }
  EXPECT_EQ(found, 1000);
}

TEST(ChangePoints, FiveAndFiveWithAnOutlierThatDoNotOverlap) {
  const std::vector<double> values = {1000, 1010, 1005, 1002, 1008, 1030, 1035, 1031, 1700, 1033};
  const auto points = find_change_points(values, kOfRuns);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].at, 5U);
  EXPECT_NEAR(points[0].p, 2.0 / 252, 1e-12);
  EXPECT_TRUE(
      find_change_points({1000, 1010, 1005, 1002, 1032, 1030, 1035, 1031, 1700, 1033}, kOfRuns).empty());
}

/// One in a hundred, as the documentation says; and no more for any number of runs.
TEST(ChangePoints, FewRunsOfNoiseSeldomAreAChange) {
  for (const size_t n : {10U, 11U, 12U, 15U, 20U, 40U}) {
    Noise noise(30 + n);
    int separated = 0, any = 0;
    constexpr int kTries = 4000;
    for (int i = 0; i < kTries; i++) {
      const auto values = stepped(noise, n, 0, 1);
      separated += separated_split({values.data(), values.data() + n}, kSeparatedValues) < n;
      any += !alerts(find_change_points(values, {.separated = true})).empty();
    }
    EXPECT_LE(separated, kTries * 125 / 10000) << n;
    EXPECT_LE(any, kTries * 3 / 100) << n;
  }
}

TEST(ChangePoints, LongSeriesHaveNoMoreOfThem) {
  Noise noise(40);
  for (int i = 0; i < kSeries; i++) {
    const auto values = stepped(noise, 60 + noise.below(400), 0, 1);
    EXPECT_EQ(find_change_points(values).size(), find_change_points(values, {.separated = true}).size());
  }
}

TEST(Segments, ASeparatedSplitHasTheWidestGap) {
  const std::vector<double> stairs = {1, 2, 3, 4, 5, 6, 20, 21, 22, 23, 24, 25};
  const auto split = [](const std::vector<double>& v) {
    return separated_split({v.data(), v.data() + v.size()}, 5);
  };
  EXPECT_EQ(split(stairs), 6U);
  EXPECT_EQ(split({9, 8, 9, 8, 9, 1, 2, 1, 2, 1}), 5U);
  EXPECT_EQ(split({1, 2, 1, 2, 1, 2, 2, 2, 2, 2}), 10U);
  EXPECT_EQ(split({1, 1, 1, 1, 2, 2, 2, 2}), 8U);
}

TEST(Segments, EnergyIsLargestAtTheStep) {
  const std::vector<double> values = {1, 2, 1, 2, 1, 9, 8, 9, 8};
  EXPECT_EQ(best_split({values.data(), values.data() + values.size()}, 2), 5U);
  EXPECT_EQ(best_split({values.data(), values.data() + 3}, 2), 3U);
}

TEST(Segments, MeanTestIsStudents) {
  const std::vector<double> v = {1, 2, 3, 4, 4, 5, 6, 8};  // SciPy: ttest_ind([1, 2, 3, 4], [4, 5, 6, 8])
  EXPECT_NEAR(mean_test({v.data(), v.data() + 4}, {v.data() + 4, v.data() + 8}), 0.02291610023862326, 1e-12);
  EXPECT_GT(mean_test({v.data(), v.data() + 4}, {v.data() + 4, v.data() + 8}, 0.5), 0.05);
}

TEST(WarmUp, NoneInASteadySeries) {
  Noise noise(8);
  int any = 0;
  for (int i = 0; i < kSeries; i++) any += find_warm_up(stepped(noise, 100, 0, 1))->iterations > 0;
  EXPECT_LE(any, kSeries / 20 + 1);
}

TEST(WarmUp, ASingleSlowFirstStep) {
  Noise noise(9);
  for (const size_t n : {5, 10, 50, 400}) {
    auto values = stepped(noise, n, 0, 1);
    values[0] *= 5;
    const auto warm_up = find_warm_up(values);
    EXPECT_EQ(warm_up->iterations, 1U) << n;
    EXPECT_NEAR(warm_up->level, 1000, 20);
  }
}

TEST(WarmUp, ASlowRamp) {
  Noise noise(10);
  auto values = stepped(noise, 100, 0, 1);
  for (size_t i = 0; i < 12; i++) values[i] *= 1 + 0.6 * (1 - static_cast<double>(i) / 12);
  const size_t iterations = find_warm_up(values)->iterations;
  EXPECT_GE(iterations, 10U);
  EXPECT_LE(iterations, 13U);
}

TEST(WarmUp, AChangeInTheSecondHalfStays) {
  Noise noise(11);
  for (int i = 0; i < kSeries; i++) {
    const size_t at = 55 + noise.below(40);
    auto values = stepped(noise, 100, at, 0.8);  // all of the first half is slower
    EXPECT_LE(find_warm_up(values)->iterations, 2U);
    values[0] *= 4;
    EXPECT_EQ(find_warm_up(values)->iterations, 1U);
  }
}

TEST(WarmUp, AFasterBeginningIsNone) {
  Noise noise(12);
  EXPECT_EQ(find_warm_up(stepped(noise, 100, 10, 1.3))->iterations, 0U);
}

TEST(WarmUp, TooFewToTell) {
  EXPECT_FALSE(find_warm_up({100, 10, 10, 10}));
  EXPECT_FALSE(find_warm_up({}));
}

}  // namespace
}  // namespace nl::stats

// Medians, ranks, effects and adjusted p.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "stats/distributions.h"
#include "stats/effect.h"
#include "stats/false_discovery.h"
#include "stats/random.h"
#include "stats/rank_test.h"
#include "stats/sample.h"

namespace nl::stats {
namespace {

struct Expected {
  std::vector<double> a, b;
  double p, u, shift, ratio, delta;
};

// From SciPy 1.17 and NumPy: random integers; p of mannwhitneyu(b, a, method='exact') without ties, of all
// ways to divide the ranks (rankdata, itertools.combinations) with ties, of method='asymptotic' in the last;
// shift and ratio are np.median of np.subtract.outer(b, a) and np.divide.outer(b, a); delta is the mean of
// the signs of the former.
const Expected kExpected[] = {
    {{1048, 1136, 1080}, {938, 939, 1076}, 0.2, 1.0, -110.0, 0.8950381679389313, -0.7777777777777778},
    {{1193, 1060, 1061, 1124},
     {1171, 920, 1183, 938},
     0.6857142857142857,
     6.0,
     -72.0,
     0.9332323775482769,
     -0.25},
    {{1187, 1001, 1131, 940, 1149},
     {1145, 1098, 979, 1036, 1052, 973, 1181},
     0.7550505050505051,
     15.0,
     -22.0,
     0.978021978021978,
     -0.14285714285714285},
    {{1104, 1036, 1167, 991, 1180, 1130, 924, 999, 1069, 1101},
     {1127, 904, 1155, 1189, 1161, 937, 981, 1067, 967, 1150},
     0.9117971811470265,
     48.0,
     -4.5,
     0.9961018722842778,
     -0.04},
    {{953, 1125, 1038, 1166, 938,  982, 1137, 1084, 943, 1167,
      925, 915,  1190, 905,  1046, 901, 924,  1066, 990, 902},
     {1027, 1090, 906, 1176, 1148, 1025, 1138, 1171, 988, 920,
      950,  991,  909, 1097, 1064, 907,  904,  1197, 989, 1185},
     0.42908164057750553,
     230.0,
     18.0,
     1.0164348056821737,
     0.15},
    {{11, 14, 12, 13}, {12, 16, 15, 16}, 0.14285714285714285, 13.5, 2.5, 1.1923076923076923, 0.6875},
    {{10, 10, 10, 12, 12}, {16, 12, 12, 16, 12, 15}, 0.04329004329004329, 27.0, 2.5, 1.225, 0.8},
    {{11, 12, 10, 13, 14, 13, 14},
     {15, 14, 16, 13, 11, 14, 14},
     0.10664335664335664,
     37.5,
     1.0,
     1.0833333333333333,
     0.5306122448979592},
    {{105, 104, 119, 113, 114, 123, 120, 126, 105, 122, 116, 101, 102,
      110, 119, 104, 116, 129, 104, 104, 128, 107, 126, 110, 122},
     {106, 123, 131, 115, 124, 111, 109, 105, 119, 120, 107,
      111, 123, 115, 111, 105, 106, 124, 108, 130, 121, 112},
     0.44859394874454783,
     311.0,
     1.5,
     1.0125596302921884,
     0.13090909090909092},
};

TEST(RankTest, AgreesWithSciPy) {
  for (const Expected& want : kExpected) {
    const auto a = sorted(want.a), b = sorted(want.b);
    const RankTest test = mann_whitney(a, b);
    EXPECT_NEAR(test.p, want.p, 1e-12);
    EXPECT_EQ(test.u, want.u);
    EXPECT_EQ(test.exact, a.size() < 21);
    EXPECT_EQ(hodges_lehmann(a, b), want.shift);
    EXPECT_DOUBLE_EQ(typical_ratio(a, b).value, want.ratio);
    EXPECT_NEAR(cliffs_delta(test, a.size(), b.size()), want.delta, 1e-12);
  }
}

std::vector<double> some_values(Random& random, size_t n, uint64_t distinct) {
  std::vector<double> values(n);
  for (double& v : values) v = static_cast<double>(1 + random.below(distinct));
  return sorted(std::move(values));
}

/// Every way to divide the values, one by one.
double p_by_listing(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  const auto distance = [&](uint32_t chosen) {
    double wins = 0;
    for (size_t i = 0; i < all.size(); i++) {
      for (size_t j = 0; j < all.size(); j++) {
        if ((chosen >> i & 1) != 0 && (chosen >> j & 1) == 0) {
          wins += all[i] > all[j] ? 1 : all[i] == all[j] ? 0.5 : 0;
        }
      }
    }
    return std::abs(wins - static_cast<double>(a.size() * b.size()) / 2);
  };
  const double seen = distance((1U << a.size()) - 1);
  int extreme = 0, ways = 0;
  for (uint32_t chosen = 0; chosen < 1U << all.size(); chosen++) {
    if (static_cast<size_t>(std::popcount(chosen)) != a.size()) continue;
    ways++;
    extreme += distance(chosen) >= seen;
  }
  return static_cast<double>(extreme) / ways;
}

TEST(RankTest, CountsEveryWayToDivideTiedValues) {
  Random random(1);
  for (int i = 0; i < 40; i++) {
    const auto a = some_values(random, 1 + random.below(5), 5);
    const auto b = some_values(random, 1 + random.below(5), 5);
    EXPECT_NEAR(mann_whitney(a, b).p, p_by_listing(a, b), 1e-12);
  }
}

TEST(RankTest, SmallestPIsReachedBySeparatedSamples) {
  EXPECT_DOUBLE_EQ(smallest_p(3, 3), 0.1);
  EXPECT_NEAR(smallest_p(4, 4), 0.02857, 1e-5);
  EXPECT_NEAR(smallest_p(5, 5), 0.00794, 1e-5);
  EXPECT_NEAR(smallest_p(7, 7), 0.000583, 1e-6);
  for (const auto& [n1, n2] : {std::pair<size_t, size_t>{2, 3}, {4, 4}, {10, 10}, {3, 60}}) {
    std::vector<double> a(n1), b(n2);
    for (size_t i = 0; i < n1; i++) a[i] = static_cast<double>(i);
    for (size_t i = 0; i < n2; i++) b[i] = static_cast<double>(n1 + i);
    EXPECT_NEAR(mann_whitney(a, b).p, smallest_p(n1, n2), 1e-15);
    EXPECT_NEAR(mann_whitney(b, a).p, smallest_p(n1, n2), 1e-15);
  }
}

TEST(RankTest, PrintedWithThreeDigits) {
  EXPECT_EQ(rounded_p(0.007936507936507936), 0.00794);
  EXPECT_EQ(rounded_p(std::nextafter(0.007936507936507936, 1)), 0.00794);
  EXPECT_EQ(rounded_p(1.23456e-12), 1.23e-12);
  EXPECT_EQ(rounded_p(1), 1);
  EXPECT_EQ(rounded_p(0), 0);
}

TEST(RankTest, EqualValuesShowNothing) {
  const std::vector<double> same(5, 3.0), many(40, 3.0);
  EXPECT_EQ(mann_whitney(same, same).p, 1);
  EXPECT_EQ(mann_whitney(many, many).p, 1);
}

TEST(Sample, MedianIntervalSaysItsCoverage) {
  std::vector<double> values;
  for (int i = 1; i <= 5; i++) values.push_back(i);
  EXPECT_FALSE(median_interval(values));
  values.push_back(6);
  EXPECT_EQ(median_interval(values), (Interval{1, 6, 0.96875}));
  for (int i = 7; i <= 10; i++) values.push_back(i);
  const auto ten = median_interval(values);  // P(at most 1 of 10) = 11/1024
  EXPECT_EQ(ten, (Interval{2, 9, 1 - 2 * 11.0 / 1024}));
}

TEST(Sample, MedianIntervalIsTheSameOnBothSidesOfTheApproximation) {
  std::vector<double> values;
  for (int i = 0; i < 1000; i++) values.push_back(i);
  const auto exact = median_interval(values);
  values.push_back(1000);
  const auto approximate = median_interval(values);
  ASSERT_TRUE(exact && approximate);
  EXPECT_NEAR(exact->low, approximate->low, 1);
  EXPECT_NEAR(exact->coverage, approximate->coverage, 0.004);
  EXPECT_GE(approximate->coverage, 0.95);
}

TEST(Sample, QuantilesAndTails) {
  const std::vector<double> values = {1, 2, 3, 4, 10};
  EXPECT_EQ(quantile(values, 0.25), 2);
  EXPECT_EQ(median(values), 3);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 7.6);
  EXPECT_FALSE(tail_quantile(values, 0.9));
  std::vector<double> many(100, 1);
  EXPECT_EQ(tail_quantile(many, 0.99), 1);
  many.pop_back();
  EXPECT_FALSE(tail_quantile(many, 0.99));
  EXPECT_EQ(summary_of({}).n, 0U);
}

TEST(Effect, ManyPairsAreFoundWithoutListingThem) {
  Random random(3);
  const auto a = some_values(random, 90, 50), b = some_values(random, 80, 60);
  std::vector<double> ratios, differences;
  for (const double x : a) {
    for (const double y : b) {
      ratios.push_back(y / x);
      differences.push_back(y - x);
    }
  }
  EXPECT_EQ(typical_ratio(a, b).value, median(sorted(ratios)));
  EXPECT_EQ(hodges_lehmann(a, b), median(sorted(differences)));
}

TEST(Effect, ZerosHaveRatiosToo) {
  const std::vector<double> zeros(4, 0), ones(4, 1);
  EXPECT_EQ(typical_ratio(zeros, ones).value, std::numeric_limits<double>::infinity());
  EXPECT_EQ(typical_ratio(zeros, zeros).value, 1);
  EXPECT_EQ(typical_ratio(ones, zeros).value, 0);
  EXPECT_FALSE(ratio_of_medians(zeros, ones));
}

TEST(Effect, NoIntervalBelowFourAndFour) {
  EXPECT_FALSE(typical_ratio({1, 2, 3}, {4, 5, 6}).interval);
  const auto four = typical_ratio({1, 2, 4, 8}, {16, 32, 64, 128}).interval;
  ASSERT_TRUE(four);
  EXPECT_NEAR(four->coverage, 1 - 2.0 / 70, 1e-12);
  EXPECT_EQ(four->low, 2);
  EXPECT_EQ(four->high, 128);
}

TEST(Effect, BootstrapIsTheSameEveryTime) {
  const std::vector<double> a = {98, 99, 100, 101, 103, 104}, b = {108, 109, 110, 112, 113, 115};
  const auto once = bootstrap_ratio_interval(a, b);
  ASSERT_TRUE(once);
  EXPECT_EQ(*once, *bootstrap_ratio_interval(a, b));
  EXPECT_LT(once->low, 111.0 / 100.5);
  EXPECT_GT(once->high, 111.0 / 100.5);
  EXPECT_FALSE(bootstrap_ratio_interval({1}, b));
}

TEST(FalseDiscovery, AdjustedByHand) {
  const std::vector<double> adjusted = benjamini_hochberg({0.04, 0.01, 0.03, 0.5});
  EXPECT_DOUBLE_EQ(adjusted[1], 0.04);
  EXPECT_DOUBLE_EQ(adjusted[2], 0.04 * 4 / 3);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.04 * 4 / 3);
  EXPECT_DOUBLE_EQ(adjusted[3], 0.5);
  EXPECT_TRUE(benjamini_hochberg({}).empty());
}

TEST(Distributions, KnownValues) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(student_two_sided(1, 1), 0.5, 1e-14);                     // Cauchy
  EXPECT_NEAR(student_two_sided(2, 2), 1 - 2 / std::sqrt(6.0), 1e-14);  // closed form for two degrees
  EXPECT_NEAR(student_two_sided(2.5, 20.3), 0.0210919118988506, 1e-12);
  EXPECT_EQ(student_two_sided(0, 5), 1);
}

}  // namespace
}  // namespace nl::stats

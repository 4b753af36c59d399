// What most values are like, and which are far from it.

#include "stats/usual.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/random.h"

namespace nl::stats {
namespace {

TEST(Usual, MedianAndSpreadAreThoseOfMostValues) {
  const Usual usual = usual_of({10, 12, 11, 9, 1000, 8, 10});
  EXPECT_EQ(usual.n, 7U);
  EXPECT_EQ(usual.median, 10);
  EXPECT_DOUBLE_EQ(usual.spread, 1.4826);  // distances 0 0 1 1 2 2 990
  EXPECT_DOUBLE_EQ(spreads_from(usual, 1000).value(), 990 / 1.4826);
  EXPECT_TRUE(is_unusual(usual, 1000, 0.05));
  EXPECT_FALSE(is_unusual(usual, 12, 0.05));
  EXPECT_EQ(usual_of({}).n, 0U);
}

TEST(Usual, EqualValuesHaveNoSpreadAndTheThresholdDecides) {
  const Usual usual = usual_of({5, 5, 5, 5, 5, 6});
  EXPECT_EQ(usual.spread, 0);
  EXPECT_FALSE(spreads_from(usual, 6));
  EXPECT_TRUE(is_unusual(usual, 6, 0.05));
  EXPECT_FALSE(is_unusual(usual, 6, 0.3));
  EXPECT_FALSE(is_unusual(usual, 5, 0));
}

TEST(Usual, FewValuesSayNothing) {
  const Usual usual = usual_of({5, 5, 5, 5, 500});
  ASSERT_LT(usual.n, kLeastUsual);
  EXPECT_FALSE(is_unusual(usual, 500, 0));
}

TEST(Usual, OrdinaryNoiseIsRarelyUnusual) {
  Random random(7);
  size_t wrong = 0, samples = 0;
  for (int sample = 0; sample < 2000; sample++) {
    std::vector<double> values;
    for (int i = 0; i < 20; i++) {  // normal, by Box and Muller
      const double a = (static_cast<double>(random.below(1'000'000)) + 1) / 1'000'001;
      const double b = static_cast<double>(random.below(1'000'000)) / 1'000'000;
      values.push_back(100 + std::sqrt(-2 * std::log(a)) * std::cos(6.283185307179586 * b));
    }
    const Usual usual = usual_of(values);
    for (const double value : values) wrong += is_unusual(usual, value, 0) ? 1 : 0;
    samples += values.size();
  }
  // The spread of 20 values is itself uncertain: more than one in a million, but less than one in 400.
  EXPECT_LT(wrong, samples / 400) << "of " << samples;
}

}  // namespace
}  // namespace nl::stats

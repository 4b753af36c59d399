// Steps of a bisection: decided with few pairs, seldom wrongly.

#include "stats/sequential.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/random.h"

namespace nl::stats {
namespace {

constexpr double kError = 0.01;

double noisy(Random& random, double middle, double spread) {
  double sum = -6;  // of twelve: nearly normal
  for (int i = 0; i < 12; i++) sum += random.uniform();
  return middle * (1 + spread * sum);
}

TimePair pair_of(Random& random, double slower, double spread = 0.02) {
  return {noisy(random, 100, spread), noisy(random, 100 * slower, spread)};
}

std::vector<TimePair> pairs_of(Random& random, double slower, size_t n, double spread = 0.02) {
  std::vector<TimePair> pairs;
  for (size_t i = 0; i < n; i++) pairs.push_back(pair_of(random, slower, spread));
  return pairs;
}

struct Tried {
  int wrong = 0;
  double pairs = 0;
};

Tried tried(const EndsMeasured& ends, Random& random, double slower, StepDecision wrong, int trials) {
  Tried out;
  for (int i = 0; i < trials; i++) {
    StepTest test(ends, kError);
    StepDecision decision = StepDecision::kUndecided;
    while (decision == StepDecision::kUndecided && test.pairs() < 200)
      decision = test.add(pair_of(random, slower));
    out.wrong += decision == wrong;
    out.pairs += static_cast<double>(test.pairs()) / trials;
  }
  return out;
}

TEST(EndsMeasured, SaysWhetherTheEndsDiffer) {
  Random random(1);
  const auto slower = *EndsMeasured::of(pairs_of(random, 1.1, 20), kError);
  EXPECT_TRUE(slower.is_slower());
  EXPECT_TRUE(slower.is_enough());
  EXPECT_NEAR(slower.change(), 1.1, 0.03);
  EXPECT_NEAR(slower.spread(), 0.028, 0.02);
  const auto faster = *EndsMeasured::of(pairs_of(random, 0.9, 20), kError);
  EXPECT_TRUE(faster.is_faster());
  EXPECT_FALSE(faster.is_slower());
}

TEST(EndsMeasured, SeldomCallsEqualEndsDifferentHoweverOftenOneLooks) {
  Random random(2);
  int different = 0;
  for (int i = 0; i < 1000; i++) {
    const auto ends = *EndsMeasured::of(pairs_of(random, 1, 60), 0.05);  // the most over all looks
    different += ends.is_slower() || ends.is_faster();
  }
  EXPECT_LE(different, 2 * 50 + 30);
}

TEST(EndsMeasured, RefusesWhatIsNoTime) {
  Random random(3);
  EXPECT_EQ(EndsMeasured::of(pairs_of(random, 1.1, 7), kError).error().code, ErrorCode::kBadInput);
  auto pairs = pairs_of(random, 1.1, 10);
  pairs[3].candidate = 0;
  EXPECT_EQ(EndsMeasured::of(pairs, kError).error().code, ErrorCode::kBadInput);
}

TEST(StepTest, IsSeldomWrongAndNeedsFewPairs) {
  Random random(4);
  const auto ends = *EndsMeasured::of(pairs_of(random, 1.05, 14), kError);
  const Tried good = tried(ends, random, 1, StepDecision::kSlow, 300);
  const Tried slow = tried(ends, random, 1.05, StepDecision::kAsGood, 300);
  EXPECT_LE(good.wrong, 8);
  EXPECT_LE(slow.wrong, 8);
  EXPECT_LT(good.pairs, 12);
  EXPECT_LT(slow.pairs, 12);
}

TEST(StepTest, OneValueFarOutDecidesNothing) {
  Random random(5);
  const auto ends = *EndsMeasured::of(pairs_of(random, 1.05, 20), kError);
  StepTest calm(ends, kError), disturbed(ends, kError);
  disturbed.add({100, 180});
  EXPECT_LT(std::abs(disturbed.evidence()), 1);
  EXPECT_EQ(disturbed.add({100, 170}), StepDecision::kUndecided);
  for (int i = 0; i < 60; i++) {
    const TimePair pair = pair_of(random, 1);
    calm.add(pair);
    disturbed.add(pair);
  }
  EXPECT_EQ(calm.decision(), StepDecision::kAsGood);
  EXPECT_EQ(disturbed.decision(), StepDecision::kAsGood);
}

TEST(StepTest, TimesWithoutAnyNoiseAreDecidedWithOneBlock) {
  const auto ends = *EndsMeasured::of(std::vector<TimePair>(10, {100, 105}), kError);
  ASSERT_TRUE(ends.is_enough());
  StepTest slow(ends, kError), good(ends, kError);
  EXPECT_EQ(slow.add({100, 105}), StepDecision::kUndecided);
  EXPECT_EQ(slow.add({100, 105}), StepDecision::kSlow);
  good.add({100, 100});
  EXPECT_EQ(good.add({100, 100}), StepDecision::kAsGood);
}

TEST(StepTest, ExpectedPairsGrowWithTheNoise) {
  Random random(6);
  const auto quiet = *EndsMeasured::of(pairs_of(random, 1.05, 30, 0.01), kError);
  const auto loud = *EndsMeasured::of(pairs_of(random, 1.05, 30, 0.04), kError);
  EXPECT_GT(loud.expected_pairs(kError), 2 * quiet.expected_pairs(kError));
}

}  // namespace
}  // namespace nl::stats

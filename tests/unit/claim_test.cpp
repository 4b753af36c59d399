// Claims of a speed-up: what they mean, and that looking again and again does not make them true.

#include "stats/claim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stats/effect.h"
#include "stats/random.h"
#include "stats/sample.h"

namespace nl::stats {
namespace {

using Values = std::vector<double>;

/// About `middle`, some percent up and down, one in ten far out.
Values drawn(Random& random, double middle, size_t n) {
  Values values(n);
  for (double& v : values) {
    v = middle * (1 + 0.02 * (random.uniform() + random.uniform() + random.uniform() - 1.5));
    if (random.below(10) == 0) v *= 1.5;
  }
  return values;
}

Values steps(double from, size_t n) {
  Values values;
  for (size_t i = 0; i < n; i++) values.push_back(from * (1 + 0.001 * static_cast<double>(i)));
  return values;
}

TEST(Claim, VerdictsFollowTheInterval) {
  EXPECT_EQ(judge_claim(steps(120, 8), steps(100, 8))->verdict, ClaimVerdict::kMet);
  EXPECT_EQ(judge_claim(steps(100, 8), steps(100, 8))->verdict, ClaimVerdict::kNotMet);
  EXPECT_EQ(judge_claim(steps(105, 8), steps(100, 8))->verdict, ClaimVerdict::kInconclusive);
  EXPECT_EQ(judge_claim(steps(105, 8), steps(100, 8), {1.04})->verdict, ClaimVerdict::kMet);
}

TEST(Claim, IsTheTypicalRatioOfBaseToVariant) {
  const Values base = {110, 121, 115, 119, 112}, variant = {100, 104, 109, 99, 101};
  const Claim claim = *judge_claim(base, variant);
  const Ratio ratio = typical_ratio(sorted(variant), sorted(base), 0.96);
  EXPECT_EQ(claim.speedup, ratio.value);
  EXPECT_EQ(claim.low, ratio.interval->low);
  EXPECT_EQ(claim.high, ratio.interval->high);
  EXPECT_EQ(claim.n, 5);
}

TEST(Claim, TooFewRunsAreInconclusiveAndSayHowManyDecide) {
  const Claim claim = *judge_claim(steps(120, 3), steps(100, 3));
  EXPECT_EQ(claim.verdict, ClaimVerdict::kInconclusive);
  EXPECT_FALSE(claim.low);
  ASSERT_TRUE(claim.more_runs);
  const auto n = static_cast<size_t>(3 + *claim.more_runs);
  EXPECT_EQ(judge_claim(steps(120, n), steps(100, n))->verdict, ClaimVerdict::kMet);
}

TEST(Claim, RefusesWhatIsNoTime) {
  for (const double wrong : {0.0, -1.0, HUGE_VAL, std::nan("")}) {
    EXPECT_EQ(judge_claim({1, wrong}, {1, 1}).error().code, ErrorCode::kBadInput);
    EXPECT_EQ(judge_claim({1, 1}, {wrong, 1}).error().code, ErrorCode::kBadInput);
  }
  EXPECT_EQ(judge_claim({}, {1}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(judge_claim({1}, {1}, {.expected = 0}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(judge_claim({1}, {1}, {.error = 0.5}).error().code, ErrorCode::kBadInput);
}

TEST(ClaimPlan, LooksSpendNoMoreThanTheError) {
  for (const int64_t most : {6, 12, 40, 200}) {
    for (const double error : {0.005, 0.02, 0.1}) {
      const auto plan = ClaimPlan::make({1.05, error}, 4, most);
      if (!plan) continue;
      double spent = 0;
      for (const Look& look : plan->looks()) spent += look.tail;
      EXPECT_LE(spent, error * (1 + 1e-6));
      EXPECT_EQ(plan->looks().back().runs, most);
    }
  }
  EXPECT_EQ(ClaimPlan::make({1.05, 0.02}, 2, 3).error().code, ErrorCode::kBadInput);  // smallest p: 0.1
  EXPECT_EQ(ClaimPlan::make({1.05, 0.02}, 10, 5).error().code, ErrorCode::kBadInput);
}

TEST(ClaimPlan, JudgesAtItsLooksAlone) {
  const auto plan = *ClaimPlan::make({}, 5, 40);
  const int64_t first = plan.looks().front().runs;
  EXPECT_EQ(plan.next_look(0), first);
  EXPECT_EQ(plan.next_look(40), std::nullopt);
  const auto n = static_cast<size_t>(first);
  EXPECT_EQ(plan.judge(steps(120, n), steps(100, n))->verdict, ClaimVerdict::kMet);
  EXPECT_EQ(plan.judge(steps(120, 41), steps(100, 41)).error().code, ErrorCode::kBadInput);
}

/// A promise, with room for chance: three deviations.
int most_of(int trials, double chance) {
  return static_cast<int>(trials * chance + 3 * std::sqrt(trials * chance));
}

TEST(ClaimPlan, LookingAgainAndAgainDoesNotMakeItTrue) {
  const auto plan = *ClaimPlan::make({1.0, 0.02}, 5, 30);
  constexpr int kTrials = 2000;
  Random random(11);
  std::vector<Values> bases, variants;
  for (int i = 0; i < kTrials; i++) {
    bases.push_back(drawn(random, 100, 30));
    variants.push_back(drawn(random, 100, 30));
  }
  std::vector<bool> is_over(kTrials), is_fooled(kTrials);
  int met = 0, not_met = 0;
  for (const Look& look : plan.looks()) {
    for (int pass = 0; pass < 2; pass++) {
      for (size_t i = 0; i < kTrials; i++) {
        const Values a(bases[i].begin(), bases[i].begin() + look.runs);
        const Values b(variants[i].begin(), variants[i].begin() + look.runs);
        const ClaimVerdict verdict = (pass == 0 ? plan.judge(a, b) : judge_claim(a, b, {1.0}))->verdict;
        if (pass == 1) is_fooled[i] = is_fooled[i] || verdict == ClaimVerdict::kMet;
        if (pass == 1 || is_over[i] || verdict == ClaimVerdict::kInconclusive) continue;
        is_over[i] = true;
        (verdict == ClaimVerdict::kMet ? met : not_met)++;
      }
    }
  }
  const auto naive = std::count(is_fooled.begin(), is_fooled.end(), true);
  EXPECT_LE(met, most_of(kTrials, 0.02));
  EXPECT_LE(not_met, most_of(kTrials, 0.02));
  EXPECT_GT(naive, most_of(kTrials, 0.02)) << "without a plan the same looks are fooled more often";
}

TEST(ClaimPlan, FindsWhatIsThere) {
  const auto plan = *ClaimPlan::make({1.05, 0.02}, 5, 30);
  Random random(12);
  int met = 0;
  for (int i = 0; i < 200; i++) {
    const Values base = drawn(random, 115, 30), variant = drawn(random, 100, 30);
    met += plan.judge(base, variant)->verdict == ClaimVerdict::kMet;
  }
  EXPECT_GT(met, 195);
}

}  // namespace
}  // namespace nl::stats

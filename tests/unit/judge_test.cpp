// Verdicts on two sets of runs.

#include "stats/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "stats/effect.h"
#include "stats/random.h"

namespace nl::stats {
namespace {

using Values = std::vector<double>;

/// n values in steps of `step` around `middle`, none equal.
Values around(double middle, size_t n, double step = 0.001) {
  Values values;
  for (size_t i = 0; i < n; i++) {
    values.push_back(middle * (1 + step * (static_cast<double>(i) - static_cast<double>(n - 1) / 2)));
  }
  return values;
}

Judgement judged(const Values& base, const Values& candidate, JudgeOptions options = {}) {
  return (*judge({{"window", {{"window", base, candidate}}}}, options))[0][0];
}

TEST(Judge, VerdictsOfOneSeries) {
  EXPECT_EQ(judged(around(100, 6), around(110, 6)).verdict, Verdict::kRegression);
  EXPECT_EQ(judged(around(110, 6), around(100, 6)).verdict, Verdict::kImprovement);
  EXPECT_EQ(judged(around(100, 6), around(100.1, 6)).verdict, Verdict::kNoChange);
  EXPECT_EQ(judged(around(100, 6, 0.02), around(103, 6, 0.02)).verdict, Verdict::kInconclusive);
  EXPECT_EQ(judged({100}, {200}).verdict, Verdict::kNotTested);
  EXPECT_EQ(judged({100}, around(200, 50)).verdict, Verdict::kNotTested);
}

TEST(Judge, RealButSmallIsNoRegression) {
  const Judgement small = judged(around(100, 10, 0.0001), around(100.5, 10, 0.0001));
  EXPECT_LT(*small.p_adjusted, 0.001);
  EXPECT_EQ(small.verdict, Verdict::kNoChange);
  EXPECT_EQ(judged(around(100, 10, 0.0001), around(100.5, 10, 0.0001), {.practical_bound = 0.001}).verdict,
            Verdict::kRegression);
}

TEST(Judge, WhatIsBetterWhenHigherTurnsTheVerdict) {
  const auto levels = [](Values base, Values candidate) {
    return std::vector<Level>{{"window", {{"tokens/s", base, candidate, std::nullopt, false}}}};
  };
  EXPECT_EQ((*judge(levels(around(100, 6), around(110, 6))))[0][0].verdict, Verdict::kImprovement);
  EXPECT_EQ((*judge(levels(around(110, 6), around(100, 6))))[0][0].verdict, Verdict::kRegression);
}

TEST(Judge, SwappedSidesSwapTheVerdict) {
  Random random(5);
  for (int i = 0; i < 300; i++) {
    const auto drawn = [&](double middle) {
      Values values(4 + random.below(8));
      for (double& v : values) v = middle * (1 + 0.03 * random.uniform());
      return values;
    };
    const Values a = drawn(100), b = drawn(98 + 4 * random.uniform());
    const Verdict there = judged(a, b).verdict, back = judged(b, a).verdict;
    if (there == Verdict::kRegression || there == Verdict::kImprovement) {
      EXPECT_NE(there, back);
      EXPECT_NE(back, Verdict::kInconclusive);
    } else {
      EXPECT_EQ(there, back);
    }
  }
}

TEST(Judge, TooFewRunsSayHowManyDecide) {
  const Judgement three = judged(around(100, 3), around(120, 3));
  EXPECT_EQ(three.verdict, Verdict::kInconclusive);
  EXPECT_EQ(three.runs_needed, 4);
  EXPECT_EQ(three.more_runs, 1);
  EXPECT_FALSE(three.reason.empty());
  EXPECT_EQ(judged(around(100, 4), around(120, 4)).verdict, Verdict::kRegression);
}

TEST(Judge, WiderSpreadNeedsMoreRuns) {
  const Judgement narrow = judged(around(100, 5, 0.01), around(103, 5, 0.01));
  const Judgement wide = judged(around(100, 5, 0.02), around(103, 5, 0.02));
  ASSERT_TRUE(narrow.more_runs && wide.more_runs);
  EXPECT_GT(*wide.more_runs, *narrow.more_runs * 2);
  EXPECT_FALSE(judged(around(100, 5, 0.2), around(101, 5, 0.2)).more_runs);  // hopeless
}

/// A window, classes with a tenth of the kernels each, and kernels of which `changed` differ by 20 %, all in
/// the first class.
std::vector<Level> hierarchy(size_t n, size_t kernels, size_t changed) {
  std::vector<Level> levels = {{"window", {}}, {"class", {}}, {"kernel", {}}};
  const bool any = changed > 0;
  levels[0].series.push_back({"window", around(1000, n), around(any ? 1050 : 1000, n)});
  for (size_t c = 0; c < 10; c++) {
    levels[1].series.push_back({"class", around(100, n), around(any && c == 0 ? 120 : 100, n), 0});
  }
  for (size_t k = 0; k < kernels; k++) {
    levels[2].series.push_back({"kernel", around(10, n), around(k < changed ? 12 : 10, n), k * 10 / kernels});
  }
  return levels;
}

size_t count(const std::vector<Judgement>& level, Verdict verdict) {
  size_t n = 0;
  for (const Judgement& j : level) n += j.verdict == verdict;
  return n;
}

TEST(Judge, ALoneKernelIsFoundAmongTwoThousandWithTenRuns) {
  const auto found = *judge(hierarchy(10, 2000, 1));
  EXPECT_EQ(found[2][0].verdict, Verdict::kRegression);
  EXPECT_EQ(count(found[2], Verdict::kRegression), 1U);
  EXPECT_EQ(count(found[2], Verdict::kNoChange), 1999U);
}

TEST(Judge, FewRunsFindKernelsBelowAChangedClassOnly) {
  const auto found = *judge(hierarchy(6, 200, 20));
  EXPECT_EQ(found[1][0].verdict, Verdict::kRegression);
  EXPECT_EQ(count(found[2], Verdict::kRegression), 20U);
  EXPECT_TRUE(found[2][0].p_adjusted);
  EXPECT_FALSE(found[2][199].p_adjusted);  // its class shows no change
  EXPECT_EQ(found[2][199].verdict, Verdict::kNoChange);
}

TEST(Judge, NothingIsTestedBelowAnUnchangedWindowWithFewRuns) {
  auto levels = hierarchy(5, 200, 20);
  levels[0].series[0].candidate = levels[0].series[0].base;
  const auto found = *judge(levels);
  for (const Judgement& j : found[1]) EXPECT_FALSE(j.p_adjusted);
  EXPECT_EQ(found[1][0].verdict, Verdict::kInconclusive);
  EXPECT_NE(found[1][0].reason.find("level above"), std::string::npos);
  EXPECT_GT(*found[1][0].more_runs, 0);
}

TEST(Judge, BadInputIsAnError) {
  EXPECT_EQ(judge({{"w", {{"w", {1, -1}, {1, 2}}}}}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(judge({{"w", {{"w", {1, NAN}, {1, 2}}}}}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(judge({{"w", {{"w", {1, 1}, {1, 2}, 0}}}}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(judge({}, {.alpha = 0}).error().code, ErrorCode::kBadInput);
}

TEST(Judge, ZerosAndAbsentRuns) {
  EXPECT_EQ(judged({}, {1, 2}).verdict, Verdict::kNotTested);
  EXPECT_EQ(judged({0, 0, 0, 0, 0}, {1, 1, 2, 2, 1}).verdict, Verdict::kRegression);
  EXPECT_EQ(judged({0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}).verdict, Verdict::kNoChange);
}

// ---- Short simulations on a known truth; the long ones are in bench/statistics.

#ifdef __OPTIMIZE__
constexpr int kPairs = 300;
#else
constexpr int kPairs = 30;  // under a sanitizer, for its sake
#endif

/// Runs of 40 kernels in 4 classes: noise of 1 % of each kernel, 1 % of each run, now and then an outlier.
class Workload {
 public:
  explicit Workload(uint64_t seed) : random_(seed) {}

  /// Kernels for which `is_slower` are slower by `change`.
  template <class Fn>
  std::vector<Level> pair(size_t runs, double change, Fn&& is_slower) {
    std::vector<Level> levels = {{"window", {{"window", {}, {}}}}, {"class", {}}, {"kernel", {}}};
    for (size_t c = 0; c < kClasses; c++) levels[1].series.push_back({"class", {}, {}, 0});
    for (size_t k = 0; k < kKernels; k++) levels[2].series.push_back({"kernel", {}, {}, k % kClasses});
    for (size_t run = 0; run < runs; run++) {
      add_run(levels, &Series::base, [](size_t) { return 1.0; });
      add_run(levels, &Series::candidate, [&](size_t k) { return is_slower(k) ? 1 + change : 1; });
    }
    return levels;
  }

 private:
  static constexpr size_t kKernels = 40, kClasses = 4;

  double noise() {
    const double radius = std::sqrt(-2 * std::log(1 - random_.uniform()));
    return 1 + 0.01 * radius * std::cos(2 * std::numbers::pi * random_.uniform());
  }
  template <class Fn>
  void add_run(std::vector<Level>& levels, Values Series::*side, Fn&& factor) {
    for (size_t l = 0; l < 2; l++) {
      for (Series& s : levels[l].series) (s.*side).push_back(0);
    }
    const double shared = noise() * (random_.below(100) == 0 ? 1.3 : 1);
    for (size_t k = 0; k < kKernels; k++) {
      const double time = 100 * shared * noise() * factor(k) * (random_.below(100) == 0 ? 1.5 : 1);
      (levels[2].series[k].*side).push_back(time);
      (levels[1].series[k % kClasses].*side).back() += time;
      (levels[0].series[0].*side).back() += time;
    }
  }

  Random random_;
};

TEST(JudgeSimulated, FalseRegressionsAreRare) {
  for (const size_t runs : {4, 7, 10}) {
    Workload workload(runs);
    int window = 0, any_kernel = 0;
    for (int i = 0; i < kPairs; i++) {
      const auto found = *judge(workload.pair(runs, 0, [](size_t) { return false; }));
      window += count(found[0], Verdict::kRegression) > 0;
      any_kernel += count(found[2], Verdict::kRegression) > 0;
    }
    EXPECT_LE(window, kPairs / 20) << runs;
    EXPECT_LE(any_kernel, kPairs / 20) << runs;
  }
}

TEST(JudgeSimulated, FivePercentAreFoundWithTenRuns) {
  Workload workload(20);
  int window = 0;
  for (int i = 0; i < kPairs; i++) {
    const auto found = *judge(workload.pair(10, 0.05, [](size_t) { return true; }));
    window += found[0][0].verdict == Verdict::kRegression;
  }
  EXPECT_GE(window, kPairs * 95 / 100);
}

TEST(JudgeSimulated, FewOfTheNamedKernelsAreFalse) {
  Workload workload(30);
  int found_slow = 0;
  double false_share = 0;
  for (int i = 0; i < kPairs; i++) {
    const auto kernels = (*judge(workload.pair(10, 0.1, [](size_t k) { return k % 8 == 0; })))[2];
    int named = 0, wrong = 0;
    for (size_t k = 0; k < kernels.size(); k++) {
      const bool is_named =
          kernels[k].verdict == Verdict::kRegression || kernels[k].verdict == Verdict::kImprovement;
      named += is_named;
      wrong += is_named && k % 8 != 0;
      found_slow += is_named && k % 8 == 0;
    }
    false_share += named == 0 ? 0 : static_cast<double>(wrong) / named / kPairs;
  }
  EXPECT_LE(false_share, 0.05);
  EXPECT_GE(found_slow, kPairs * 5 * 9 / 10);
}

TEST(JudgeSimulated, IntervalsHoldTheTruth) {
  Workload workload(40);
  int holds = 0, intervals = 0;
  for (int i = 0; i < kPairs; i++) {
    const auto levels = workload.pair(5, 0.05, [](size_t) { return true; });
    for (const Series& s : levels[1].series) {
      const auto interval = typical_ratio(sorted(s.base), sorted(s.candidate)).interval;
      ASSERT_TRUE(interval);
      intervals++;
      holds += interval->low <= 1.05 && 1.05 <= interval->high;
    }
  }
  EXPECT_GE(holds, intervals * 93 / 100);
}

TEST(Verdict, NamesAreDistinct) {
  for (size_t i = 0; i < kVerdicts; i++) {
    for (size_t j = 0; j < i; j++) {
      EXPECT_NE(verdict_name(static_cast<Verdict>(i)), verdict_name(static_cast<Verdict>(j)));
    }
  }
}

}  // namespace
}  // namespace nl::stats

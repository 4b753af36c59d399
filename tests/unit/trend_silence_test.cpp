// A trend without a change says why.

#include "ops/runs/trend_silence.h"

#include <gtest/gtest.h>

namespace nl::ops {
namespace {

const stats::ChangePointOptions kOptions{.min_magnitude = 0.01, .separated = true};

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TrendSilence, OfAGroup) {
  EXPECT_TRUE(says(why_group_is_silent({5}, kOptions), "one run"));
  EXPECT_TRUE(says(why_group_is_silent({5, 6, 5}, kOptions), "3 runs are too few"));
  EXPECT_TRUE(says(why_group_is_silent(std::vector<double>(12, 5), kOptions), "the same value"));
  std::vector<double> small, noisy;
  for (int i = 0; i < 40; i++) {
    small.push_back((i < 20 ? 1000 : 1005) + i % 3);
    noisy.push_back(1000 + 100 * ((i * 7) % 5));
  }
  EXPECT_TRUE(says(why_group_is_silent(small, kOptions), "below the threshold of 1.0 %"))
      << why_group_is_silent(small, kOptions);
  EXPECT_TRUE(says(why_group_is_silent(noisy, kOptions), "would not show in 40 runs"))
      << why_group_is_silent(noisy, kOptions);
}

TEST(TrendSilence, OfTheWhole) {
  compare::Trend trend;
  EXPECT_EQ(why_trend_is_silent(trend), "no run matches the conditions");
  trend.matching = 3;
  trend.left_out = {{"the run marks no steps", 2}, {"other", 1}};
  EXPECT_EQ(why_trend_is_silent(trend), "no run has this figure: the run marks no steps");
  trend.group_by = {"model", "device"};
  for (int i = 0; i < 4; i++) trend.groups.emplace_back().points.resize(3);
  const auto why = why_trend_is_silent(trend);
  ASSERT_TRUE(why);
  EXPECT_TRUE(says(*why, "12 runs are in 4 groups by model,device, the largest with 3 runs")) << *why;
  trend.groups[0].points.resize(20);
  EXPECT_FALSE(why_trend_is_silent(trend));
}

}  // namespace
}  // namespace nl::ops

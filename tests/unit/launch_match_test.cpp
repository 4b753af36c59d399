#include "assemble/launch_match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace nl::assemble {
namespace {

LaunchShape launch(const std::string& name, int32_t blocks = 1) {
  return {name, {blocks, 1, 1}, {128, 1, 1}, {}};
}

std::vector<LaunchShape> launches(const std::string& letters) {
  std::vector<LaunchShape> all;
  for (const char c : letters) all.push_back(launch(std::string(1, c)));
  return all;
}

/// Places of the matches, "-" where there is none.
std::string places(const std::string& replayed, const std::string& traced) {
  std::string text;
  for (const auto& match : match_launches(launches(replayed), launches(traced))) {
    text += (text.empty() ? "" : " ") + (match ? std::to_string(match->traced) : "-");
  }
  return text;
}

TEST(LaunchMatch, FindsMissingExtraAndMoved) {
  EXPECT_EQ(places("abcd", "abcd"), "0 1 2 3");
  EXPECT_EQ(places("acd", "abcd"), "0 2 3");
  EXPECT_EQ(places("abxcd", "abcd"), "0 1 - 2 3");
  EXPECT_EQ(places("acbd", "abcd"), "0 2 1 3");
  EXPECT_EQ(places("", "abcd"), "");
  EXPECT_EQ(places("ab", ""), "- -");
}

TEST(LaunchMatch, KnowsASelectionOfKernels) {
  EXPECT_EQ(places("ggg", "xgyyxgzg"), "1 5 7");
}

TEST(LaunchMatch, DoesNotGuessAmongEqualNeighbours) {
  EXPECT_EQ(places("aaaa", "aa"), "- - - -");
  EXPECT_EQ(places("xaay", "xaaay"), "0 - - 4");
  EXPECT_EQ(places("xaaay", "xaaay"), "0 1 2 3 4");
}

TEST(LaunchMatch, NeverTakesALaunchTwice) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; round++) {
    std::string replayed, traced;
    for (int i = 0; i < 60; i++) replayed += static_cast<char>('a' + random() % 4);
    for (int i = 0; i < 60; i++) traced += static_cast<char>('a' + random() % 4);
    std::vector<uint32_t> taken;
    const auto all = launches(replayed);
    const auto matches = match_launches(all, launches(traced));
    for (size_t i = 0; i < matches.size(); i++) {
      if (!matches[i]) continue;
      EXPECT_EQ(traced[matches[i]->traced], replayed[i]);
      taken.push_back(matches[i]->traced);
    }
    std::sort(taken.begin(), taken.end());
    EXPECT_EQ(std::adjacent_find(taken.begin(), taken.end()), taken.end());
  }
}

TEST(LaunchMatch, OtherSizesAreOtherLaunches) {
  const auto matches = match_launches({launch("a", 2)}, {launch("a", 1), launch("a", 2)});
  ASSERT_TRUE(matches[0]);
  EXPECT_EQ(matches[0]->traced, 1U);
  EXPECT_FALSE(match_launches({launch("a", 2)}, {launch("a", 1)})[0]);
}

TEST(LaunchMatch, ComparesNumbersWhereOneSideHasNoMore) {
  LaunchShape numbers{"k", {64, -1, -1}, {256, -1, -1}, {}};
  LaunchShape sizes{"k", {8, 8, 1}, {32, 8, 1}, {}};
  LaunchShape others{"k", {8, 4, 1}, {32, 8, 1}, {}};
  EXPECT_EQ(match_launches({numbers}, {others, sizes})[0]->traced, 1U);
}

TEST(LaunchMatch, SpellsNamesAlike) {
  EXPECT_EQ(spelled_alike("void f<(int)128, (bool)1, (unsigned long)4>(int)"), "voidf<128,true,4>(int)");
  EXPECT_EQ(spelled_alike("void f<128, true, 4ul>(int)"), "voidf<128,true,4>(int)");
  EXPECT_EQ(spelled_alike("sm80_f32u_k2l"), "sm80_f32u_k2l");
  EXPECT_EQ(spelled_alike("f(g)"), "f(g)");
  EXPECT_EQ(spelled_alike("(bool)"), "(bool)");
  EXPECT_EQ(spelled_alike("x<(Kind)-1>"), "x<-1>");
}

TEST(LaunchMatch, FindsTheFunction) {
  EXPECT_EQ(function_of("void at::native::elementwise_kernel<128, f(int)>(int, g<2>)"), "elementwise_kernel");
  EXPECT_EQ(function_of("nvjet_tst_192x192"), "nvjet_tst_192x192");
  EXPECT_EQ(function_of(""), "");
  EXPECT_EQ(function_of(">)"), ">)");
}

TEST(LaunchMatch, FallsBackToTheFunctionAndSaysSo) {
  const auto matches =
      match_launches({launch("elementwise_kernel")}, {launch("void at::elementwise_kernel<4>(int)")});
  ASSERT_TRUE(matches[0]);
  EXPECT_TRUE(matches[0]->by_function);
}

TEST(LaunchMatch, UsesRangesWhereBothHaveThem) {
  auto replayed = launches("aa");
  auto traced = launches("aaaa");
  for (size_t i = 0; i < 4; i++) traced[i].ranges = i < 2 ? "prefill" : "decode";
  for (auto& one : replayed) one.ranges = "decode";
  const auto matches = match_launches(replayed, traced);
  EXPECT_EQ(matches[0]->traced, 2U);
  EXPECT_EQ(matches[1]->traced, 3U);
  EXPECT_TRUE(matches[0]->by_ranges);
}

struct Quality {
  int64_t right = 0, wrong = 0, missed = 0, possible = 0;
};

/// A pass over a trace in which launches are lost, swapped, moved and added; the truth is known.
Quality disturbed_pass(const std::vector<LaunchShape>& traced, double share, std::mt19937_64& random) {
  const auto chance = [&] { return std::uniform_real_distribution<>(0, 1)(random) < share; };
  std::vector<uint32_t> order;
  constexpr uint32_t kExtra = UINT32_MAX;
  for (uint32_t i = 0; i < traced.size(); i++) {
    if (chance()) continue;
    order.push_back(i);
    if (chance()) order.push_back(kExtra);
    if (order.size() > 1 && chance()) std::swap(order[order.size() - 1], order[order.size() - 2]);
  }
  std::vector<LaunchShape> replayed;
  for (const uint32_t i : order) {
    replayed.push_back(i == kExtra ? traced[random() % traced.size()] : traced[i]);
  }
  Quality quality;
  const auto matches = match_launches(replayed, traced);
  for (size_t i = 0; i < order.size(); i++) {
    if (order[i] != kExtra) quality.possible++;
    if (matches[i]) (matches[i]->traced == order[i] ? quality.right : quality.wrong)++;
    if (!matches[i] && order[i] != kExtra) quality.missed++;
  }
  return quality;
}

TEST(LaunchMatch, IsRightOnDisturbedPassesOverLayers) {
  std::mt19937_64 random(11);
  std::vector<LaunchShape> traced;
  for (int step = 0; step < 40; step++) {
    for (int layer = 0; layer < 12; layer++) {
      for (int k = 0; k < 9; k++) traced.push_back(launch("kernel" + std::to_string(k), 1 + k % 4));
    }
  }
  const Quality quality = disturbed_pass(traced, 0.01, random);
  EXPECT_GE(static_cast<double>(quality.right), 0.99 * static_cast<double>(quality.right + quality.wrong));
  EXPECT_GE(static_cast<double>(quality.right), 0.95 * static_cast<double>(quality.possible));
}

}  // namespace
}  // namespace nl::assemble

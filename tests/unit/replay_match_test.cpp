// Graph replays against donors, as made sequences: a model of equal layers between a beginning and an end.

#include "analyze/graphs/replay_match.h"

#include <gtest/gtest.h>

namespace nl::analyze {
namespace {

const std::vector<std::string_view> kNames = {"",          "embed",  "rms_norm",        "gemm_qkv_tile64",
                                              "attention", "gemm_o", "gemm_qkv_tile32", "lm_head",
                                              "conv",      "pool"};

LaunchKey key(uint32_t kernel) {
  static constexpr OpClass kClasses[] = {
      OpClass::k_other, OpClass::k_embedding, OpClass::k_norm, OpClass::k_gemm, OpClass::k_attention,
      OpClass::k_gemm,  OpClass::k_gemm,      OpClass::k_gemm, OpClass::k_conv, OpClass::k_pool};
  static constexpr uint32_t kFamilies[] = {0, 1, 1, 2, 3, 2, 2, 2, 4, 4};
  return {kernel, kFamilies[kernel], kClasses[kernel], 0};
}

std::vector<LaunchKey> model(int layers, uint32_t product = 3) {
  std::vector<LaunchKey> keys = {key(1)};
  for (int i = 0; i < layers; i++) {
    for (const uint32_t kernel : {2u, product, 4u, 5u}) keys.push_back(key(kernel));
  }
  keys.push_back(key(7));
  return keys;
}

ReplayMatch captured(const std::vector<LaunchKey>& replay, const std::vector<LaunchKey>& donor) {
  auto match = match_capture(replay, donor, kNames);
  EXPECT_TRUE(match);
  return *match;
}

void expect_nothing(const ReplayMatch& match) {
  EXPECT_TRUE(match.refused);
  EXPECT_EQ(match.matched(), 0);
  for (const KernelMatch& kernel : match.kernels) EXPECT_EQ(kernel.by, MatchedBy::kNothing);
}

TEST(ReplayMatch, EqualSequencesMatchKernelByKernel) {
  const auto keys = model(12);
  const ReplayMatch match = captured(keys, keys);
  EXPECT_FALSE(match.refused);
  EXPECT_EQ(match.by_name, static_cast<int64_t>(keys.size()));
  EXPECT_EQ(match.by_class, 0);
  for (size_t i = 0; i < keys.size(); i++) EXPECT_EQ(match.kernels[i].donor, i);
}

TEST(ReplayMatch, AnInsertedKernelStaysUnknownAndShiftsNothing) {
  const auto donor = model(12);
  auto replay = donor;
  replay.insert(replay.begin() + 3, key(9));
  const ReplayMatch match = captured(replay, donor);
  EXPECT_EQ(match.by_name, static_cast<int64_t>(donor.size()));
  EXPECT_EQ(match.kernels[3].by, MatchedBy::kNothing);
  EXPECT_EQ(match.kernels.back().donor, donor.size() - 1);
}

TEST(ReplayMatch, AMissingKernelShiftsNothing) {
  const auto donor = model(12);
  auto replay = donor;
  replay.erase(replay.begin() + 4);  // the last of the first layer
  const ReplayMatch match = captured(replay, donor);
  EXPECT_EQ(match.by_name, static_cast<int64_t>(replay.size()));
  for (size_t i = 0; i < replay.size(); i++)
    EXPECT_EQ(donor[match.kernels[i].donor].kernel, replay[i].kernel);
  EXPECT_EQ(match.kernels.front().donor, 0u);
  EXPECT_EQ(match.kernels.back().donor, donor.size() - 1);
}

TEST(ReplayMatch, OtherTilesOfAnotherBatchMatchByClassOnly) {
  const ReplayMatch match = captured(model(12, 3), model(12, 6));
  EXPECT_FALSE(match.refused);
  EXPECT_EQ(match.by_name, 2 + 12 * 3);
  EXPECT_EQ(match.by_class, 12);
}

TEST(ReplayMatch, AKernelOfAnotherLibraryStaysUnknown) {
  auto donor = model(12);
  for (LaunchKey& launch : donor) {
    if (launch.kernel == 4) launch = {9, 4, OpClass::k_attention, 0};  // other attention
  }
  const ReplayMatch match = captured(model(12), donor);
  EXPECT_EQ(match.matched(), 0);  // 76 % is not enough
  EXPECT_TRUE(match.refused);
  auto one = model(12);
  one[3] = {9, 4, OpClass::k_attention, 0};
  const ReplayMatch most = captured(model(12), one);
  EXPECT_EQ(most.by_name, 49);
  EXPECT_EQ(most.by_class, 0);
  EXPECT_EQ(most.kernels[3].by, MatchedBy::kNothing);
}

TEST(ReplayMatch, OtherModelsAreRefused) {
  std::vector<LaunchKey> other;
  for (int i = 0; i < 25; i++) other.insert(other.end(), {key(8), key(9)});
  expect_nothing(captured(model(12), other));
  expect_nothing(captured(model(12), model(24)));  // half of it would fit
  expect_nothing(captured(model(24), model(12)));
  expect_nothing(captured(model(3), {}));
}

TEST(ReplayMatch, AnotherOrderIsRefused) {
  auto donor = model(12);
  std::vector<LaunchKey> replay;
  for (size_t first = 0; first < 4; first++) {  // all norms, all products, ...
    for (size_t i = 1 + first; i + 1 < donor.size(); i += 4) replay.push_back(donor[i]);
  }
  expect_nothing(captured(replay, donor));
}

TEST(ReplayMatch, WithoutNamesThePlaceAndTheClassTell) {
  const auto replay = model(12);
  auto donor = replay;
  for (LaunchKey& launch : donor) launch.kernel = 0;
  const ReplayMatch match = captured(replay, donor);
  EXPECT_EQ(match.by_class, static_cast<int64_t>(replay.size()));
  EXPECT_EQ(match.by_name, 0);
  donor.pop_back();
  expect_nothing(captured(replay, donor));
  donor.push_back(key(1));
  donor.back().kernel = 0;
  const ReplayMatch most = captured(replay, donor);  // the last one does something else
  EXPECT_EQ(most.by_class, static_cast<int64_t>(replay.size()) - 1);
  EXPECT_EQ(most.kernels.back().by, MatchedBy::kNothing);
}

TEST(ReplayMatch, OfAnEagerRunTheStretchThatFitsIsTaken) {
  const auto step = model(12);
  std::vector<LaunchKey> donor;
  for (int i = 0; i < 40; i++) donor.push_back(key(8));  // something before
  for (int i = 0; i < 3; i++) donor.insert(donor.end(), step.begin(), step.end());
  const auto match = match_eager(step, donor, kNames);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->by_name, static_cast<int64_t>(step.size()));
  for (size_t i = 0; i < step.size(); i++) EXPECT_EQ(match->kernels[i].donor, 40 + i);
  const auto none = match_eager(step, std::span(donor).first(45), kNames);
  ASSERT_TRUE(none);
  expect_nothing(*none);
}

TEST(ReplayMatch, LaunchesOfOtherSizesAreCounted) {
  auto replay = model(4), donor = model(4);
  for (LaunchKey& kernel : replay) kernel.geometry = 1;
  for (LaunchKey& launch : donor) launch.geometry = 1;
  donor[2].geometry = 2;
  const ReplayMatch match = captured(replay, donor);
  EXPECT_EQ(match.by_name, static_cast<int64_t>(replay.size()));
  EXPECT_EQ(match.other_geometry, 1);
  EXPECT_EQ(match.same_geometry, match.by_name - 1);
}

TEST(ReplayMatch, CommonKernelsAreCountedInAnyOrder) {
  EXPECT_EQ(common_kernels(model(2), model(3)), 2 + 2 * 4);
  EXPECT_EQ(common_kernels(model(2), {}), 0);
}

}  // namespace
}  // namespace nl::analyze

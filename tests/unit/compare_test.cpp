#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "compare/apportion.h"
#include "compare/owned_time.h"
#include "compare/part.h"

namespace nl::compare {
namespace {

#ifdef __OPTIMIZE__
constexpr int kRuns = 20'000;
#else
constexpr int kRuns = 1'000;
#endif

TEST(Apportion, RoundsToTheNearestHalvesUp) {
  EXPECT_EQ(per_unit(7, 2), 4);
  EXPECT_EQ(per_unit(-7, 2), -3);
  EXPECT_EQ(per_unit(10, 4), 3);
  EXPECT_EQ(per_unit(9, 4), 2);
  EXPECT_EQ(per_unit(INT64_MAX, 1), INT64_MAX);
}

TEST(Apportion, GivesTheLargestRemaindersFirst) {
  EXPECT_EQ(apportion({1, 1, 1}, 3, 1), (std::vector<int64_t>{1, 0, 0}));
  EXPECT_EQ(apportion({5, 4, 0}, 3, 3), (std::vector<int64_t>{2, 1, 0}));
  EXPECT_EQ(apportion({-5, 8}, 3, 1), (std::vector<int64_t>{-2, 3}));
}

TEST(Apportion, AddsUpAndStaysWithinOne) {
  std::mt19937 random(1);
  for (int run = 0; run < kRuns; run++) {
    const int64_t units = 1 + static_cast<int64_t>(random() % 50);
    std::vector<int64_t> amounts(1 + random() % 12);
    for (auto& amount : amounts) amount = static_cast<int64_t>(random() % 2000) - 200;
    const int64_t sum = std::accumulate(amounts.begin(), amounts.end(), int64_t{0});
    const auto shares = apportion(amounts, units, per_unit(sum, units));
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), int64_t{0}), per_unit(sum, units));
    for (size_t i = 0; i < shares.size(); i++)
      EXPECT_LT(std::abs(shares[i] * units - amounts[i]), units) << amounts[i] << " / " << units;
  }
}

analyze::Device random_device(std::mt19937& random) {
  analyze::Device device;
  device.work.resize(random() % 12);
  for (uint32_t i = 0; i < device.work.size(); i++) {
    analyze::Work& work = device.work[i];
    work.start = static_cast<int64_t>(random() % 60);
    work.end = work.start + static_cast<int64_t>(random() % 20);
    work.kind = static_cast<analyze::WorkKind>(random() % 3);
    work.row = i;
  }
  std::sort(device.work.begin(), device.work.end(), [](const auto& a, const auto& b) {
    return std::tie(a.start, a.end, a.row) < std::tie(b.start, b.end, b.row);
  });
  return device;
}

/// Of a moment: by kind, then by order; -1 if nothing runs.
int owner_at(const analyze::Device& device, int64_t time) {
  int best = -1;
  for (size_t i = 0; i < device.work.size(); i++) {
    const auto& work = device.work[i];
    if (work.start > time || work.end <= time) continue;
    if (best < 0 || work.kind < device.work[static_cast<size_t>(best)].kind) best = static_cast<int>(i);
  }
  return best;
}

TEST(OwnedTime, GivesEveryMomentToOnePieceOfWork) {
  std::mt19937 random(2);
  for (int run = 0; run < kRuns; run++) {
    const auto device = random_device(random);
    std::vector<int> owners(100, -1);
    int64_t last = INT64_MIN;
    for_owned_time(device, [&](size_t work, analyze::Interval time) {
      EXPECT_GE(time.begin, last);
      last = time.end;
      for (int64_t t = time.begin; t < time.end; t++) owners[static_cast<size_t>(t)] = static_cast<int>(work);
    });
    for (int64_t t = 0; t < 100; t++) ASSERT_EQ(owners[static_cast<size_t>(t)], owner_at(device, t));
  }
}

TEST(Part, HasOneNameForEachKindOfTime) {
  std::set<std::pair<std::string, std::string>> seen;
  for (size_t i = 0; i < Part::kCount; i++) {
    const Part part = Part::number(i);
    EXPECT_TRUE(seen.emplace(part_kind_name(part.kind()), part.name()).second) << i;
    EXPECT_FALSE(part.words().empty());
  }
  EXPECT_EQ(Part::idle(analyze::IdleCause::kHostData).name(), "host_data");
  EXPECT_EQ(Part::compute(analyze::OpClass::k_gemm).kind(), PartKind::kCompute);
  EXPECT_FALSE(Part::rest().is_work());
}

}  // namespace
}  // namespace nl::compare

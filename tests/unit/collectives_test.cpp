#include "analyze/time/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace nl::analyze {
namespace {

using namespace nl::assemble;

/// A rank's clock as only the simulation knows it.
struct SimulatedClock {
  int64_t offset_ns = 0;
  double skew = 0;
  int64_t read(int64_t time) const {
    return time + offset_ns + std::llround(skew * static_cast<double>(time));
  }
};

/// Ranks that compute and meet, step by step; one computes slower by a share.
class SimulatedRanks {
 public:
  SimulatedRanks(int32_t ranks, int32_t straggler, double slower, uint64_t seed) : random_(seed) {
    for (int32_t r = 0; r < ranks; r++) {
      const double slowness = r == straggler ? 1 + slower : 1;
      speeds_.push_back(slowness);
      clocks.push_back(r == 0 ? SimulatedClock{}
                              : SimulatedClock{pick(-900'000'000, 900'000'000),
                                               static_cast<double>(pick(-90, 90)) * 1e-6});
    }
  }

  std::vector<CollectiveCall> run(int steps, bool numbered = true) {
    std::vector<std::vector<CollectiveCall>> by_rank(speeds_.size());
    int64_t now = 1'000'000'000;
    for (int step = 0; step < steps; step++) {
      std::vector<int64_t> starts;
      for (const double speed : speeds_)
        starts.push_back(now +
                         std::llround(speed * 1e6 * (1 + 0.01 * static_cast<double>(pick(-100, 100)) / 100)));
      now = *std::max_element(starts.begin(), starts.end()) + 200'000;
      for (size_t r = 0; r < speeds_.size(); r++) {
        CollectiveCall call;
        call.rank = call.clock = static_cast<int32_t>(r);
        call.kind = CollectiveKind::kAllReduce;
        call.group = "0";
        call.group_size = static_cast<int64_t>(speeds_.size());
        call.bytes = 1'000'000 + step % 5 * 1000;
        if (numbered) call.sequence = step;
        call.start_ns = clocks[r].read(starts[r]);
        call.end_ns = clocks[r].read(now + pick(0, 2'000));
        by_rank[r].push_back(call);
      }
    }
    std::vector<CollectiveCall> calls;
    for (auto& rank : by_rank) calls.insert(calls.end(), rank.begin(), rank.end());
    return calls;
  }

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  std::vector<SimulatedClock> clocks;

 private:
  std::mt19937_64 random_;
  std::vector<double> speeds_;
};

TEST(Collectives, FindAStragglerWithoutClocks) {
  for (const int32_t straggler : {0, 3, 7}) {
    SimulatedRanks ranks(8, straggler, 0.05, static_cast<uint64_t>(straggler));
    const auto calls = ranks.run(400);
    const auto block = collectives_of(calls, {}, 400 * 1'250'000);
    EXPECT_EQ(block.matched, 400);
    EXPECT_EQ(block.unmatched_calls, 0);
    EXPECT_EQ(block.straggler->rank, straggler);
    EXPECT_EQ(block.straggler->most_often_last, straggler);
    EXPECT_GT(block.straggler->last_share, 0.99);
    // The others wait about 5 % of a millisecond in each step of 1.25 ms.
    EXPECT_NEAR(block.straggler->window_share.value(), 0.04, 0.01);
    EXPECT_EQ(block.clocks->compared, 0) << "the clocks are not known";
    EXPECT_FALSE(block.absent);
  }
}

TEST(Collectives, NobodyIsBlamedWhereAllAreEqual) {
  SimulatedRanks ranks(8, -1, 0, 5);
  const auto block = collectives_of(ranks.run(400), {}, 400 * 1'250'000);
  EXPECT_LT(block.straggler->last_share, 0.3);
  EXPECT_LT(block.straggler->window_share.value(), 0.005);
}

/// The true time of a reading lies inside the bound of the fit.
void expect_inside(const SimulatedRanks& ranks, const std::vector<RankFit>& fits, int64_t until) {
  for (const RankFit& fit : fits) {
    ASSERT_TRUE(fit.fit.consistent) << "clock " << fit.clock;
    for (int64_t time = 1'000'000'000; time < until; time += (until - 1'000'000'000) / 100) {
      const int64_t reading = ranks.clocks[static_cast<size_t>(fit.clock)].read(time);
      const auto bound = fit.fit.bound_at(reading);
      ASSERT_TRUE(bound);
      EXPECT_LE(std::llabs(fit.fit.map(reading) - time), *bound) << "clock " << fit.clock;
    }
  }
}

std::vector<RankClock> clocks_of(size_t ranks) {
  std::vector<RankClock> clocks;
  for (size_t r = 0; r < ranks; r++)
    clocks.push_back({static_cast<int32_t>(r), static_cast<int32_t>(r), true, 0});
  return clocks;
}

TEST(Collectives, GiveTheClocksOfRanks) {
  SimulatedRanks ranks(8, 5, 0.05, 11);
  const auto calls = ranks.run(300);
  const auto fits = fit_ranks(clocks_of(8), calls);
  ASSERT_EQ(fits.size(), 7u);
  expect_inside(ranks, fits, 1'300'000'000);
  for (const RankFit& fit : fits) {
    EXPECT_EQ(fit.method, "collectives");
    EXPECT_LE(*fit.fit.bound_ns(), 300'000) << "not more than a transfer and some";
    EXPECT_EQ(fit.fit.violations_after, 0);
  }
}

TEST(Collectives, WaitsWithClocksAgreeWithinTheBound) {
  SimulatedRanks ranks(4, 2, 0.05, 3);
  const auto calls = ranks.run(300);
  LoadedFits fits;
  for (const RankFit& fit : fit_ranks(clocks_of(4), calls)) fits.clocks[fit.clock] = fit.fit.segments;
  const auto block = collectives_of(calls, fits, 300 * 1'250'000);
  EXPECT_EQ(block.clocks->compared, 300);
  EXPECT_EQ(block.clocks->agree, true) << block.clocks->agreeing << " of " << block.clocks->compared;
}

/// Ranks 0 and 1 share a group, 1 and 2 another one.
TEST(Collectives, ReachRanksOverOthers) {
  SimulatedRanks ranks(3, -1, 0, 21);
  auto calls = ranks.run(600);
  std::erase_if(calls, [](const CollectiveCall& c) { return c.rank == (*c.sequence % 2 == 0 ? 2 : 0); });
  for (CollectiveCall& call : calls) call.group = *call.sequence % 2 == 0 ? "[0, 1]" : "[1, 2]";
  const auto fits = fit_ranks(clocks_of(3), calls);
  ASSERT_EQ(fits.size(), 2u);
  expect_inside(ranks, fits, 1'600'000'000);
  EXPECT_GT(*fits[1].fit.bound_ns(), *fits[0].fit.bound_ns()) << "doubts add up";
}

TEST(Collectives, ClocksWithoutEvidenceAreUnixTimeOrNothing) {
  auto clocks = clocks_of(2);
  clocks[0].base_ns = 5'000;
  clocks[1].base_ns = 7'000;
  auto fits = fit_ranks(clocks, {});
  ASSERT_EQ(fits.size(), 1u);
  EXPECT_EQ(fits[0].method, "realtime_rendezvous");
  EXPECT_EQ(fits[0].fit.segments.at(0).offset_ns, 0) << "the bases say it all";
  EXPECT_FALSE(fits[0].fit.segments.at(0).bound_ns) << "nothing proves it";
  clocks[1].is_unix = false;
  fits = fit_ranks(clocks, {});
  EXPECT_EQ(fits[0].method, "none");
  EXPECT_TRUE(fits[0].fit.segments.empty());
}

/// Two sources read one clock, and its Unix time a moment apart.
TEST(Collectives, OneClockUnderTwoNumbersIsKnownExactly) {
  auto clocks = clocks_of(3);
  clocks[0].base_ns = 5'000;
  clocks[1].base_ns = 7'000;
  clocks[2].base_ns = 5'040;
  for (RankClock& clock : clocks) clock.identity = clock.clock == 1 ? "" : "monotonic:a";
  const auto fits = fit_ranks(clocks, {});
  ASSERT_EQ(fits.size(), 2u);
  EXPECT_EQ(fits[0].method, "realtime_rendezvous") << "two clocks of no name are not the same";
  EXPECT_EQ(fits[1].method, "same_clock");
  EXPECT_EQ(fits[1].fit.segments.at(0).offset_ns, -40) << "equal times of it are equal times of the run";
  EXPECT_EQ(fits[1].fit.bound_ns(), 0);
}

/// A capture that begins three collectives later, without sequence numbers.
TEST(Collectives, AreMatchedByTheirOrderAndSize) {
  SimulatedRanks ranks(2, -1, 0, 8);
  auto calls = ranks.run(100, false);
  const auto first_of_1 = std::find_if(calls.begin(), calls.end(), [](const auto& c) { return c.rank == 1; });
  calls.erase(first_of_1, first_of_1 + 3);
  const auto matched = match_collectives(calls);
  EXPECT_EQ(matched.instances.size(), 97u);
  EXPECT_EQ(matched.unmatched_calls, 3);
  EXPECT_EQ(matched.different_sizes, 0);
  for (const auto& instance : matched.instances) {
    ASSERT_EQ(instance.calls.size(), 2u);
    EXPECT_EQ(calls[instance.calls[0]].bytes, calls[instance.calls[1]].bytes);
  }
}

TEST(Collectives, OfDifferentSizesAreNotMatched) {
  SimulatedRanks ranks(2, -1, 0, 8);
  auto calls = ranks.run(10);
  calls[3].bytes = 7;
  const auto matched = match_collectives(calls);
  EXPECT_EQ(matched.instances.size(), 9u);
  EXPECT_EQ(matched.different_sizes, 2);
}

TEST(Collectives, OfOneRankHaveTotalsAndAReason) {
  SimulatedRanks ranks(1, -1, 0, 8);
  const auto block = collectives_of(ranks.run(10), {}, 1'000'000);
  EXPECT_TRUE(block.absent);
  EXPECT_FALSE(block.straggler);
  EXPECT_FALSE(block.matched);
  EXPECT_EQ(block.kinds[0].calls, 10);
  EXPECT_FALSE(block.kinds[0].busbw_bytes_per_s) << "what is waiting and what is transfer is not known";
}

TEST(Collectives, RatesFollowTheFactorsOfTheirKind) {
  EXPECT_DOUBLE_EQ(*bus_factor(CollectiveKind::kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(*bus_factor(CollectiveKind::kAllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(*bus_factor(CollectiveKind::kReduceScatter, 2), 0.5);
  EXPECT_DOUBLE_EQ(*bus_factor(CollectiveKind::kAllToAll, 8), 0.875);
  for (const auto kind : {CollectiveKind::kBroadcast, CollectiveKind::kAllToAllV, CollectiveKind::kBarrier})
    EXPECT_FALSE(bus_factor(kind, 4));
  EXPECT_FALSE(bus_factor(CollectiveKind::kAllReduce, 1));
  std::vector<CollectiveCall> calls(2);
  for (int32_t r : {0, 1}) {
    calls[static_cast<size_t>(r)] = {
        r, r, CollectiveKind::kAllReduce, "0", 2, 1, 1'000'000, 0, 1'000 + r * 500};
  }
  const auto kind = collectives_of(calls, {}, 2'000).kinds[0];
  EXPECT_DOUBLE_EQ(kind.algbw_bytes_per_s.value(), 1e12) << "a megabyte in the quickest call: a microsecond";
  EXPECT_DOUBLE_EQ(kind.busbw_bytes_per_s.value(), 1e12) << "two ranks: factor 1";
  EXPECT_EQ(kind.waits[1].wait_ns, 500);
}

TEST(Collectives, KindsAreToldByName) {
  const struct {
    const char* name;
    CollectiveKind kind;
  } names[] = {
      {"allreduce", CollectiveKind::kAllReduce},
      {"_allgather_base", CollectiveKind::kAllGather},
      {"_reduce_scatter_base", CollectiveKind::kReduceScatter},
      {"all_to_allv", CollectiveKind::kAllToAllV},
      {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", CollectiveKind::kAllGather},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)", CollectiveKind::kAllReduce},
      {"ncclKernel_Broadcast_RING_LL_Sum_int8_t", CollectiveKind::kBroadcast},
      {"ncclDevKernel_SendRecv", CollectiveKind::kSendRecv},
      {"ncclDevKernel_Generic", CollectiveKind::kOther}};
  for (const auto& [name, kind] : names) EXPECT_EQ(collective_kind(name), kind) << name;
}

TEST(Collectives, PointToPointIsApart) {
  std::vector<CollectiveCall> calls(2);
  calls[0] = {0, 0, CollectiveKind::kSend, "0", {}, {}, 8, 0, 100};
  calls[1] = {1, 1, CollectiveKind::kRecv, "0", {}, {}, 8, 0, 300};
  const auto block = collectives_of(calls, {}, 1'000);
  EXPECT_TRUE(block.kinds.empty());
  EXPECT_EQ(block.matched, 0);
  ASSERT_EQ(block.point_to_point.size(), 2u);
  EXPECT_EQ(block.point_to_point[1].total_ns, 300);
}

}  // namespace
}  // namespace nl::analyze

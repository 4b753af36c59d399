#include "assemble/span_tree.h"

#include <gtest/gtest.h>

#include <random>

namespace nl::assemble {
namespace {

using model::kNull;

/// The innermost span that contains another one and how many are open then, by looking at all pairs.
std::pair<int64_t, int32_t> place_by_search(const std::vector<SpanRecord>& spans, const SpanRecord& span) {
  const auto outer = [](const SpanRecord& a, const SpanRecord& b) {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (a.dur_ns != b.dur_ns) return a.dur_ns > b.dur_ns;
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.span_id < b.span_id;
  };
  const SpanRecord* best = nullptr;
  int32_t open = 0;
  for (const auto& other : spans) {
    if (other.span_id == span.span_id || other.track_id != span.track_id || !outer(other, span)) continue;
    if (other.start_ns + other.dur_ns <= span.start_ns) continue;
    open++;
    if (best == nullptr || outer(*best, other)) best = &other;
  }
  return {best == nullptr ? kNull : best->span_id, open};
}

TEST(SpanForest, FindsParentDepthAndOp) {
  SpanForest forest;
  forest.add(0, 100, 0, SpanRank::kOuter);
  forest.add(10, 50, 0, SpanRank::kOp);
  forest.add(20, 10, 0, SpanRank::kRuntime);
  forest.add(20, 10, 1, SpanRank::kRuntime);
  forest.add(70, 60, 0, SpanRank::kOuter);
  forest.build();
  EXPECT_EQ(forest.place(0).parent_id, kNull);
  EXPECT_EQ(forest.place(1).op_id, 1);
  EXPECT_EQ(forest.place(2).parent_id, 1);
  EXPECT_EQ(forest.place(2).op_id, 1);
  EXPECT_EQ(forest.place(2).depth, 2);
  EXPECT_EQ(forest.place(3).parent_id, kNull) << "another track";
  EXPECT_TRUE(forest.place(4).crosses_parent);
  EXPECT_FALSE(forest.place(2).crosses_parent);
}

TEST(SpanForest, KeepsDurationsOfHours) {
  SpanForest forest;
  forest.add(0, 3'600'000'000'000, 0, SpanRank::kOuter);
  forest.add(3'000'000'000'000, 5'000'000'000, 0, SpanRank::kOuter);
  forest.add(3'004'900'000'000, 1, 0, SpanRank::kOuter);
  forest.build();
  EXPECT_EQ(forest.place(1).parent_id, 0);
  EXPECT_EQ(forest.place(2).parent_id, 1);
}

TEST(SpanForest, EqualsASearchOverRandomNestings) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; round++) {
    std::vector<SpanRecord> spans;
    SpanForest forest;
    const int count = 1 + static_cast<int>(random() % 40);
    for (int i = 0; i < count; i++) {
      const SpanRecord span{static_cast<int64_t>(random() % 60), static_cast<int64_t>(random() % 30), i,
                            static_cast<int32_t>(random() % 3) - 1, static_cast<SpanRank>(random() % 3)};
      spans.push_back(span);
      forest.add(span.start_ns, span.dur_ns, span.track_id, span.rank);
    }
    forest.build();
    for (const auto& span : spans) {
      const SpanPlace place = forest.place(static_cast<size_t>(span.span_id));
      EXPECT_EQ(std::pair(place.parent_id, place.depth), place_by_search(spans, span))
          << "round " << round << " span " << span.span_id;
    }
  }
}

constexpr int64_t kMany = 1'000'000;  // a stack that is looked through for each of them does not end

TEST(SpanStack, HoldsAMillionSpansThatCross) {
  SpanStack stack;
  constexpr int64_t kDuration = kMany / 2;
  for (int64_t i = 0; i < kMany; i++) {
    const SpanPlace place = stack.add({i, kDuration, i, 0, SpanRank::kOuter});
    ASSERT_EQ(place.parent_id, i == 0 ? kNull : i - 1);
    ASSERT_EQ(place.depth, std::min(i, kDuration - 1));
    ASSERT_EQ(place.crosses_parent, i > 0);
  }
}

TEST(SpanStack, CountsWhatIsOpenBelowASpanThatCrosses) {
  SpanStack stack;
  constexpr int64_t kDepth = kMany / 2;
  for (int64_t i = 0; i < kDepth; i++)
    ASSERT_EQ(stack.add({i, 10 * kMany - 2 * i, i, 0, SpanRank::kOuter}).depth, i);
  const SpanPlace crossing = stack.add({kDepth, 20 * kMany, kDepth, 0, SpanRank::kOuter});
  ASSERT_TRUE(crossing.crosses_parent);
  for (int64_t i = 1; i < kDepth; i++) {
    const SpanPlace place = stack.add({kDepth + 2 * i, 1, kDepth + i, 0, SpanRank::kOuter});
    ASSERT_EQ(place.parent_id, kDepth);
    ASSERT_EQ(place.depth, kDepth + 1);
  }
}

}  // namespace
}  // namespace nl::assemble

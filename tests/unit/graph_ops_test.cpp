// Tables of a run whose graph kernels have ops that another run lent.

#include <gtest/gtest.h>

#include "analyze/graphs/graph_donor.h"
#include "analyze/time/attribution.h"
#include "small_run.h"

namespace nl::analyze {
namespace {

using model::SpanKind;

/// A graph of three kernels and one kernel outside of it; the first two of the graph have lent ops.
class LentRun : public testing::Test {
 protected:
  LentRun() {
    const uint32_t graph = small_.span(SpanKind::runtime, "cudaGraphLaunch", {0, 5});
    small_.kernel("a", {10, 20}, graph);
    small_.kernel("b", {20, 50}, graph);
    small_.kernel("c", {50, 57}, graph);
    small_.launched(6, {60, 61});
  }

  LentOps lent() const { return {op_of_kernel_, modules_}; }

  SmallRun small_;
  std::vector<uint32_t> op_of_kernel_ = {0, 1, kNoRow, kNoRow};
  std::vector<std::string> modules_ = {"Net / Linear", ""};
};

TEST_F(LentRun, WhatIsLentLeavesTheRowOfTheGraphLaunch) {
  const auto rows = op_rows(small_.run, small_.device(), {small_.run.capture}, lent());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].owner, Owner::kGraphLaunch);
  EXPECT_EQ(rows[0].device_ns, 7);
  EXPECT_EQ(rows[0].works, 1);
  EXPECT_EQ(rows[1].owner, Owner::kCall);
  EXPECT_EQ(rows[1].device_ns, 1);
}

TEST_F(LentRun, ModulesAreThoseOfTheDonorAndStillAddUp) {
  const auto rows = module_rows(small_.run, small_.device(), {small_.run.capture}, lent());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].path, "");
  EXPECT_EQ(rows[0].device_ns, 30 + 7 + 1);
  EXPECT_EQ(rows[1].path, "Net / Linear");
  EXPECT_EQ(rows[1].device_ns, 10);
  EXPECT_TRUE(module_rows(small_.run, small_.device(), {small_.run.capture}).empty());
}

TEST(GraphDonor, TheRangeAroundARecordingTellsItsBatch) {
  EXPECT_EQ(captured_batch("capture_32_DECODE"), 32);
  EXPECT_EQ(captured_batch("capture_8_FULL"), 8);
  for (const char* other : {"capture_", "capture_x_FULL", "capture_0_FULL", "execute_32_context_0", ""})
    EXPECT_FALSE(captured_batch(other)) << other;
}

TEST(GraphDonor, EqualSizesAreOneNumber) {
  EXPECT_EQ(geometry_of({1, 2, 3, 4, 5, 6}), geometry_of({1, 2, 3, 4, 5, 6}));
  EXPECT_NE(geometry_of({1, 2, 3, 4, 5, 6}), geometry_of({2, 1, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace nl::analyze

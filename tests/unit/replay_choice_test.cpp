#include "ops/capture/replay_choice.h"

#include <gtest/gtest.h>

namespace nl::ops {
namespace {

using Words = std::vector<std::string>;

class ReplayChoiceTest : public testing::Test {
 protected:
  ReplayChoiceTest() : taxonomy_(analyze::Taxonomy::built_in().value()), launches_(taxonomy_) {}

  void launch(const Words& names, int64_t dur_ns = 10) {
    for (const std::string& name : names) launches_.add(name, "", dur_ns);
  }
  static Words functions(const std::vector<LaunchOrder::Kernel>& kernels) {
    Words names;
    for (const auto& kernel : kernels) names.push_back(kernel.function);
    return names;
  }

  const analyze::Taxonomy taxonomy_;
  LaunchOrder launches_;
};

TEST_F(ReplayChoiceTest, TheLongestKernelsByTheirFunctions) {
  launches_.add("void at::native::copy_kernel<float, 4>(int)", "", 5);
  launches_.add("void at::native::copy_kernel<double, 4>(int)", "", 6);
  launches_.add("void cutlass::Kernel<T>(T::Params)", "Kernel", 10);
  launches_.add("small", "", 1);
  const ReplayChoice choice = choose_replays(launches_, 2, 100);
  EXPECT_EQ(functions(choice.replayed), (Words{"copy_kernel", "Kernel"}));
  EXPECT_EQ(choice.replayed[0].launches, 2);
  EXPECT_EQ(choice.replayed[0].dur_ns, 11);
  EXPECT_EQ(choice.skip, 0);
  EXPECT_EQ(choice.count, 3);
}

TEST_F(ReplayChoiceTest, CollectivesAreNeverReplayed) {
  launch({"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"}, 1000);
  launch({"gemm", "ncclKernel_SendRecv(ncclWorkElem)", "gemm"});
  const ReplayChoice choice = choose_replays(launches_, 5, 10);
  EXPECT_EQ(functions(choice.replayed), Words{"gemm"});
  EXPECT_EQ(choice.left_out.size(), 2u);
  EXPECT_EQ(choice.left_out[0].dur_ns, 1000);
  EXPECT_EQ(choice.count, 2);
}

TEST_F(ReplayChoiceTest, LaunchesAreFromTheMiddleOfTheRun) {
  for (int step = 0; step < 10; step++) launch({"a", "b", "other"});
  for (int i = 0; i < 100; i++) launch({"a"}, 1000);
  const ReplayChoice both = choose_replays(launches_, 2, 4);
  EXPECT_EQ(both.skip, 19) << "no row behind the middle has both: the last one before it";
  EXPECT_EQ(both.count, 4);
  EXPECT_TRUE(both.outside.empty());
  const ReplayChoice one = choose_replays(launches_, 1, 4);
  EXPECT_EQ(one.skip, 55);
}

TEST_F(ReplayChoiceTest, KernelsWithoutALaunchAmongThemAreNamed) {
  launch({"setup"}, 500);
  launch(Words(50, "step"));
  const ReplayChoice choice = choose_replays(launches_, 2, 1);
  EXPECT_EQ(choice.outside, Words{"setup"});
  EXPECT_EQ(choice.count, 1);
}

TEST_F(ReplayChoiceTest, NoKernelsNoLaunches) {
  const ReplayChoice choice = choose_replays(launches_, 5, 20);
  EXPECT_TRUE(choice.replayed.empty() && choice.left_out.empty());
  EXPECT_EQ(choice.count, 0);
}

}  // namespace
}  // namespace nl::ops

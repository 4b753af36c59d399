// Statements on kernels are conditions on measured figures; without the figures nothing is said.

#include "analyze/roofline/kernel_diagnosis.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/roofline/evidence_sums.h"

namespace nl::analyze {
namespace {

/// A kernel of 1 ms that fills 100 SMs and is limited by latency, with nothing else to say of it.
CountedKernel plain_kernel(const std::string& name = "my_kernel(int)") {
  CountedKernel kernel{.kernel = name, .label = name, .launches = 1, .measured = 1};
  kernel.replay_ns = 1'000'000;
  kernel.share = 1;
  kernel.sm_pct = 30;
  kernel.memory_pct = 40;
  kernel.dram_pct = 10;
  kernel.bound = "latency";
  kernel.evidence.multiprocessors = 100;
  kernel.evidence.blocks = 1000;
  kernel.evidence.block_threads = 256;
  kernel.evidence.waves = 2.5;
  kernel.evidence.compute_capability = "8.0";
  return kernel;
}

std::vector<KernelDiagnosis> diagnosed(const std::vector<CountedKernel>& kernels,
                                       const std::map<std::string, std::string>& rules = {},
                                       const std::optional<FusedRanges>& fused = {}) {
  return diagnose_kernels(kernels, {*Taxonomy::shared().value(), rules, fused});
}

std::vector<std::string> ids(const std::vector<KernelDiagnosis>& diagnosis) {
  std::vector<std::string> out;
  for (const KernelDiagnosis& one : diagnosis) out.push_back(one.id);
  return out;
}

using Ids = std::vector<std::string>;

const KernelDiagnosis& statement(const std::vector<KernelDiagnosis>& diagnosis, const std::string& id) {
  static const KernelDiagnosis none;
  const auto it =
      std::find_if(diagnosis.begin(), diagnosis.end(), [&](const auto& one) { return one.id == id; });
  return it == diagnosis.end() ? none : *it;
}

TEST(KernelDiagnosis, SaysNothingWithoutFigures) {
  EXPECT_TRUE(diagnosed({}).empty());
  CountedKernel kernel{.kernel = "k", .label = "k", .launches = 1, .measured = 1};
  kernel.replay_ns = 1'000'000;
  kernel.share = 1;
  EXPECT_EQ(ids(diagnosed({kernel})), Ids({"time"}));
}

TEST(KernelDiagnosis, LatencyCostsAtMostTheDistanceFromTheBusiestUnit) {
  const auto diagnosis = diagnosed({plain_kernel()});
  EXPECT_EQ(ids(diagnosis), Ids({"time", "latency"}));
  EXPECT_EQ(diagnosis[1].cost_ns, 600'000);
}

TEST(KernelDiagnosis, AGridThatIsTooSmallCostsTheEmptySms) {
  CountedKernel kernel = plain_kernel();
  kernel.evidence.blocks = 90;
  kernel.evidence.small_grid_ns = 1'000'000;
  kernel.evidence.empty_sm_ns = 100'000;
  EXPECT_EQ(statement(diagnosed({kernel}), "few_sms").cost_ns, 100'000);
  kernel.evidence.small_grid_ns = 400'000;  // most of the time is in launches that fill the device
  EXPECT_EQ(statement(diagnosed({kernel}), "few_sms").id, "");
  kernel.evidence.small_grid_ns = 1'000'000;
  kernel.evidence.blocks = 100;
  EXPECT_EQ(statement(diagnosed({kernel}), "few_sms").id, "");
}

TEST(KernelDiagnosis, SmsThatRunDryAreToldOfLongLaunchesThatFillTheDevice) {
  CountedKernel kernel = plain_kernel();
  kernel.evidence.sm_active_pct = 75;
  EXPECT_EQ(statement(diagnosed({kernel}), "uneven_sms").cost_ns, 250'000);
  kernel.evidence.sm_active_pct = 90;
  EXPECT_EQ(statement(diagnosed({kernel}), "uneven_sms").id, "");
  kernel.evidence.sm_active_pct = 75;
  kernel.replay_ns = 20'000;
  EXPECT_EQ(statement(diagnosed({kernel}), "uneven_sms").id, "");
}

TEST(KernelDiagnosis, TellsDramFromCaches) {
  CountedKernel kernel = plain_kernel();
  kernel.bound = "memory";
  kernel.memory_pct = 86;
  kernel.dram_pct = 0.1;
  kernel.evidence.l1_pct = 90;
  EXPECT_EQ(ids(diagnosed({kernel})), Ids({"time", "caches"}));
  kernel.dram_pct = 85;
  EXPECT_EQ(ids(diagnosed({kernel})), Ids({"time", "dram"}));
}

TEST(KernelDiagnosis, NamesThePipeOfComputeIfTheFileHasIt) {
  CountedKernel kernel = plain_kernel();
  kernel.bound = "compute";
  kernel.sm_pct = 66;
  kernel.evidence.pipe_pct = {{"alu", 66.5}, {"fma", 20}};
  const auto diagnosis = diagnosed({kernel});
  EXPECT_EQ(ids(diagnosis), Ids({"time", "compute"}));
  EXPECT_NE(diagnosis[1].text.find("ALU"), std::string::npos);
}

TEST(KernelDiagnosis, CausesNeedLargeShares) {
  CountedKernel kernel = plain_kernel();
  kernel.evidence.excess_sectors_share = 0.09;
  kernel.evidence.local_sectors_share = 0.19;
  kernel.evidence.stall_shares = {{"barrier", 0.29}};
  kernel.warp_efficiency_pct = 81;
  EXPECT_EQ(ids(diagnosed({kernel})), Ids({"time", "latency"}));
  kernel.evidence.excess_sectors_share = 0.2;
  kernel.evidence.local_sectors_share = 0.9;
  kernel.evidence.stall_shares = {{"barrier", 0.5}};
  kernel.warp_efficiency_pct = 50;
  const auto diagnosis = diagnosed({kernel});
  EXPECT_EQ(ids(diagnosis),
            Ids({"time", "latency", "barriers", "uncoalesced", "local_memory", "divergence"}));
  EXPECT_EQ(statement(diagnosis, "barriers").cost_ns, 500'000);
  EXPECT_EQ(statement(diagnosis, "local_memory").cost_ns, 700'000);  // until compute is full
  EXPECT_FALSE(statement(diagnosis, "uncoalesced").cost_ns);
  EXPECT_EQ(statement(diagnosis, "divergence").figures.at("active_threads"), 16);
}

TEST(KernelDiagnosis, SectorsDoNotMatterWhereMemoryIsIdle) {
  CountedKernel kernel = plain_kernel();
  kernel.memory_pct = 6;
  kernel.evidence.excess_sectors_share = 0.5;
  EXPECT_EQ(ids(diagnosed({kernel})), Ids({"time", "latency"}));
}

TEST(KernelDiagnosis, OccupancyIsToldWhereMoreWarpsCouldHideTheWaiting) {
  CountedKernel kernel = plain_kernel();
  kernel.theoretical_occupancy_pct = 50;
  kernel.achieved_occupancy_pct = 41;
  kernel.registers = 64;
  kernel.evidence.occupancy_limits = {"registers"};
  kernel.evidence.stall_shares = {{"long_scoreboard", 0.56}};
  EXPECT_EQ(ids(diagnosed({kernel})), Ids({"time", "latency", "occupancy"}));
  kernel.evidence.occupancy_limits = {"registers", "warps"};
  EXPECT_EQ(ids(diagnosed({kernel})), Ids({"time", "latency"}));
  kernel.evidence.occupancy_limits = {"registers"};
  kernel.tensor_pct = 20;  // a matrix kernel has few warps by design
  EXPECT_EQ(ids(diagnosed({kernel})), Ids({"time", "latency"}));
}

TEST(KernelDiagnosis, NamesTellAlignmentAndArchitecture) {
  CountedKernel kernel =
      plain_kernel("cutlass3x_sm100_tensorop_s64x256x32gemm_f8_f8_f32_f16_f16_64x256x128_tnn_align4_1sm");
  kernel.evidence.compute_capability = "10.0";
  auto diagnosis = diagnosed({kernel});
  EXPECT_EQ(ids(diagnosis), Ids({"time", "latency", "alignment"}));
  EXPECT_EQ(statement(diagnosis, "alignment").figures.at("alignment_bytes"), 4);
  kernel = plain_kernel("turing_h1688gemm_128x128_ldg8_nn");
  EXPECT_EQ(ids(diagnosed({kernel})), Ids({"time", "latency", "older_architecture"}));
  kernel = plain_kernel("sm80_xmma_gemm_f16f16_f16f16_f16_tn_n_tilesize128x128x32_align8");
  EXPECT_EQ(ids(diagnosed({kernel})), Ids({"time", "latency"}));
  kernel.evidence.compute_capability = "9.0";
  EXPECT_EQ(ids(diagnosed({kernel})), Ids({"time", "latency", "older_architecture"}));
}

TEST(KernelDiagnosis, AReferenceKernelDoesNotHideTheProduct) {
  CountedKernel reference = plain_kernel("ReferenceGemm_kernel(int)");
  reference.share = 0.97;
  CountedKernel product = plain_kernel("gemm_kernel(int)");
  product.share = 0.03;
  product.replay_ns = 30'000;
  const auto diagnosis = diagnosed({reference, product});
  EXPECT_EQ(ids(diagnosis), Ids({"time", "reference", "latency", "time", "latency"}));
  EXPECT_EQ(diagnosis[3].kernel, product.kernel);
}

TEST(KernelDiagnosis, ALaunchWithoutValuesIsNotMeasured) {
  CountedKernel missing{.kernel = "flash_fwd_kernel", .label = "flash_fwd_kernel", .launches = 1};
  const auto diagnosis = diagnosed({plain_kernel("distribution_elementwise_grid_stride_kernel"), missing});
  EXPECT_EQ(ids(diagnosis), Ids({"not_measured", "time", "random_inputs", "latency"}));
  EXPECT_EQ(diagnosis[0].kernel, "flash_fwd_kernel");
}

TEST(KernelDiagnosis, ShortLaunchesSayNothingElse) {
  CountedKernel kernel = plain_kernel();
  kernel.replay_ns = 2500;
  kernel.warp_efficiency_pct = 10;
  kernel.evidence.blocks = 1;
  kernel.evidence.small_grid_ns = 2500;
  EXPECT_EQ(ids(diagnosed({kernel})), Ids({"time", "short_launches"}));
}

TEST(KernelDiagnosis, TheProfilersRuleIsUsedWhereCountersOfStallsAreMissing) {
  const std::map<std::string, std::string> rules = {
      {"my_kernel(int)",
       "On average, each warp spends 18.1 cycles waiting at a CTA barrier. More words. This stall type "
       "represents about 68.2% of the total average of 26.6 cycles."}};
  CountedKernel kernel = plain_kernel();
  const auto diagnosis = diagnosed({kernel}, rules);
  EXPECT_EQ(ids(diagnosis), Ids({"time", "latency", "stall_rule"}));
  EXPECT_NE(diagnosis[2].text.find("at a CTA barrier.\""), std::string::npos) << diagnosis[2].text;
  EXPECT_EQ(diagnosis[2].cost_ns, 600'000);
  kernel.evidence.stall_shares = {{"wait", 0.5}};
  EXPECT_EQ(ids(diagnosed({kernel}, rules)), Ids({"time", "latency"}));
}

CountedLaunch launch_in(const char* ranges, std::optional<int64_t> ns, const char* kernel = "k") {
  CountedLaunch launch;
  launch.kernel = kernel;
  launch.ns = ns;
  launch.ranges = ranges;
  return launch;
}

TEST(SlowerFusion, ComparesRangesThatDifferByOneWord) {
  const auto fused = slower_fusion(
      {launch_in("Non-fused-GEMM", 11), launch_in("Non-fused-GEMM", 10), launch_in("Fused-GEMM", 26, "b2b")});
  ASSERT_TRUE(fused);
  EXPECT_EQ(fused->fused_ns, 26);
  EXPECT_EQ(fused->separate_ns, 21);
  EXPECT_EQ(fused->kernel, "b2b");
  const auto diagnosis = diagnosed({plain_kernel("b2b")}, {}, fused);
  EXPECT_EQ(statement(diagnosis, "slower_fusion").cost_ns, 5);
}

TEST(SlowerFusion, SaysNothingWhereTheWorkMayDiffer) {
  EXPECT_FALSE(
      slower_fusion({launch_in("unfused a", 10), launch_in("unfused a", 10), launch_in("fused b", 30)}));
  EXPECT_FALSE(slower_fusion({launch_in("unfused", 10), launch_in("fused", 30)}));
  EXPECT_FALSE(slower_fusion({launch_in("unfused", 10), launch_in("unfused", {}), launch_in("fused", 30)}));
  EXPECT_FALSE(slower_fusion({launch_in("unfused", 10), launch_in("unfused", 20), launch_in("fused", 30)}));
}

// ---- Sums over launches

class Counted {
 public:
  Counted& with(const char* name, const char* unit, double value) {
    values_.add(*names_->find(name, unit), value);
    return *this;
  }
  const Values& values() const { return values_; }

 private:
  const CounterNames* names_ = CounterNames::shared().value();
  Values values_{*names_};
};

CountedLaunch launch_of(std::optional<int64_t> ns, int64_t blocks) {
  CountedLaunch launch;
  launch.ns = ns;
  launch.blocks = blocks;
  return launch;
}

TEST(EvidenceSums, WeightsByTimeAndTakesTheShapeOfTheLongestLaunch) {
  EvidenceSums sums;
  sums.add(launch_of(100, 50), Counted()
                                   .with("# SMs", "SM", 100)
                                   .with("SM Active Cycles", "cycle", 50)
                                   .with("Elapsed Cycles", "cycle", 100)
                                   .values());
  sums.add(launch_of(300, 200), Counted()
                                    .with("# SMs", "SM", 100)
                                    .with("SM Active Cycles", "cycle", 90)
                                    .with("Elapsed Cycles", "cycle", 100)
                                    .values());
  sums.add(launch_of({}, 10), Counted().with("Elapsed Cycles", "cycle", 0).values());
  const KernelEvidence evidence = sums.evidence();
  EXPECT_EQ(evidence.blocks, 200);
  EXPECT_EQ(evidence.small_grid_ns, 100);
  EXPECT_EQ(evidence.empty_sm_ns, 50);
  EXPECT_DOUBLE_EQ(evidence.sm_active_pct.value(), 80);
  EXPECT_FALSE(evidence.excess_sectors_share);
}

TEST(EvidenceSums, SharesOfSectorsAndStalls) {
  EvidenceSums sums;
  sums.add(launch_of(100, 1),
           Counted()
               .with("memory_l2_theoretical_sectors_global", "sectors", 100)
               .with("memory_l2_theoretical_sectors_global_ideal", "sectors", 75)
               .with("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sector", 10)
               .with("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "sector", 30)
               .with("smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "inst", 6)
               .with("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", "inst", 2)
               .with("launch__occupancy_limit_registers", "block", 2)
               .with("launch__occupancy_limit_warps", "block", 4)
               .values());
  const KernelEvidence evidence = sums.evidence();
  EXPECT_DOUBLE_EQ(evidence.excess_sectors_share.value(), 0.25);
  EXPECT_DOUBLE_EQ(evidence.local_sectors_share.value(), 0.75);
  EXPECT_DOUBLE_EQ(evidence.stall_shares.at("barrier"), 0.75);
  EXPECT_EQ(evidence.occupancy_limits, std::vector<std::string>({"registers"}));
}

}  // namespace
}  // namespace nl::analyze

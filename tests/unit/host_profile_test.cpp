// Remarks on hosts without device work, on small sessions made by hand.

#include "analyze/time/host_profile.h"

#include <gtest/gtest.h>

#include "small_run.h"

namespace nl::analyze {
namespace {

using model::SpanKind;

constexpr int64_t kUs = 1000;

/// A session of ONNX Runtime: runs of 1 ms, one every 2 ms, with ops inside.
class SmallSession {
 public:
  void run(const std::vector<std::pair<std::string, int64_t>>& ops, int32_t track = 0) {
    const int64_t begin = next_;
    int64_t at = begin + 10 * kUs;
    for (size_t i = 0; i < ops.size(); i++) {
      op(ops[i].first, ops[i].first + "_" + std::to_string(i), {at, at + ops[i].second}, track);
      at += ops[i].second + kUs;
    }
    const int64_t end = std::max(begin + 1000 * kUs, at + 10 * kUs);
    small_.span(SpanKind::annotation, "model_run", {begin, end});
    next_ = end + 1000 * kUs;
  }

  void op(const std::string& type, const std::string& name, Interval time, int32_t track = 0) {
    small_.span(SpanKind::op, name, time);
    small_.run.spans.op_type.back() = small_.run.names.add(type);
    small_.run.spans.track.back() = track;
  }
  SmallRun& records() { return small_; }

  HostProfile profile(bool shows_pool = true) {
    PreparedRun run;
    run.timeline = std::move(small_.run);
    run.classes.kernel.assign(run.timeline.names.size(), OpClass::k_other);
    run.classes.op = run.classes.kernel;
    for (uint32_t i = 0; i < run.timeline.names.size(); i++) {
      if (run.timeline.names[i] == "MatMul") run.classes.op[i] = OpClass::k_gemm;
      if (run.timeline.names[i] == "Transpose") run.classes.op[i] = OpClass::k_memory;
    }
    const std::vector<Device> devices = devices_of(run.timeline, run.classes);
    run.windows = find_windows(run.timeline, devices, {});
    return host_profile(run, devices.at(0), union_of({run.windows.steady.time}), shows_pool);
  }

 private:
  SmallRun small_;
  int64_t next_ = 0;
};

std::vector<std::string> ids(const HostProfile& profile) {
  std::vector<std::string> list;
  for (const Remark& remark : profile.remarks) list.push_back(remark.id);
  return list;
}

using Ids = std::vector<std::string>;

TEST(HostIdle, TimeBetweenRunsIsTheCallers) {
  SmallRun small;
  small.span(SpanKind::annotation, "session_initialization", {0, 40});
  for (const int64_t begin : {100, 300}) {
    small.span(SpanKind::annotation, "model_run", {begin, begin + 100});
    small.span(SpanKind::op, "Conv", {begin + 10, begin + 90});
  }
  const auto pieces =
      explain_idle(small.run, small.device(), HostActivity(small.run), {}, {{100, 200}, {300, 400}});
  const auto sums = idle_causes(pieces, {small.run.capture});
  EXPECT_EQ(sums[static_cast<size_t>(IdleCause::kSetup)], 40);
  EXPECT_EQ(sums[static_cast<size_t>(IdleCause::kBetweenRuns)], 100);
  EXPECT_EQ(sums[static_cast<size_t>(IdleCause::kOutsideOps)], 60 + 40);
}

TEST(HostProfile, SaysThatThereIsNoDevice) {
  SmallSession session;
  for (int i = 0; i < 4; i++) session.run({{"MatMul", 400 * kUs}, {"Add", 100 * kUs}});
  const HostProfile profile = session.profile();
  EXPECT_TRUE(profile.can_judge);
  EXPECT_FALSE(profile.compute_words);
  EXPECT_EQ(ids(profile), Ids{"no_device_work"});
}

TEST(HostProfile, OneThreadIsSaidWhereNoPoolIsShown) {
  SmallSession session;
  for (int i = 0; i < 4; i++) session.run({{"MatMul", 400 * kUs}, {"Add", 100 * kUs}});
  EXPECT_EQ(ids(session.profile(false)), (Ids{"no_device_work", "one_thread"}));
}

TEST(HostProfile, SingleSlowCallsDoNotRankOps) {
  SmallSession session;
  for (int i = 0; i < 5; i++) {
    std::vector<std::pair<std::string, int64_t>> ops(10, {"MatMul", 50 * kUs});
    ops.push_back({"Transpose", i == 2 ? 4000 * kUs : 20 * kUs});
    session.run(ops);
  }
  const HostProfile profile = session.profile();
  EXPECT_EQ(ids(profile), (Ids{"no_device_work", "slow_calls"}));
  EXPECT_NE(profile.remarks[1].text.find("Transpose_10"), std::string::npos);
  ASSERT_TRUE(profile.compute_words);
  EXPECT_NE(profile.compute_words->find("mostly gemm (96.2 %)"), std::string::npos) << *profile.compute_words;
}

TEST(HostProfile, SlowCallsThatHoldLittleTimeAreNotSaid) {
  SmallSession session;
  for (int i = 0; i < 5; i++) session.run({{"MatMul", 800 * kUs}, {"Flatten", i == 2 ? 50 * kUs : 2 * kUs}});
  EXPECT_EQ(ids(session.profile()), Ids{"no_device_work"});
}

TEST(HostProfile, OpsOnAnotherThreadThatNeverOverlap) {
  SmallSession session;
  for (int i = 0; i < 3; i++) session.run({{"MatMul", 100 * kUs}, {"Add", 100 * kUs}}, 1);
  EXPECT_EQ(ids(session.profile()), (Ids{"no_device_work", "parallel_without_overlap"}));
}

TEST(HostProfile, OpsThatOverlapUseTheParallelMode) {
  SmallSession session;
  for (int i = 0; i < 3; i++) {
    session.op("MatMul", "a", {i * 2000 * kUs + 20 * kUs, i * 2000 * kUs + 500 * kUs}, 2);
    session.run({{"MatMul", 400 * kUs}, {"Add", 100 * kUs}}, 1);
  }
  EXPECT_EQ(ids(session.profile()), Ids{"no_device_work"});
}

TEST(HostProfile, OpsThatAnOptimisedGraphWouldFuse) {
  SmallSession convolutions;
  for (int i = 0; i < 3; i++)
    convolutions.run({{"Conv", 300 * kUs}, {"BatchNormalization", 60 * kUs}, {"Relu", 40 * kUs}});
  const HostProfile off = convolutions.profile();
  EXPECT_EQ(ids(off), (Ids{"no_device_work", "graph_not_optimised"}));
  EXPECT_NE(off.remarks[1].text.find("BatchNormalization and Relu run as separate ops (25.0 %"),
            std::string::npos)
      << off.remarks[1].text;
  SmallSession gelu;
  for (int i = 0; i < 3; i++)
    gelu.run({{"MatMul", 300 * kUs}, {"Div", 10 * kUs}, {"Erf", 30 * kUs}, {"Mul", 10 * kUs}});
  EXPECT_EQ(ids(gelu.profile()), (Ids{"no_device_work", "graph_not_optimised"}));
  SmallSession alone;  // a normalisation that follows no convolution cannot be folded into one
  for (int i = 0; i < 3; i++) alone.run({{"BatchNormalization", 60 * kUs}, {"Relu", 40 * kUs}});
  EXPECT_EQ(ids(alone.profile()), Ids{"no_device_work"});
}

TEST(HostProfile, AJobWhoseDeviceWasNotRecordedIsNotJudged) {
  SmallSession session;
  session.op("aten::addmm", "aten::addmm", {0, 500 * kUs});
  session.records().span(SpanKind::annotation, "nccl:all_to_all", {600 * kUs, 700 * kUs});
  const HostProfile profile = session.profile();
  EXPECT_FALSE(profile.can_judge);
  EXPECT_EQ(ids(profile), Ids{"device_not_recorded"});
}

TEST(HostProfile, AlmostNoOpsAreNotJudged) {
  SmallSession session;
  session.op("aten::empty", "aten::empty", {0, kUs});
  session.records().span(SpanKind::annotation, "gloo:all_reduce", {kUs, 800 * kUs});
  session.records().span(SpanKind::annotation, "end", {900 * kUs, 1000 * kUs});
  const HostProfile profile = session.profile();
  EXPECT_FALSE(profile.can_judge);
  EXPECT_EQ(ids(profile), (Ids{"no_device_work", "communication_ranges", "few_ops"}));
}

}  // namespace
}  // namespace nl::analyze

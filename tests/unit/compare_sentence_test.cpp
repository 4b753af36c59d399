// The one sentence of a comparison: its amounts are parts of the difference, and it says no more than they
// do.

#include <gtest/gtest.h>

#include "compare/sentence.h"

namespace nl::compare {
namespace {

using stats::Verdict;

constexpr int64_t kMs = 1'000'000;

PartRow part(PartKind kind, const char* name, int64_t base_ns, int64_t new_ns) {
  return {kind, name, name, base_ns, new_ns, new_ns - base_ns, {}, {}};
}

Comparison steps(std::vector<PartRow> parts) {
  Comparison out;
  out.unit = "step";
  out.base.runs = {"a"};
  out.next.runs = {"b"};
  for (const PartRow& row : parts) {
    out.base.window_ns += row.base_ns;
    out.next.window_ns += row.new_ns;
  }
  out.delta_ns = out.next.window_ns - out.base.window_ns;
  out.ratio = static_cast<double>(out.next.window_ns) / static_cast<double>(out.base.window_ns);
  out.statistics.practical_bound = 0.01;
  out.parts = std::move(parts);
  return out;
}

/// Data loading gone, host ops slower.
Comparison loader() {
  return steps({part(PartKind::kIdle, "host_data", 47 * kMs, 0),
                part(PartKind::kIdle, "host_op", 13 * kMs, 24 * kMs),
                part(PartKind::kCompute, "conv", 100 * kMs, 100 * kMs)});
}

TEST(CompareSentence, SaysHowMuchWhyAndWhatWasLostAgain) {
  EXPECT_EQ(
      sentence_of(loader()),
      "36.0 ms a step faster (22.5 %): no more waiting for data (47.0 ms); host ops took 11.0 ms back (one "
      "run each)");
}

TEST(CompareSentence, OfALossSaysWhatWasWon) {
  const auto slower = steps({part(PartKind::kCompute, "gemm", 10 * kMs, 14 * kMs),
                             part(PartKind::kCommunication, "communication", 3 * kMs, 2 * kMs)});
  EXPECT_EQ(
      sentence_of(slower),
      "3.0 ms a step slower (23.1 %): 4.0 ms more in matrix products; exposed communication gave 1.0 ms back "
      "(one run each)");
}

TEST(CompareSentence, ShownByRepeatsItNeedsNoCaveat) {
  Comparison data = loader();
  data.verdict = Verdict::kImprovement;
  data.base.runs = {"a", "c"};
  EXPECT_EQ(sentence_of(data),
            "36.0 ms a step faster (22.5 %): no more waiting for data (47.0 ms); host ops took 11.0 ms back");
}

TEST(CompareSentence, WhatRepeatsShowToBeAlikeIsNoCause) {
  Comparison data = loader();
  data.verdict = Verdict::kImprovement;
  data.parts[1].statistics.emplace().verdict = Verdict::kNoChange;
  EXPECT_EQ(sentence_of(data).find("host ops"), std::string::npos);
  EXPECT_NE(sentence_of(data).find("11.0 ms more in smaller parts"), std::string::npos) << sentence_of(data);
}

TEST(CompareSentence, NoDifferenceBeyondNoise) {
  Comparison data = steps({part(PartKind::kCompute, "gemm", 100 * kMs, 100 * kMs + 100'000)});
  data.verdict = Verdict::kNoChange;
  data.base.runs = {"a", "b", "c", "d"};
  data.next.runs = {"e", "f", "g", "h"};
  EXPECT_TRUE(sentence_of(data).starts_with("no difference beyond noise: 100.000 ms → 100.100 ms a step"));
  data.verdict = Verdict::kInconclusive;
  data.statistics.more_runs = 3;
  EXPECT_TRUE(sentence_of(data).starts_with("no difference shown beyond noise"));
  EXPECT_TRUE(sentence_of(data).ends_with("3 more runs on each side would probably decide"));
}

TEST(CompareSentence, OneRunEachAndLittleChangedIsNoCause) {
  const auto data = steps({part(PartKind::kCompute, "gemm", 100 * kMs, 100 * kMs + 100'000)});
  EXPECT_EQ(sentence_of(data),
            "no difference that matters: 100.000 ms → 100.100 ms a step (+0.1 %), one run each");
}

TEST(CompareSentence, PartsThatCancelOutAreSaid) {
  const auto data = steps({part(PartKind::kIdle, "host_data", 40 * kMs, 20 * kMs),
                           part(PartKind::kIdle, "host_op", 20 * kMs, 40 * kMs)});
  EXPECT_NE(sentence_of(data).find("20.0 ms less waiting for data"), std::string::npos) << sentence_of(data);
  EXPECT_NE(sentence_of(data).find("20.0 ms more waiting for host ops"), std::string::npos);
}

TEST(CompareSentence, ACaptureIsShorterAndNotFaster) {
  Comparison data = loader();
  data.unit = "capture";
  data.comparability.factors = {{kAmountOfWork, FactorState::kDifferent, 0.88, "1", "0.88", "fewer calls"}};
  EXPECT_TRUE(
      sentence_of(data).starts_with("the capture is 36.0 ms shorter (22.5 %), with 0.88 times the calls"))
      << sentence_of(data);
  EXPECT_EQ(sentence_of(data).find("faster"), std::string::npos);
}

TEST(CompareSentence, OfRunsThatCannotBeComparedNothingIsFaster) {
  Comparison data = loader();
  data.verdict = Verdict::kIncomparable;
  data.reasons = {"batch: 1 against 8 (another workload)"};
  EXPECT_EQ(sentence_of(data), "not comparable: batch: 1 against 8 (another workload)");
  data.next.runs = data.base.runs;
  EXPECT_EQ(sentence_of(data), "both sides are the same run");
}

TEST(CompareSentence, ManySmallPartsAreNoCause) {
  std::vector<PartRow> parts;
  for (int i = 0; i < 20; i++) parts.push_back(part(PartKind::kCompute, "other", kMs, kMs + 100'000));
  EXPECT_EQ(sentence_of(steps(parts)), "2.0 ms a step slower (10.0 %): in many small parts (one run each)");
}

}  // namespace
}  // namespace nl::compare

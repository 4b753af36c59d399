// The steady part of a capture: on small time lines made by hand, and on 200 simulated captures whose steady
// part is known.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "analyze/load/windows.h"
#include "small_run.h"

namespace nl::analyze {
namespace {

using model::SpanKind;

constexpr int64_t kMs = 1'000'000;

Windows windows_of(const SmallRun& small) {
  return find_windows(small.run, {small.device()}, {});
}

/// The parts outside and the steady part, as they follow each other.
void expect_closed(const SmallRun& small, const Windows& windows) {
  PagedVector<Interval> parts = {windows.steady.time};
  for (const OutsidePart& part : windows.steady.outside) parts.push_back(part.time);
  int64_t sum = 0;
  for (const Interval& part : parts) sum += part.length();
  EXPECT_EQ(sum, small.run.capture.length());
  EXPECT_EQ(union_of(parts), (IntervalSet{small.run.capture}));
}

TEST(Steady, StepsLieWhereTheirWorkRan) {
  SmallRun small;
  for (int64_t step = 0; step < 3; step++) {
    small.span(SpanKind::annotation, "step[DECODE bs=4]", {step * 100, step * 100 + 90});
    const int64_t device = 1000 + step * 500;
    small.launched(step * 100 + 10, {device, device + 200});
    small.launched(step * 100 + 30, {device + 210, device + 400});
  }
  const Windows windows = windows_of(small);
  ASSERT_EQ(windows.steps.list.size(), 3u);
  EXPECT_EQ(windows.steps.list[0].time, (Interval{1000, 1500}));
  EXPECT_EQ(windows.steps.list[1].time, (Interval{1500, 2000}));
  EXPECT_EQ(windows.steps.list[2].time, (Interval{2000, 2400}));
  EXPECT_EQ(windows.steps.list[0].host, (Interval{0, 90}));
  EXPECT_EQ(windows.steps.list[0].phase, Phase::kDecodeStep);
  EXPECT_EQ(windows.steady.time, (Interval{1000, 2400}));
  EXPECT_EQ(window_named("decode_step", small.run, windows).value(), (IntervalSet{{1000, 2400}}));
  expect_closed(small, windows);
}

TEST(Steady, AStepWithoutWorkIsTheProfilersOwn) {
  SmallRun small;
  small.span(SpanKind::annotation, "ProfilerStep#1", {0, 100});
  small.launched(10, {20, 300});
  small.span(SpanKind::annotation, "ProfilerStep#2", {100, 110});
  const Windows windows = windows_of(small);
  ASSERT_EQ(windows.steps.list.size(), 1u);
  EXPECT_EQ(windows.steps.without_work, 1);
  EXPECT_EQ(windows.steady.time, (Interval{20, 300}));
}

TEST(Steady, WorkQueuedBeforeTheCaptureIsOutside) {
  SmallRun small;
  small.kernel("earlier", {0, 5000});
  small.span(SpanKind::annotation, "ProfilerStep#1", {0, 100});
  small.launched(10, {5000, 9000});
  const Windows windows = windows_of(small);
  EXPECT_EQ(windows.steady.time, (Interval{5000, 9000}));
  ASSERT_EQ(windows.steady.outside.size(), 1u);
  EXPECT_EQ(windows.steady.outside[0].what, "capture_start");
  EXPECT_NE(windows.steady.outside[0].why.find("capture began mid-run"), std::string::npos);
  expect_closed(small, windows);
}

TEST(Steady, EarlierWorkIsToldByTheMainStream) {
  SmallRun small;
  small.span(SpanKind::annotation, "step[DECODE bs=32]", {0, 20 * kMs});
  const auto copy = small.span(SpanKind::runtime, "cudaMemcpyAsync", {100, 200});
  small.kernel("copy", {300, 400}, copy, 2);  // another stream is free
  small.launched(1000, {10 * kMs, 19 * kMs});
  const Windows windows = windows_of(small);
  ASSERT_EQ(windows.steady.outside.size(), 2u);
  EXPECT_EQ(windows.steady.outside[0].what, "capture_start");
  EXPECT_EQ(windows.steady.outside[0].time, (Interval{0, 10 * kMs}));
  EXPECT_EQ(windows.steady.outside[1].what, "tail");
  expect_closed(small, windows);
}

TEST(Steady, WaitingForARecordedCopyIsNoEarlierWork) {
  SmallRun small;
  small.span(SpanKind::annotation, "ProfilerStep#1", {0, 20 * kMs});
  const auto copy = small.span(SpanKind::runtime, "cudaMemcpyAsync", {100, 200});
  small.kernel("copy", {300, 10 * kMs}, copy, 2);
  small.launched(1000, {10 * kMs, 20 * kMs});
  const Windows windows = windows_of(small);
  ASSERT_EQ(windows.steady.outside.size(), 1u);
  EXPECT_EQ(windows.steady.outside[0].what, "first_step");
}

TEST(Steady, TheHostsPartOfTheFirstStepIsNoSetUp) {
  SmallRun small;
  small.span(SpanKind::op, "load the model", {0, 400});
  small.span(SpanKind::annotation, "ProfilerStep#1", {500, 1000});
  small.launched(700, {720, 900});
  const Windows windows = windows_of(small);
  ASSERT_EQ(windows.steady.outside.size(), 3u);
  EXPECT_EQ(windows.steady.outside[0].what, "setup");
  EXPECT_EQ(windows.steady.outside[0].time, (Interval{0, 500}));
  EXPECT_EQ(windows.steady.outside[1].what, "first_step");
  EXPECT_EQ(windows.steady.outside[1].time, (Interval{500, 720}));
  expect_closed(small, windows);
}

TEST(Steady, ASourceWithoutLaunchesTellsNothingOfEarlierWork) {
  SmallRun small;
  small.kernel("k", {0, 100});
  small.span(SpanKind::annotation, "ProfilerStep#1", {500, 1000});
  small.kernel("k", {600, 900});
  const Windows windows = windows_of(small);
  ASSERT_FALSE(windows.steady.outside.empty());
  EXPECT_EQ(windows.steady.outside[0].what, "setup");
  expect_closed(small, windows);
}

/// Steps of an engine: a long prefill, then decode steps of two kernels.
SmallRun serving(int64_t decode_steps, int64_t kernels_of_prefill) {
  SmallRun small;
  int64_t at = 0;
  for (int64_t step = 0; step <= decode_steps; step++) {
    const int64_t kernels = step == 0 ? kernels_of_prefill : 2;
    small.span(SpanKind::annotation, step == 0 ? "step[EXTEND bs=1 toks=512]" : "step[DECODE bs=1]",
               {at, at + kernels * 100});
    for (int64_t k = 0; k < kernels; k++, at += 100) small.launched(at, {at + 20, at + 100});
  }
  return small;
}

TEST(Steady, PrefillIsNoWarmUpOfDecode) {
  const SmallRun small = serving(1, 10);
  const Windows windows = windows_of(small);
  EXPECT_EQ(windows.steady.first_step, 0u);
  EXPECT_EQ(windows.steady.steps, 2u);
  EXPECT_EQ(windows.steady.time, (Interval{20, 1200}));
}

TEST(Steady, AStepIsCutOffBesideStepsOfItsPhase) {
  SmallRun small = serving(3, 10);
  EXPECT_EQ(windows_of(small).steady.steps, 4u);
  small.span(SpanKind::annotation, "step[DECODE bs=1]", {1600, 1700});
  small.launched(1600, {1620, 1700});
  const Windows windows = windows_of(small);
  EXPECT_EQ(windows.steady.steps, 4u);
  ASSERT_FALSE(windows.steady.outside.empty());
  EXPECT_EQ(windows.steady.outside.back().time, (Interval{1620, 1700}));
}

TEST(Steady, SetUpBeforeTheDensePartIsOutside) {
  SmallRun small;
  small.launched(0, {20, 30});
  for (int64_t i = 0; i < 20; i++)
    small.launched(30 * kMs + i * 1000, {30 * kMs + i * 1000 + 20, 30 * kMs + i * 1000 + 900});
  const Windows windows = windows_of(small);
  EXPECT_EQ(windows.steps.source, "none");
  EXPECT_GE(windows.steady.time.begin, 30 * kMs);
  EXPECT_EQ(windows.steady.time.end, small.run.capture.end);
  expect_closed(small, windows);
}

TEST(Steady, GraphLaunchesAreSteps) {
  SmallRun small;
  for (int64_t step = 0; step < 4; step++) {
    const uint32_t launch = small.span(SpanKind::runtime, "cudaGraphLaunch", {step * 1000, step * 1000 + 10});
    for (int64_t k = 0; k < 12; k++)
      small.kernel("layer", {step * 1000 + 20 + k * 50, step * 1000 + 60 + k * 50}, launch);
  }
  const Windows windows = windows_of(small);
  EXPECT_EQ(windows.steps.source, "graph_launch");
  ASSERT_EQ(windows.steps.list.size(), 4u);
  EXPECT_EQ(windows.steps.list[1].time, (Interval{1020, 2020}));
}

/// One simulated capture with a known steady part.
class Capture {
 public:
  explicit Capture(uint32_t seed) : random_(seed) {
    marked_ = chance(0.5);
    layers_ = pick(2, 12);
    steps_ = pick(6, 20);
    warm_up_ = chance(0.5) ? pick(1, 2) : 0;
    behind_ = warm_up_ == 0 && chance(0.6) ? pick(0, 30) * kMs : 0;  // queued work means a warm run
    pause_ = chance(0.5) ? pick(1, 3) * kMs : 0;
    cut_off_ = chance(0.3);
    other_ = !marked_ && chance(0.3);
    make();
  }

  bool is_right() const {
    const Windows windows = find_windows(small_.run, {small_.device()}, {});
    const Interval found = windows.steady.time;
    // Where a period begins is free: a step in front or behind may be missing.
    const int64_t slack = marked_ ? step_ns_ / 50 : step_ns_ + step_ns_ / 50;
    return found.begin >= truth_.begin - step_ns_ / 50 && found.begin <= truth_.begin + slack &&
           found.end <= truth_.end + step_ns_ / 50 && found.end >= truth_.end - slack;
  }

  std::string text() const {
    const Windows windows = find_windows(small_.run, {small_.device()}, {});
    return fmt::format(
        "marked {} layers {} steps {} warm-up {} behind {} pause {} cut {} other {}: found {} {} ({}), true "
        "{} {}, step {}",
        marked_, layers_, steps_, warm_up_, behind_, pause_, cut_off_, other_, windows.steady.time.begin,
        windows.steady.time.end, windows.steady.why, truth_.begin, truth_.end, step_ns_);
  }

 private:
  int64_t pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  bool chance(double share) { return std::bernoulli_distribution(share)(random_); }

  void make() {
    queued_start();
    for (int64_t step = 0; step < warm_up_ + steps_; step++) {
      const bool last = step == warm_up_ + steps_ - 1;
      if (step == warm_up_) truth_.begin = -1;
      one_step(step < warm_up_ ? static_cast<double>(pick(15, 50)) / 10 : 1, cut_off_ && last);
      if (!(cut_off_ && last)) truth_.end = device_;
    }
    if (other_) other_work();
  }

  /// Work from before the capture, whose launches are not in it.
  void queued_start() {
    host_ = kMs;
    device_ = host_;
    if (behind_ == 0) return;
    for (int64_t k = 0; k < 20; k++) kernel("earlier" + std::to_string(k % 3), behind_ / 20, kNoRow);
  }

  void one_step(double slower, bool cut) {
    const int64_t begin = host_;
    host_ += pause_;
    if (slower > 1)
      host_ += static_cast<int64_t>(slower * 2) * kMs;  // programs are compiled, memory is allocated
    const int64_t from = device_;
    run("embed", 20'000, slower);
    for (int64_t layer = 0; layer < layers_; layer++) {
      if (cut && layer == layers_ / 2) return;
      for (const char* name : {"norm", "qkv", "attention", "out", "norm", "up", "down"})
        run(name, 40'000, slower);
    }
    run("head", 90'000, slower);
    if (marked_) small_.span(SpanKind::annotation, "ProfilerStep#" + std::to_string(number_), {begin, host_});
    number_++;
    if (slower == 1) step_ns_ = device_ - from;
  }

  void run(const char* name, int64_t ns, double slower) {
    const uint32_t launch = small_.span(SpanKind::runtime, "cudaLaunchKernel", {host_, host_ + 4'000});
    host_ += 6'000;
    const double noise = std::normal_distribution<double>(1, 0.02)(random_);
    kernel(name, static_cast<int64_t>(static_cast<double>(ns) * slower * std::clamp(noise, 0.9, 1.1)),
           launch);
    if (truth_.begin == -1) truth_.begin = small_.run.kernels.start.back();
  }

  void kernel(const std::string& name, int64_t ns, uint32_t launch) {
    const int64_t start = std::max(device_ + 1'000, host_ + 5'000);
    small_.kernel(name, {start, start + ns}, launch);
    device_ = start + ns;
  }

  /// Another workload behind, shorter than half of the steps.
  void other_work() {
    const int64_t kernels = steps_ * (layers_ * 7 + 2) / 3;
    for (int64_t k = 0; k < kernels; k++) run(("other" + std::to_string(pick(0, 30))).c_str(), 30'000, 1);
  }

  std::mt19937 random_;
  SmallRun small_;
  bool marked_, cut_off_, other_;
  int64_t layers_, steps_, warm_up_, behind_, pause_;
  int64_t host_ = 0, device_ = 0, number_ = 0, step_ns_ = 0;
  Interval truth_;
};

TEST(Steady, IsFoundInSimulatedCaptures) {
  int right = 0;
  for (uint32_t seed = 1; seed <= 200; seed++) {
    const Capture capture(seed);
    const bool fine = capture.is_right();
    right += fine;
    if (!fine) std::cout << "seed " << seed << ": " << capture.text() << "\n";
  }
  EXPECT_GE(right, 196) << "of 200";
}

}  // namespace
}  // namespace nl::analyze

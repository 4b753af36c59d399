#include "analyze/load/intervals.h"

#include <gtest/gtest.h>

#include <random>

#include "analyze/load/devices.h"
#include "analyze/time/idle.h"

namespace nl::analyze {
namespace {

#ifdef __OPTIMIZE__
constexpr int kRuns = 100'000;
#else
constexpr int kRuns = 5'000;  // under a sanitizer, for its sake
#endif

/// Marks every nanosecond of a short stretch of time: slow, and too simple to be wrong.
class Oracle {
 public:
  static constexpr int64_t kEnd = 64;
  void mark(int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; t++) at_[static_cast<size_t>(t)] = true;
  }
  bool at(int64_t t) const { return at_[static_cast<size_t>(t)]; }

 private:
  std::array<bool, kEnd> at_{};
};

template <class Where>
int64_t count(Where&& where) {
  int64_t n = 0;
  for (int64_t t = 0; t < Oracle::kEnd; t++) n += where(t);
  return n;
}

bool is_set(const IntervalSet& set) {
  for (size_t i = 0; i < set.size(); i++) {
    if (set[i].begin >= set[i].end) return false;
    if (i > 0 && set[i - 1].end >= set[i].begin) return false;
  }
  return true;
}

class RandomRun {
 public:
  explicit RandomRun(std::mt19937& random) : random_(random) {}

  Interval interval() {
    const int64_t begin = pick(0, Oracle::kEnd);
    return {begin, pick(begin, Oracle::kEnd)};  // may be empty
  }
  PagedVector<Interval> intervals(int64_t most) {
    PagedVector<Interval> list(static_cast<size_t>(pick(0, most)));
    for (auto& i : list) i = interval();
    return list;
  }
  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

 private:
  std::mt19937& random_;
};

Oracle oracle_of(const PagedVector<Interval>& list) {
  Oracle oracle;
  for (const auto& i : list) oracle.mark(i.begin, i.end);
  return oracle;
}

TEST(Intervals, SetsEqualAnOracleOfSingleNanoseconds) {
  std::mt19937 random(1);
  RandomRun runs(random);
  for (int n = 0; n < kRuns; n++) {
    const auto list_a = runs.intervals(8), list_b = runs.intervals(8);
    const IntervalSet a = union_of(list_a), b = union_of(list_b);
    const Oracle in_a = oracle_of(list_a), in_b = oracle_of(list_b);
    const IntervalSet both = intersect(a, b), any = unite(a, b), rest = subtract(a, b);
    ASSERT_TRUE(is_set(a) && is_set(any) && is_set(rest)) << n;
    for (int64_t t = 0; t < Oracle::kEnd; t++) {
      ASSERT_EQ(contains(a, t), in_a.at(t)) << n;
      ASSERT_EQ(contains(any, t), in_a.at(t) || in_b.at(t)) << n;
      ASSERT_EQ(contains(both, t), in_a.at(t) && in_b.at(t)) << n;
      ASSERT_EQ(contains(rest, t), in_a.at(t) && !in_b.at(t)) << n;
    }
    const Interval piece = runs.interval();
    ASSERT_EQ(length_inside(a, piece),
              count([&](int64_t t) { return in_a.at(t) && t >= piece.begin && t < piece.end; }))
        << n;
  }
}

/// Kernels, communication and copies at random, some with launches.
Timeline random_run(RandomRun& runs) {
  Timeline run;
  run.names.add("kernel");
  run.names.add("nccl");
  run.names.add("cudaLaunchKernel");
  run.names.add("cudaStreamSynchronize");
  run.tracks.resize(2);
  const auto add_span = [&](uint32_t name, Interval time) {
    run.spans.start.push_back(time.begin);
    run.spans.end.push_back(time.end);
    run.spans.name.push_back(name);
    run.spans.op_type.push_back(name);
    run.spans.parent.push_back(kNoRow);
    run.spans.op.push_back(kNoRow);
    run.spans.track.push_back(0);
    run.spans.kind.push_back(model::SpanKind::runtime);
  };
  for (const auto& time : runs.intervals(4)) add_span(3, time);
  const auto add_row = [&](DeviceRows& rows, Interval time) {
    rows.start.push_back(time.begin);
    rows.end.push_back(time.end);
    rows.name.push_back(static_cast<uint32_t>(runs.pick(0, 1)));
    rows.op.push_back(kNoRow);
    rows.track.push_back(1);
    rows.device.push_back(0);
    rows.launch.push_back(kNoRow);
    if (runs.pick(0, 2) == 0) return;
    rows.launch.back() = static_cast<uint32_t>(run.spans.size());
    const int64_t called = runs.pick(0, time.begin);
    add_span(2, {called, runs.pick(called, time.begin)});
  };
  for (const auto& time : runs.intervals(6)) add_row(run.kernels, time);
  for (const auto& time : runs.intervals(3)) {
    add_row(run.copies, time);
    run.copy_bytes.push_back(1);
  }
  run.capture = {0, Oracle::kEnd};
  return run;
}

TEST(Intervals, TheDecompositionClosesAndEqualsTheOracle) {
  std::mt19937 random(2);
  RandomRun runs(random);
  NameClasses classes;
  classes.kernel = {OpClass::k_gemm, OpClass::k_communication, OpClass::k_other, OpClass::k_other};
  classes.op = classes.kernel;
  for (int n = 0; n < kRuns; n++) {
    const Timeline run = random_run(runs);
    Oracle compute, comm, copy;
    for (size_t i = 0; i < run.kernels.size(); i++)
      (run.kernels.name[i] == 1 ? comm : compute).mark(run.kernels.start[i], run.kernels.end[i]);
    for (size_t i = 0; i < run.copies.size(); i++) copy.mark(run.copies.start[i], run.copies.end[i]);
    const auto pieces = runs.intervals(3);
    const IntervalSet window = union_of(pieces);
    const Oracle inside = oracle_of(pieces);
    for (const Device& device : devices_of(run, classes)) {
      if (device.is_host) continue;
      const Decomposition sum = decompose(device, window);
      ASSERT_EQ(sum.compute_ns + sum.exposed_comm_ns + sum.exposed_copy_ns + sum.idle_ns, sum.window_ns) << n;
      const auto in = [&](auto&& where) {
        return count([&](int64_t t) { return inside.at(t) && where(t); });
      };
      ASSERT_EQ(sum.compute_ns, in([&](int64_t t) { return compute.at(t); })) << n;
      ASSERT_EQ(sum.exposed_comm_ns, in([&](int64_t t) { return comm.at(t) && !compute.at(t); })) << n;
      ASSERT_EQ(sum.exposed_copy_ns,
                in([&](int64_t t) { return copy.at(t) && !comm.at(t) && !compute.at(t); }));
      ASSERT_EQ(sum.overlap_ns, in([&](int64_t t) { return comm.at(t) && compute.at(t); })) << n;
      const auto idle = explain_idle(run, device, HostActivity(run), {});
      const auto causes = idle_causes(idle, window);
      int64_t explained = 0;
      for (const int64_t ns : causes) explained += ns;
      ASSERT_EQ(explained, sum.idle_ns) << n;
    }
  }
}

}  // namespace
}  // namespace nl::analyze

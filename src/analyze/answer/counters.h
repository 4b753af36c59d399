#pragma once
// The part of an analysis about hardware counters: what a counter profiler measured on the launches that it
// replayed, grouped by kernel.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/kernel_evidence.h"
#include "analyze/answer/roofline.h"

namespace nl::analyze {

/// One kernel on one device, or one launch. Means over launches are weighted by their replayed time.
struct CountedKernel {
  std::string kernel = {};
  std::string label = {};
  std::optional<std::string> device = {};
  int64_t launches = 0;
  int64_t measured = 0;
  std::optional<int64_t> replay_ns = {};
  std::optional<double> share = {};
  std::optional<double> achieved_occupancy_pct = {}, theoretical_occupancy_pct = {}, warp_efficiency_pct = {};
  std::optional<double> sm_pct = {}, memory_pct = {}, dram_pct = {}, l1_hit_pct = {}, l2_hit_pct = {};
  std::optional<double> tensor_pct = {}, ipc = {}, registers = {}, sm_clock_hz = {};
  std::optional<std::string> bound = {};
  std::optional<double> dram_bytes = {}, dram_bytes_per_s = {};
  std::optional<double> flops = {}, flops_per_s = {};
  std::optional<std::string> dtype = {};
  std::optional<double> intensity = {}, roof_share = {};
  std::optional<std::string> roof_bound = {};
  std::vector<std::string> not_counted = {};
  int64_t roof_launches = 0;
  KernelEvidence evidence = {};
  std::map<std::string, std::string> absent = {};

  static constexpr auto fields() {
    using K = CountedKernel;
    return std::tuple{
        field("kernel", &K::kernel, "name as the source writes it"),
        field("label", &K::label, "for narrow columns"),
        field("device", &K::device, "name of the hardware"),
        field("launches", &K::launches, "replayed launches"),
        field("measured", &K::measured, "launches with a duration"),
        field("replay_ns", &K::replay_ns, "replayed time, with fixed clocks and cold caches: not the run's"),
        field("share", &K::share, "share of the replayed time of all launches; null without a time"),
        field("achieved_occupancy_pct", &K::achieved_occupancy_pct,
              "active warps, as a share of the most that fit"),
        field("theoretical_occupancy_pct", &K::theoretical_occupancy_pct,
              "warps that the kernel's resources allow, as a share of the most that fit"),
        field("warp_efficiency_pct", &K::warp_efficiency_pct, "threads of a warp that do work"),
        field("sm_pct", &K::sm_pct, "throughput of the multiprocessors, as a share of their peak"),
        field("memory_pct", &K::memory_pct, "throughput of the memory system, as a share of its peak"),
        field("dram_pct", &K::dram_pct, "throughput of the device memory, as a share of its peak"),
        field("l1_hit_pct", &K::l1_hit_pct, "accesses that the first cache serves"),
        field("l2_hit_pct", &K::l2_hit_pct, "accesses that the second cache serves"),
        field("tensor_pct", &K::tensor_pct, "time in which tensor units are active"),
        field("ipc", &K::ipc, "instructions per cycle"),
        field("registers", &K::registers, "per thread"),
        field("sm_clock_hz", &K::sm_clock_hz, "clock of the multiprocessors"),
        field("bound", &K::bound, "compute, memory or latency"),
        field("dram_bytes", &K::dram_bytes, "bytes read from and written to the device memory"),
        field("dram_bytes_per_s", &K::dram_bytes_per_s, "these bytes divided by the replayed time"),
        field("flops", &K::flops, "counted operations"),
        field("flops_per_s", &K::flops_per_s, "counted operations divided by the replayed time"),
        field("dtype", &K::dtype, "data type with the most operations"),
        field("intensity", &K::intensity, "operations per byte of device memory"),
        field("roof_share", &K::roof_share,
              "shortest possible time on the device divided by the replayed time"),
        field("roof_bound", &K::roof_bound, "memory or compute"),
        field("not_counted", &K::not_counted, "types of operations that no counter of the file counts"),
        field("roof_launches", &K::roof_launches, "launches with all the counters that the roof needs"),
        field("evidence", &K::evidence, "figures behind the statements about this kernel"),
        field("absent", &K::absent, "why a figure is null, by its key")};
  }
};

struct CountersOfLaunch {
  CountedKernel counters = {};
  int64_t launch_id = 0;
  std::optional<int64_t> source_id = {};

  static constexpr auto fields() {
    using L = CountersOfLaunch;
    return std::tuple{merged(&L::counters), field("launch_id", &L::launch_id, "row of profiled_launches"),
                      field("source_id", &L::source_id, "number in the source")};
  }
};

struct CountedDevice {
  std::optional<std::string> name = {};
  Known<PeaksAnswer> peaks = Absent{"no device"};

  static constexpr auto fields() {
    return std::tuple{field("name", &CountedDevice::name, "of the hardware"),
                      field("peaks", &CountedDevice::peaks, "largest rates of the device")};
  }
};

/// What the profiler itself advises.
struct AdviceAnswer {
  std::string kernel = {};
  std::string label = {};
  std::optional<std::string> rule = {};
  std::string kind = {};
  std::string text = {};
  std::string speedup_kind = {};
  double speedup_pct = 0;
  int64_t times = 0;

  static constexpr auto fields() {
    using A = AdviceAnswer;
    return std::tuple{field("kernel", &A::kernel, "name as the source writes it"),
                      field("label", &A::label, "for narrow columns"),
                      field("rule", &A::rule, "name of the profiler's rule"),
                      field("kind", &A::kind, "as the profiler says it"),
                      field("text", &A::text, "as the profiler says it"),
                      field("speedup_kind", &A::speedup_kind,
                            "whether the speedup is of the kernel alone or of the whole run"),
                      field("speedup_pct", &A::speedup_pct, "as the profiler estimates it"),
                      field("times", &A::times, "launches that got this advice")};
  }
};

/// One statement on one kernel. Statements overlap: their costs must not be added.
struct KernelDiagnosis {
  std::string id = {};
  std::string kernel = {};
  std::string label = {};
  std::optional<std::string> device = {};
  std::string text = {};
  std::map<std::string, double> figures = {};
  std::optional<int64_t> cost_ns = {};

  static constexpr auto fields() {
    using D = KernelDiagnosis;
    return std::tuple{field("id", &D::id, "what is stated, in one word"),
                      field("kernel", &D::kernel, "name as the source writes it"),
                      field("label", &D::label, "for narrow columns"),
                      field("device", &D::device, "name of the hardware"),
                      field("text", &D::text, "the statement for people"),
                      field("figures", &D::figures, "measured figures behind it"),
                      field("cost_ns", &D::cost_ns,
                            "upper bound of the replayed time that it costs; null if there is no bound")};
  }
};

struct ReplayLeftOut {
  int64_t rows = 0;
  int64_t replay_ns = 0;

  static constexpr auto fields() {
    return std::tuple{field("rows", &ReplayLeftOut::rows, "kernels that are not listed"),
                      field("replay_ns", &ReplayLeftOut::replay_ns, "their replayed time")};
  }
};

struct CountersAnswer {
  int64_t launches = 0;
  int64_t measured = 0;
  int64_t replay_ns = 0;
  std::vector<CountedDevice> devices = {};
  std::vector<CountedKernel> kernels = {};
  ReplayLeftOut not_shown = {};
  std::vector<CountersOfLaunch> top_launches = {};
  std::vector<AdviceAnswer> advice = {};
  std::vector<KernelDiagnosis> diagnosis = {};

  static constexpr auto fields() {
    using C = CountersAnswer;
    return std::tuple{
        field("launches", &C::launches, "launches that the profiler replayed"),
        field("measured", &C::measured, "launches with a duration"),
        field("replay_ns", &C::replay_ns, "replayed time of all of them"),
        field("devices", &C::devices, "devices of the launches"),
        field("kernels", &C::kernels, "by replayed time"),
        field("not_shown", &C::not_shown, "what the table of kernels leaves out"),
        field("top_launches", &C::top_launches, "the longest ones"),
        field("advice", &C::advice, "what the profiler itself advises"),
        field("diagnosis", &C::diagnosis, "what slows the important kernels down, the longest kernel first")};
  }
};

}  // namespace nl::analyze

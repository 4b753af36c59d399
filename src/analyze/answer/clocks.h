#pragma once
// The part of an answer that says how well the sources of a run fit together: the clocks and their fits, and
// how many replayed launches were found in a trace.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"

namespace nl::analyze {

/// One fit of a clock to another; a fit of several segments has a row for each.
struct ClockFitAnswer {
  int32_t clock = 0;
  std::optional<int32_t> device = {};
  int32_t reference = 0;
  std::string method = {};
  bool applied = false;
  std::optional<double> drift_ppm = {};
  std::optional<int64_t> anchors = {}, residual_p50_ns = {}, residual_p99_ns = {};
  std::optional<int64_t> violations_before = {}, violations_after = {};
  std::optional<int64_t> bound_ns = {}, offset_ns = {}, from_ns = {}, corrupt_records = {}, min_rtt_ns = {};

  static constexpr auto fields() {
    using C = ClockFitAnswer;
    return std::tuple{
        field("clock", &C::clock, "number of the clock"),
        field("device", &C::device, "device of the clock; null: a clock of the host"),
        field("reference", &C::reference, "the clock that it was compared with"),
        field("method", &C::method, "how it was fitted"),
        field("applied", &C::applied, "whether times were corrected by it"),
        field(
            "drift_ppm", &C::drift_ppm,
            "how much faster it runs than its reference, in millionths; null if this cannot be told from 0"),
        field("anchors", &C::anchors, "pairs of times that the fit uses"),
        field("residual_p50_ns", &C::residual_p50_ns, "median of the remaining error"),
        field("residual_p99_ns", &C::residual_p99_ns, "99th percentile of the remaining error"),
        field("violations_before", &C::violations_before,
              "kernels that started before their launch, before the fit"),
        field("violations_after", &C::violations_after, "kernels that still do after the fit"),
        field("bound_ns", &C::bound_ns, "how wrong a time may be at most"),
        field("offset_ns", &C::offset_ns, "what is added to its times"),
        field("from_ns", &C::from_ns, "begin of the segment"),
        field("corrupt_records", &C::corrupt_records, "records that the fit leaves out"),
        field("min_rtt_ns", &C::min_rtt_ns, "shortest round trip between two hosts")};
  }
};

/// Kernels that seem to start before their launch, by what explains it.
struct EarlyStarts {
  int64_t clock_error = 0;
  int64_t record_corruption = 0;
  int64_t programmatic_overlap = 0;

  static constexpr auto fields() {
    using E = EarlyStarts;
    return std::tuple{
        field("clock_error", &E::clock_error, "a fit explains them"),
        field("record_corruption", &E::record_corruption, "no fit explains them"),
        field("programmatic_overlap", &E::programmatic_overlap, "before the end of the kernel before them")};
  }
};

struct ClocksAnswer {
  std::vector<ClockFitAnswer> fits = {};
  EarlyStarts early_starts = {};

  static constexpr auto fields() {
    return std::tuple{field("fits", &ClocksAnswer::fits, "one row for each fit"),
                      field("early_starts", &ClocksAnswer::early_starts,
                            "kernels that seem to start too early, by what explains it")};
  }
};

/// Replayed launches that were found in the trace of the same run.
struct LaunchMatches {
  int64_t replayed = 0, matched = 0, moved = 0, by_function = 0, by_ranges = 0, kernels_without = 0;

  static constexpr auto fields() {
    using L = LaunchMatches;
    return std::tuple{field("replayed", &L::replayed, "launches that the counter profiler replayed"),
                      field("matched", &L::matched, "found in the trace"),
                      field("moved", &L::moved, "found out of order"),
                      field("by_function", &L::by_function, "found by their function name only"),
                      field("by_ranges", &L::by_ranges, "found with the help of ranges"),
                      field("kernels_without", &L::kernels_without, "kernels of the trace without counters")};
  }
};

}  // namespace nl::analyze

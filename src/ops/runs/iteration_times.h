#pragma once
// Summarises iterations that were timed from outside: how long one takes, and how much the profiler adds.

#include <optional>
#include <string>
#include <vector>

#include "base/described.h"
#include "base/result.h"
#include "ops/operation.h"
#include "store/open_run.h"

namespace nl::ops {

/// What the iterations of one pass say of their time; what the sample is too small to say has no value.
struct PassFigures {
  int64_t median_ns = 0;
  std::optional<int64_t> low_ns = {}, high_ns = {}, p90_ns = {}, p99_ns = {};
  int64_t min_ns = 0, max_ns = 0;
  std::optional<int64_t> cpu_ns = {};

  static constexpr auto fields() {
    using P = PassFigures;
    return std::tuple{field("median_ns", &P::median_ns, "of an iteration"),
                      field("low_ns", &P::low_ns, "lower end of the interval around the median"),
                      field("high_ns", &P::high_ns, "upper end of it"),
                      field("p90_ns", &P::p90_ns, "null if the sample is too small"),
                      field("p99_ns", &P::p99_ns, "null if the sample is too small"),
                      field("min_ns", &P::min_ns, "shortest iteration"),
                      field("max_ns", &P::max_ns, "longest iteration"),
                      field("cpu_ns", &P::cpu_ns, "median of the processor time")};
  }
};

struct PassTimes {
  std::string pass = {};
  int64_t iterations = 0;
  int64_t warm_up = 0;
  std::optional<PassFigures> figures = {};  ///< none without iterations

  static constexpr auto fields() {
    using P = PassTimes;
    return std::tuple{
        field("pass", &P::pass, "unprofiled, profiled, …"), field("iterations", &P::iterations, "that count"),
        field("warm_up", &P::warm_up, "warm-up iterations, which count in no figure"), merged(&P::figures)};
  }
};

/// How much longer an iteration takes under the profiler, by turns of both passes. The one figure of the
/// overhead: the medians of the passes are of other stretches of time and give another ratio.
struct OverheadWall {
  double ratio = 0;
  std::optional<double> low = {}, high = {};

  static constexpr auto fields() {
    using O = OverheadWall;
    return std::tuple{field("ratio", &O::ratio, "profiled over unprofiled time"),
                      field("low", &O::low, "lower end of its interval"),
                      field("high", &O::high, "upper end of it")};
  }
};

struct Overhead {
  std::optional<int64_t> turns = {};
  std::optional<OverheadWall> wall = {};

  static constexpr auto fields() {
    using O = Overhead;
    return std::tuple{field_if_any("turns", &O::turns, "pairs of blocks that were compared"),
                      merged(&O::wall)};
  }
};

struct IterationTimes {
  std::vector<PassTimes> passes = {};
  Overhead overhead = {};

  static constexpr auto fields() {
    return std::tuple{field("passes", &IterationTimes::passes, "one for each way of running"),
                      field("overhead", &IterationTimes::overhead, "what the profiler adds to an iteration")};
  }
};

/// Nothing if the run has none.
Result<std::optional<IterationTimes>> iteration_times(store::OpenRun& run);

/// A line for each pass and one for the overhead, beside the other lines of a run; nothing if there are none.
std::string iteration_text(const std::optional<IterationTimes>& times, const TextStyle& style);

/// That figures of the profile are not those of an undisturbed run, if it costs more than a twentieth; else
/// empty.
std::string overhead_warning(const std::optional<IterationTimes>& times);

}  // namespace nl::ops

#pragma once
// Decides whether a difference between two sets of runs is real and large enough to matter: first for the
// whole window, then for classes of kernels, then for single kernels. At each level, at most a share `alpha`
// of the reported changes is expected to be false. One value is one run: iterations inside a run are not
// repeats. Method, proof and limits: docs/analysis/statistics.md. Pure function; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "stats/runs_needed.h"
#include "stats/sample.h"
#include "stats/verdict.h"

namespace nl::stats {

/// One figure of all runs. Values are finite and not below zero, in any order.
struct Series {
  std::string name;
  std::vector<double> base;
  std::vector<double> candidate;
  /// Its place in the level above, e.g. the class of a kernel.
  std::optional<size_t> parent = std::nullopt;
  bool higher_is_worse = true;
};

struct Level {
  std::string name;
  std::vector<Series> series;
};

struct JudgeOptions {
  double practical_bound = 0.01;  ///< ratios from 1 / (1 + bound) to 1 + bound do not matter
  double alpha = 0.05;
};

struct Judgement {
  std::string name;
  Summary base;
  Summary candidate;
  std::optional<double> ratio_of_medians;
  std::optional<double> ratio;             ///< Hodges-Lehmann; may be infinite
  std::optional<Interval> ratio_interval;  ///< of `ratio`, 95 % or more
  std::optional<double> shift;             ///< Hodges-Lehmann, in the unit of the values
  std::optional<double> cliffs_delta;
  std::optional<double> p;
  bool p_exact = false;
  std::optional<double> p_adjusted;  ///< absent: not tested, or its parent shows no change
  Verdict verdict = Verdict::kNotTested;
  std::string reason;  ///< for not_tested and inconclusive
  /// For inconclusive: runs a side that would probably decide, and how many of them are missing. Absent if
  /// more than kMostRuns.
  std::optional<int64_t> runs_needed;
  std::optional<int64_t> more_runs;
};

/// One list for each level, in the order given. bad_input: a value below zero or not finite, a parent that is
/// not there, options out of range.
Result<std::vector<std::vector<Judgement>>> judge(const std::vector<Level>& levels,
                                                  const JudgeOptions& options = {});

}  // namespace nl::stats

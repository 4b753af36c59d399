#pragma once
// Repeats: the figures of all runs of both sides, and the test of whether their differences are real.

#include <string>
#include <unordered_map>
#include <vector>

#include "compare/changes.h"
#include "stats/judge.h"

namespace nl::compare {

/// One run, for each unit of its window.
struct RunSample {
  std::string run_id;
  double window_ns = 0;
  std::array<double, Part::kCount> parts{};
  std::unordered_map<uint32_t, double> names;  ///< owned time by name
};
RunSample sample_of(const std::string& run_id, const Side& side);

struct Repeats {
  stats::Judgement window;
  std::vector<std::pair<Part, stats::Judgement>> parts;
  std::vector<std::pair<size_t, stats::Judgement>> changes;  ///< index of the row, judgement
  std::vector<stats::Series> part_series, change_series;     ///< what they were judged by
};

/// Window, then parts, then rows of changes with at least 0.1 % of the window whose names are in no other
/// row.
Result<Repeats> judge_repeats(const std::vector<RunSample>& base, const std::vector<RunSample>& next,
                              const Changes& changes, const stats::JudgeOptions& options);

Statistics statistics_of(const stats::Judgement& judgement);

}  // namespace nl::compare

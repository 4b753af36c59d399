#pragma once
// Comparison: what exactly changed between two sides of one or more runs, and whether the change is real. The
// same runs and options give the same answer, byte for byte.

#include <functional>
#include <string>
#include <vector>

#include "compare/answer.h"
#include "compare/comparability.h"

namespace nl::compare {

struct RunInput {
  store::RunPlace place;
  RunFacts facts;
};

struct CompareOptions {
  std::string window = "auto";  ///< auto: the steps if both sides have like ones, else the steady part
  double practical_bound = 0.01;
  bool keep_warm_up = false;
  int64_t most_changes = INT64_MAX;  ///< rows of changes that are made; the others are counted in not_shown
  bool with_figures = false;         ///< also what pictures need: strips of time, and the values of all runs
  analyze::AnalysisOptions analysis = {};  ///< phases and peaks
  std::function<void(double fraction)> progress = [](double) {};
};

/// Both sides have at least one run. With several, the run whose window is the middle one stands for its
/// side, and the statistics hold all. Expectations, gate and files are the caller's.
Result<Comparison> compare_runs(const std::vector<RunInput>& base, const std::vector<RunInput>& next,
                                const CompareOptions& options);

}  // namespace nl::compare

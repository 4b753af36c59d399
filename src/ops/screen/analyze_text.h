#pragma once
// An analysis on one screen: limiters, devices with their decomposition, kernels, ops, findings.

#include <optional>
#include <string>

#include "analyze/answer/analysis.h"
#include "ops/operation.h"
#include "ops/runs/iteration_times.h"

namespace nl::ops {

/// What the operation `analyze` answers.
struct AnalyzedRun {
  std::string run_id = {};
  analyze::Analysis analysis = {};
  std::optional<IterationTimes> iterations = {};

  static constexpr auto fields() {
    using A = AnalyzedRun;
    return std::tuple{
        field("run_id", &A::run_id, "of the run that was analysed"), merged(&A::analysis),
        field("iterations", &A::iterations, "iterations that were timed from outside; null without such")};
  }
};

/// Of an outcome of the operation `analyze`.
std::string analyze_text(const Outcome& outcome, const TextStyle& style);

}  // namespace nl::ops

#pragma once
// Steps of a serving engine by phase and batch. Times are those of the device, not of the host's ranges: an
// engine launches a step long before it runs.

#include "analyze/answer/serving.h"
#include "analyze/time/prepared_run.h"

namespace nl::analyze {

/// Of the steps that lie in the window, the most time first.
std::vector<ServingRow> serving_rows(const PreparedRun& run, const IntervalSet& window);

/// What labels say of steps that no engine describes.
struct StepFacts {
  std::optional<Phase> phase = {};             ///< prefill or decode_step
  std::optional<int64_t> requests = {};        ///< in a step
  std::optional<int64_t> prefill_tokens = {};  ///< of a step
};

/// The steps of the window that no engine describes, as one row; nothing if too little is said of them.
std::optional<ServingRow> described_steps(const Steps& steps, const IntervalSet& window,
                                          const StepFacts& facts);

}  // namespace nl::analyze

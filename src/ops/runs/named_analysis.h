#pragma once
// Helpers for operations that analyse a run given by name.

#include <optional>
#include <string>

#include "analyze/run_analysis.h"
#include "base/result.h"
#include "ops/operation.h"
#include "ops/runs/iteration_times.h"
#include "ops/runs/run_names.h"
#include "store/ledger.h"
#include "store/open_run.h"

namespace nl::ops {

/// The run with its derived tables; they are built first if they are missing. An engine that was started
/// while the run was looked for may be given.
Result<std::shared_ptr<store::OpenRun>> open_derived(
    const NamedRun& run, store::EngineStart engine = store::EngineStart::leased(store::reading_engine()));

/// A run that was named, and its analysis.
struct NamedAnalysis {
  NamedRun named;
  std::shared_ptr<store::OpenRun> open;
  analyze::RunAnalysis analysis;  ///< with recorded times
  std::optional<IterationTimes> iterations = {};
};

/// The one way from parameters (run, window, top and the others of analysis_options.h, graph_ops) to an
/// analysis: operations that say the same thing in other words come to the same figures.
Result<NamedAnalysis> analyze_named_run(Context& context, const nlohmann::json& parameters);

/// All metrics of one device in one window, both as a prediction names them; not_found if the run has no such
/// window or device.
Result<analyze::MetricSet> metrics_of_run(const NamedRun& run, const std::string& window,
                                          const std::string& device);

/// Keeps what the findings promise in the ledger; what is there already stays as it is.
Result<void> keep_predictions(const Context& context, store::Ledger& ledger, const NamedRun& run,
                              const analyze::RunAnalysis& analysis);

}  // namespace nl::ops

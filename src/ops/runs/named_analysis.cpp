#include "ops/runs/named_analysis.h"

#include "analyze/rules/prediction.h"
#include "assemble/assemble.h"
#include "ops/runs/analysis_options.h"
#include "ops/runs/graph_donors.h"
#include "ops/runs/recorded_times.h"
#include "ops/runs/run_labels.h"
#include "ops/runs/run_state.h"

namespace nl::ops {

Result<std::shared_ptr<store::OpenRun>> open_derived(const NamedRun& run, store::EngineStart engine) {
  NL_TRY(auto open, store::OpenRun::open(run.place(), std::move(engine)));
  NL_CHECK(assemble::ensure_derived(*open));
  return open;
}

Result<NamedAnalysis> analyze_named_run(Context& context, const nlohmann::json& parameters) {
  const auto engine =
      store::EngineStart::leased_when_needed(store::reading_engine());  // most runs do without
  NL_TRY(auto named, resolve_run(context, parameters["run"]));
  NL_TRY(auto options, analysis_options(parameters));
  NL_TRY(auto open, open_derived(named, engine));
  NL_TRY(const auto labels, labels_of_run(context, named, open->document()));
  use_labels(options, store::counting_values(labels));
  options.graph_donors = donors_in_ledger(named, open->document());
  if (parameters.contains("graph_ops")) {
    NL_TRY(options.graph_donors, named_donor(context, parameters["graph_ops"]));
  }
  NL_TRY(auto analysis, analyze::analyze_run(open, options));
  NL_TRY(auto iterations, iteration_times(*open));
  NL_TRY(analysis.data.recorded_times, recorded_part(*open, options.window, options.top));
  return NamedAnalysis{std::move(named), std::move(open), std::move(analysis), std::move(iterations)};
}

Result<analyze::MetricSet> metrics_of_run(const NamedRun& run, const std::string& window,
                                          const std::string& device) {
  analyze::AnalysisOptions options;
  options.window = window;
  NL_TRY(const auto open, open_derived(run));
  NL_TRY(auto analysis, analyze::analyze_run(open, options));
  for (auto& one : analysis.devices) {
    if (one.device == device) return std::move(one.metrics);
  }
  return Error{ErrorCode::kNotFound, "the run has no device " + device};
}

Result<void> keep_predictions(const Context& context, store::Ledger& ledger, const NamedRun& run,
                              const analyze::RunAnalysis& analysis) {
  const analyze::WindowAnswer& window = analysis.data.window;
  return ledger.change_state([&](store::State& state) -> Result<void> {
    for (const auto& device : analysis.devices) {
      const auto said =
          analyze::predictions_of(device.evaluation.findings, window.name, device.device, window.total_ns);
      NL_CHECK(state.add_predictions(run.run_id, said, act_of(context)));
    }
    return {};
  });
}

}  // namespace nl::ops
